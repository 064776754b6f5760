import Synchronization

/// Faults a test plants in a channel: short transfers, and something wrong with a chosen call.
///
/// The counts go over all channels that share the value, so that a test can have its way with the n-th call for
/// n = 1, 2, 3 …
package final class TransferFaults: Sendable {
    /// What happens at the n-th call, counted from 1; reads and writes are counted together.
    package enum Fault: Hashable, Sendable {
        /// The n-th transfer fails.
        case failTransfer(Int)
        /// The n-th transfer moves one byte.
        case shortenTransfer(Int)
        /// The n-th transfer answers "not yet", and the wait that follows ends at once.
        case delayTransfer(Int)
        /// The n-th wait for a socket fails.
        case failWait(Int)
        /// The n-th connection fails.
        case failConnecting(Int)
    }

    /// The most bytes one read or one write moves; at least 1.
    package let longestRead: Int
    package let longestWrite: Int
    private let fault: Fault?
    private let code: Int32
    private let readBoundary: Int
    private let received = Atomic(0)
    private let made = Atomic(0)
    private let waited = Atomic(0)
    private let connected = Atomic(0)

    /// Plans faults; a call that `fault` fails ends with `code`.
    ///
    /// No read goes beyond the first `readBoundary` bytes that are received and behind them.
    package init(
        longestRead: Int = .max, longestWrite: Int = .max, readBoundary: Int = 0, _ fault: Fault? = nil,
        code: Int32 = 0
    ) {
        self.readBoundary = readBoundary
        self.longestRead = max(1, longestRead)
        self.longestWrite = max(1, longestWrite)
        self.fault = fault
        self.code = code
    }

    /// Transfers asked for so far.
    package var transfers: Int { made.load(ordering: .relaxed) }
    /// Waits for a socket so far.
    package var waits: Int { waited.load(ordering: .relaxed) }
    /// Connections begun so far.
    package var connections: Int { connected.load(ordering: .relaxed) }

    /// Whether the planned call has been made.
    package var hasHappened: Bool {
        switch fault {
        case .failTransfer(let number), .shortenTransfer(let number), .delayTransfer(let number): transfers >= number
        case .failWait(let number): waits >= number
        case .failConnecting(let number): connections >= number
        case nil: false
        }
    }

    /// How many bytes a transfer may move; nil when it is delayed.
    func admit(_ direction: Direction, count: Int) throws(SystemError) -> Int? {
        let number = made.wrappingAdd(1, ordering: .relaxed).newValue
        var longest = min(count, direction == .reading ? longestRead : longestWrite)
        let toBoundary = readBoundary - received.load(ordering: .relaxed)
        if direction == .reading, toBoundary > 0 { longest = min(longest, toBoundary) }
        switch fault {
        case .failTransfer(number): throw SystemError("planted fault", code: code)
        case .shortenTransfer(number): return min(longest, 1)
        case .delayTransfer(number): return nil
        default: return longest
        }
    }

    /// Takes note of what a read has moved.
    func note(_ result: TransferResult) {
        if case .bytes(let count) = result { received.wrappingAdd(count, ordering: .relaxed) }
    }

    func nextWaitError() -> SystemError? {
        let number = waited.wrappingAdd(1, ordering: .relaxed).newValue
        return fault == .failWait(number) ? SystemError("planted fault", code: code) : nil
    }

    func admitConnecting() throws(SystemError) {
        let number = connected.wrappingAdd(1, ordering: .relaxed).newValue
        if fault == .failConnecting(number) { throw SystemError("planted fault", code: code) }
    }
}
