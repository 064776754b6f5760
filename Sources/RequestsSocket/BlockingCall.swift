import Requests
import RequestsPOSIX

extension CallingThread {
    /// The thread's wait for sockets; nil if no descriptor is left to wake it, so that the reactor is used.
    var poll: ThreadPoll? { pause { try? ThreadPoll() } }
}

extension ThreadPoll {
    /// The wait for sockets of the blocking call that runs the current task; nil in other tasks, which use the reactor.
    static var current: ThreadPoll? { CallingThread.current?.poll }
}
