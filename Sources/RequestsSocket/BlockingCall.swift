import Requests
import RequestsPOSIX

/// How a thread waits that performs a call by itself: for its sockets and its jobs at once.
private final class SocketPause: ThreadPause {
    let poll: ThreadPoll

    init?() {
        guard let poll = try? ThreadPoll() else { return nil }
        self.poll = poll
    }

    func wait(until instant: ContinuousClock.Instant?, then awake: () -> Void) {
        poll.wait(by: instant.map(Deadline.init) ?? .distantFuture, then: awake)
    }

    func look() {
        poll.look()
    }

    func wake() {
        poll.wake()
    }
}

extension ThreadPoll {
    /// Where to wait when the current task belongs to a blocking call; nil, for the reactor, in every other task.
    static var current: ThreadPoll? {
        // Without a descriptor to be woken by, the reactor waits for this call too.
        CallingThread.current?.pause(orMake: SocketPause.init)?.poll
    }
}
