import Foundation
import RequestsSocket
import Synchronization

// The server ends beside calls.
extension Server {
    func performRestarts() async {
        for kind in ["reload", "restart"] where supports(kind) {
            await step(kind) {
                let server = withExecutor()
                if supports("once") { try await resetCounts() }
                let failures = try await server.callDuring(kind)
                // The server is available again.
                let errors = await atOnce(64) { _ in try await check(server.send("/small"), 200, small) }.errors
                if let first = errors.first {
                    throw Difference(description: "\(errors.count) of 64 later calls failed: \(first)")
                }
                if let first = failures.first, kind == "reload" {
                    throw Difference(description: "\(failures.count) failed: \(first)")
                }
                return failures.isEmpty ? nil : "\(failures.count) failed"
            }
        }
    }

    /// Performs calls, 32 at once, while the script ends and starts the server; returns the errors of calls that lost
    /// their connection or could not connect.
    private func callDuring(_ kind: String) async throws -> [any Error] {
        let isOver = Atomic(false)
        let next = Atomic(0)
        let successes = Atomic(0)
        let failures = Mutex<[any Error]>([])
        async let end = atOnce(32) { _ in
            while !isOver.load(ordering: .relaxed) {
                let number = next.add(1, ordering: .relaxed).oldValue
                do {
                    if supports("once") {
                        _ = try await post(number: number)
                    } else {
                        try await check(send("/small"), 200, small)
                    }
                    successes.add(1, ordering: .relaxed)
                } catch {
                    failures.withLock { $0.append(error) }
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        try await Task.sleep(for: .milliseconds(300))
        await command(kind)
        let before = successes.load(ordering: .relaxed)
        for _ in 0..<600 where successes.load(ordering: .relaxed) < before + 100 {
            try await Task.sleep(for: .milliseconds(50))
        }
        isOver.store(true, ordering: .relaxed)
        _ = await end
        let errors = failures.withLock { $0 }
        for case let error as RequestError in errors
        where error.reason != .connectionLost && error.reason != .connectionFailed {
            throw Difference(description: "among \(errors.count) failures: \(error)")
        }
        for case let error as Difference in errors { throw error }
        if supports("once") {
            let counts = try await counts()
            let count = successes.load(ordering: .relaxed)
            let mayHaveForgotten = kind == "restart" && !supports("counted behind")
            guard counts.numbers == counts.sum, mayHaveForgotten || counts.numbers >= count else {
                let executed = "the server has executed \(counts.numbers), \(counts.sum) times in all"
                throw Difference(description: "\(count) succeeded; \(executed)")
            }
        }
        return errors
    }
}
