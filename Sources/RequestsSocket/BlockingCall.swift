import Requests
import RequestsPOSIX

extension CallingThread {
    /// The thread's own wait for sockets; nil if no descriptor is left that can wake it, and the reactor waits.
    var poll: ThreadPoll? { pause { try? ThreadPoll() } }
}

extension ThreadPoll {
    /// The wait for sockets on the thread that blocks for the current task; nil in other tasks, which use the reactor.
    static var current: ThreadPoll? { CallingThread.current?.poll }
}
