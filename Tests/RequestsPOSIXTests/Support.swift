import CRequestsPOSIX
import Requests
import RequestsPOSIX
import Synchronization
import Testing

/// A connected pair of channels on a test's reactor.
struct ChannelPair {
    let near: Channel
    let far: Channel

    init(on reactor: Reactor, nearFaults: TransferFaults? = nil) throws {
        (near, far) = try Socket.Pair().apart { first, second in
            (Channel(first, reactor: reactor, faults: nearFaults), Channel(second, reactor: reactor))
        }
    }
}

extension Channel {
    /// Writes all of `bytes`, waiting as often as needed.
    func writeAll(_ bytes: [UInt8]) async throws {
        var sent = 0
        while sent < bytes.count {
            switch try bytes.withUnsafeBytes({ try write(.init(rebasing: $0[sent...])) }) {
            case .bytes(let count): sent += count
            case .wouldBlock: try await waitUntilWritable()
            case .end: return
            }
        }
    }

    /// Reads until at least `limit` bytes have arrived or the peer has closed the connection.
    func readAll(upTo limit: Int = .max) async throws -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while all.count < limit {
            switch try part.withUnsafeMutableBytes({ try read(into: $0) }) {
            case .bytes(let count): all += part[..<count]
            case .wouldBlock: try await waitUntilReadable()
            case .end: return all
            }
        }
        return all
    }

    /// Reads once without waiting.
    func readOnce(_ limit: Int = 64) throws -> TransferResult {
        var part = [UInt8](repeating: 0, count: limit)
        return try part.withUnsafeMutableBytes { try read(into: $0) }
    }

    /// Writes once without waiting.
    @discardableResult
    func writeOnce(_ bytes: [UInt8]) throws -> TransferResult {
        try bytes.withUnsafeBytes { try write($0) }
    }
}

/// Runs other tasks until `condition` is true.
///
/// The limit of 45 s is shorter than the suites' limits, because a child process has no time limit.
func eventually(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    let end = Deadline.after(.seconds(45))
    while !condition() {
        guard !end.hasPassed else {
            Issue.record("the condition is not true after 45 s", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// Returns the error of a wait, or nil if it succeeded.
func outcome(of wait: () async throws(WaitError) -> Void) async -> WaitError? {
    do throws(WaitError) {
        try await wait()
        return nil
    } catch {
        return error
    }
}
