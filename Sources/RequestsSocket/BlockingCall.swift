import Requests
import RequestsPOSIX

/// The wait of a blocked thread that performs its call itself, for its sockets and its jobs at once.
private final class SocketPause: ThreadPause {
    let poll: ThreadPoll

    init?() {
        guard let poll = try? ThreadPoll() else { return nil }
        self.poll = poll
    }

    func wait(until deadline: Deadline?, then awake: () -> Void) {
        poll.wait(by: deadline ?? .distantFuture, then: awake)
    }

    func processEvents() {
        poll.processEvents()
    }

    func wake() {
        poll.wake()
    }

    var isUsable: Bool { poll.isOwn }
}

extension CallingThread {
    /// The thread's wait for sockets; nil if no descriptor is left to wake it, so that the reactor is used.
    var poll: ThreadPoll? {
        if let pause = pause as? SocketPause { return pause.poll }
        guard let pause = SocketPause() else { return nil }
        wait(with: pause)
        return pause.poll
    }
}

extension ThreadPoll {
    /// The wait for sockets of the blocking call that runs the current task; nil in other tasks, which use the reactor.
    static var current: ThreadPoll? { CallingThread.current?.poll }
}
