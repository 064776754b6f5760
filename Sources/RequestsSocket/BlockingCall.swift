import Requests
import RequestsPOSIX

/// How a thread waits that performs a call by itself: for its sockets and its jobs at once.
private final class SocketPause: ThreadPause {
    let poll: ThreadPoll

    init?() {
        guard let poll = try? ThreadPoll() else { return nil }
        self.poll = poll
    }

    func wait(until moment: Moment?, then awake: () -> Void) {
        poll.wait(by: moment.map { Deadline($0.instant) } ?? .distantFuture, then: awake)
    }

    func look() {
        poll.look()
    }

    func wake() {
        poll.wake()
    }

    var isUsable: Bool { poll.isOwn }
}

extension CallingThread {
    /// What this thread waits for sockets with; nil, for the reactor, when there is no descriptor to be woken by.
    var poll: ThreadPoll? {
        if let pause = pause as? SocketPause { return pause.poll }
        guard let pause = SocketPause() else { return nil }
        wait(with: pause)
        return pause.poll
    }
}

extension ThreadPoll {
    /// Where to wait when the current task belongs to a blocking call; nil, for the reactor, in every other task.
    static var current: ThreadPoll? { CallingThread.current?.poll }
}
