import Synchronization

/// The faults that a test injects into a channel: short transfers, and a failure of a chosen call.
///
/// Calls are counted over all channels that share the value, so that a test can affect the n-th call for n = 1, 2, 3 …
package final class TransferFaults: Sendable {
    /// A fault of the n-th call, counted from 1; reads and writes are counted together.
    package enum Fault: Hashable, Sendable {
        case failTransfer(Int)
        /// The n-th transfer moves one byte.
        case shortenTransfer(Int)
        /// The n-th transfer returns `.wouldBlock`, and the wait that follows ends at once.
        case delayTransfer(Int)
        case failWait(Int)
        case failConnecting(Int)
        /// The n-th request for a report fails; see ``Channel/requestReport(of:)``.
        case failReport(Int)
    }

    /// The maximum number of bytes in one read; at least 1.
    package let longestRead: Int
    /// The maximum number of bytes in one write; at least 1.
    package let longestWrite: Int
    private let fault: Fault?
    private let code: Int32
    private let readBoundary: Int
    private let received = Atomic(0)
    private let transferCount = Atomic(0)
    private let writeCount = Atomic(0)
    private let waitCount = Atomic(0)
    private let connectionCount = Atomic(0)
    private let reportCount = Atomic(0)

    /// Creates faults; the call that `fault` makes fail throws `code`.
    ///
    /// No read crosses the boundary after the first `readBoundary` bytes received.
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

    package var transfers: Int { transferCount.load(ordering: .relaxed) }
    /// The part of ``transfers`` that were writes.
    package var writes: Int { writeCount.load(ordering: .relaxed) }
    package var waits: Int { waitCount.load(ordering: .relaxed) }
    package var connections: Int { connectionCount.load(ordering: .relaxed) }
    private var reports: Int { reportCount.load(ordering: .relaxed) }

    /// Whether the planned call has been made.
    package var hasHappened: Bool {
        switch fault {
        case .failTransfer(let number), .shortenTransfer(let number), .delayTransfer(let number): transfers >= number
        case .failWait(let number): waits >= number
        case .failConnecting(let number): connections >= number
        case .failReport(let number): reports >= number
        case nil: false
        }
    }

    /// Returns the number of bytes that a transfer may move, or nil if it is delayed.
    func admit(_ direction: Direction, count: Int) throws(SystemError) -> Int? {
        let number = transferCount.wrappingAdd(1, ordering: .relaxed).newValue
        if direction == .writing { writeCount.wrappingAdd(1, ordering: .relaxed) }
        var longest = min(count, direction == .reading ? longestRead : longestWrite)
        let toBoundary = readBoundary - received.load(ordering: .relaxed)
        if direction == .reading, toBoundary > 0 { longest = min(longest, toBoundary) }
        switch fault {
        case .failTransfer(number): throw SystemError("injected fault", code: code)
        case .shortenTransfer(number): return min(longest, 1)
        case .delayTransfer(number): return nil
        default: return longest
        }
    }

    func countRead(_ result: TransferResult) {
        if case .bytes(let count) = result { received.wrappingAdd(count, ordering: .relaxed) }
    }

    /// Counts a wait, and returns its error if it is to fail.
    func nextWaitError() -> SystemError? {
        let number = waitCount.wrappingAdd(1, ordering: .relaxed).newValue
        return fault == .failWait(number) ? SystemError("injected fault", code: code) : nil
    }

    /// Counts a connection attempt, and throws if it is to fail.
    func admitConnecting() throws(SystemError) {
        let number = connectionCount.wrappingAdd(1, ordering: .relaxed).newValue
        if fault == .failConnecting(number) { throw SystemError("injected fault", code: code) }
    }

    /// Counts a request for a report, and throws if it is to fail.
    func admitReport() throws(SystemError) {
        let number = reportCount.wrappingAdd(1, ordering: .relaxed).newValue
        if fault == .failReport(number) { throw SystemError("injected fault", code: code) }
    }
}

extension Channel {
    /// Whether a test has injected faults.
    ///
    /// Transfers that bypass the channel would not have them.
    package var hasFaults: Bool { faults != nil }
}
