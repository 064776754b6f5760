@_spi(Lock) import Requests

/// A thread that blocks in a wait which another thread ends.
final class BlockedThread: Sendable {
    private let signal: WakeSignal
    private let result = Lock<WaitPoint.Outcome?>(nil)

    init() throws(SystemError) {
        signal = try WakeSignal()
    }

    /// Ends the wait; called once.
    func resume(_ outcome: WaitPoint.Outcome) {
        result.withLock { $0 = outcome }
        signal.signal()
    }

    /// Blocks the thread until the wait ends.
    ///
    /// - Throws: `.timedOut`, or `.cancelled` if the current task is cancelled; then the wait still has to be ended.
    func block(until deadline: Deadline) throws(WaitError) {
        try signal.waitInPlace(by: deadline)
    }

    /// Returns how the wait ended, or blocks the thread until it does: another thread may be about to end it.
    func outcome() -> WaitPoint.Outcome {
        while true {
            if let outcome = result.withLock({ $0 }) { return outcome }
            try? signal.waitInPlace(by: .after(.milliseconds(1)))
        }
    }
}
