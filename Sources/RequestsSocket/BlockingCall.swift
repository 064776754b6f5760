import Requests
import RequestsPOSIX

extension CallingThread {
    /// The blocked thread's own wait for sockets; nil if the system has no descriptor left for it, and the reactor
    /// waits.
    var poll: ThreadPoll? { pause { try? ThreadPoll() } }
}

extension ThreadPoll {
    /// The wait for sockets on the thread that blocks for the current task; nil in other tasks, which use the reactor.
    static var current: ThreadPoll? { CallingThread.current?.poll }
}
