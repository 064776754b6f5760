import Foundation
import RequestsSocket

// Calls that end early beside others.
extension Server {
    func performCancellations() async {
        // If a call is cancelled that establishes a connection, those that wait for it establish their own.
        for limit in [64, 1] {
            let name = "300 cancelled beside 300\(limit == 64 ? "" : ", 1 connection")"
            await sharedStep(name, 600, connections: limit) { server in
                await atOnce(600) { number in
                    if number.isMultiple(of: 2) {
                        try await check(server.send("/part-\(number % 64)"), 200, parts[number % 64])
                    } else {
                        try await cancel(after: .milliseconds(number * 7 % 300)) {
                            try await check(server.send("/big"), 200, big)
                        }
                    }
                }
            }
        }
    }

    /// Cancels `call` after a time; it may have succeeded by then, but not failed.
    func cancel(after time: Duration, _ call: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task { try await call() }
        try await Task.sleep(for: time)
        task.cancel()
        do { try await task.value } catch let error as RequestError where error.reason == .cancelled {}
    }
}
