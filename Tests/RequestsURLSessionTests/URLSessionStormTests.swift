import RequestsConformance
import RequestsURLSession
import Testing

/// How many calls are cancelled; `REQUESTS_CANCELLATIONS` asks for more.
private let cancellations =
    ProcessInfo.processInfo.environment["REQUESTS_CANCELLATIONS"].flatMap(Int.init) ?? 400

@Suite("URLSession: storms", .timeLimit(.minutes(5)))
struct URLSessionStormTests {
    @Test("a cancelled call gives its whole body or fails, collected, streamed or in a file (R-67, R-20)")
    func cancelled() async throws {
        try await withFolder { folder in
            try await withTestServer(serving: MockExecutor { .ok(String(repeating: $0.target.path, count: 40)) }) {
                server in
                let executor = URLSessionExecutor()
                var counts = (whole: 0, cancelled: 0)
                for first in stride(from: 0, to: cancellations, by: 8) {
                    let calls = try (first..<first + 8).map { try Call($0, to: server, in: folder, over: executor) }
                    for call in calls { call.cancelSoon() }
                    for call in calls {
                        if try await call.isWhole() { counts.whole += 1 } else { counts.cancelled += 1 }
                    }
                }
                #expect(counts.whole > 0 && counts.cancelled > 0, "\(counts)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count <= counts.whole)
            }
        }
    }

    /// One call that is cancelled at a random moment.
    private struct Call: Sendable {
        let body: Data
        let task: Task<Data, any Error>

        init(
            _ number: Int, to server: TestServer, in folder: String, over executor: URLSessionExecutor
        ) throws {
            let path = "/call-\(number)"
            let delivery: Delivery =
                switch number % 4 {
                case 0: .collected(limit: 1 << 20)
                case 1: .file(path: folder + path)
                default: .streamed
                }
            let request = try server.request(.get, path, delivery: delivery)
            body = Data(String(repeating: path, count: 40).utf8)
            task = Task {
                switch try await executor.execute(request).body {
                case .bytes(let data): return data
                case .file(let path): return try Data(contentsOf: URL(filePath: path))
                case .stream(let stream):
                    for _ in 0..<Int.random(in: 0..<400) { await Task.yield() }
                    return try await stream.collect()
                }
            }
        }

        func cancelSoon() {
            Task {
                for _ in 0..<Int.random(in: 0..<400) { await Task.yield() }
                task.cancel()
            }
        }

        /// Whether the call gave its whole body; it must have been cancelled otherwise.
        func isWhole() async throws -> Bool {
            do {
                let data = try await task.value
                #expect(data == body)
                return true
            } catch {
                #expect((error as? RequestError)?.reason == .cancelled)
                return false
            }
        }
    }
}
