import Synchronization

/// Faults a test plants in a channel: short transfers, and an error at a chosen transfer.
///
/// The counts go over all channels that share the value, so that a test can fail the n-th call for n = 1, 2, 3 …
package final class TransferFaults: Sendable {
    /// The most bytes one read or one write moves; at least 1.
    package let longestRead: Int
    package let longestWrite: Int
    private let failing: Int?
    private let code: Int32
    private let made = Atomic(0)

    /// Plans faults; `failingTransfer` counts reads and writes together from 1 and fails that one with `code`.
    package init(longestRead: Int = .max, longestWrite: Int = .max, failingTransfer: Int? = nil, code: Int32 = 0) {
        self.longestRead = max(1, longestRead)
        self.longestWrite = max(1, longestWrite)
        failing = failingTransfer
        self.code = code
    }

    /// Transfers asked for so far.
    package var transfers: Int { made.load(ordering: .relaxed) }

    func admit(_ direction: Direction, count: Int) throws(SystemError) -> Int {
        let number = made.wrappingAdd(1, ordering: .relaxed).newValue
        if number == failing { throw SystemError("planted fault", code: code) }
        return min(count, direction == .reading ? longestRead : longestWrite)
    }
}
