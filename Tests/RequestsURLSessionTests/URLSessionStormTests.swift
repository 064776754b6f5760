import RequestsConformance
import RequestsURLSession
import Synchronization
import TestCorpora
import TestSupport
import Testing

/// The number of cancelled calls; `REQUESTS_CANCELLATIONS` sets another.
private let cancellations =
    ProcessInfo.processInfo.environment["REQUESTS_CANCELLATIONS"].flatMap(Int.init) ?? 400

/// Returns the text of a response from a call that blocks its thread, or nil if the call fails.
private func textInPlace(_ request: PreparedRequest, over executor: URLSessionExecutor) -> String? {
    try? executor.executeAndWait(request).text
}

@Suite("URLSession: cancellation under load", .timeLimit(.minutes(10)))
struct URLSessionStormTests {
    @Test("a cancelled call returns its whole body or fails, in every delivery", .rows("R-67", "R-20"))
    func cancelled() async throws {
        try await withFolder { folder in
            try await withTestServer(serving: MockExecutor { .ok(String(repeating: $0.target.path, count: 40)) }) {
                server in
                let executor = URLSessionExecutor()
                let seed = RandomSeed()
                var counts = (whole: 0, cancelled: 0)
                for first in stride(from: 0, to: cancellations, by: 8) {
                    let calls = try (first..<first + 8).map { number in
                        try Call(number, seed.numbers(for: number), to: server, in: folder, over: executor)
                    }
                    // One call is not cancelled, and one is before it has begun; other tests can delay the others.
                    calls[0].task.cancel()
                    for call in calls.dropFirst(2) { call.cancelSoon() }
                    for call in calls {
                        if try await call.isWhole() { counts.whole += 1 } else { counts.cancelled += 1 }
                    }
                }
                #expect(counts.whole >= cancellations / 8 && counts.cancelled > 0, "\(counts)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count <= counts.whole)
            }
        }
    }

    @Test(
        "awaited and blocking calls of a task group all complete with one connection per host", .rows("HT-1", "PM-10"),
        arguments: [2, 16], [HTTPMethod.get, .post])
    func blocked(threads: Int, method: HTTPMethod) async throws {
        let running = Mutex((current: 0, maximum: 0))
        let mock = MockExecutor { _ in
            running.withLock { $0 = ($0.current + 1, max($0.maximum, $0.current + 1)) }
            for _ in 0..<20 { await Task.yield() }
            running.withLock { $0.current -= 1 }
            return .ok("ok")
        }
        try await withTestServer(serving: mock) { server in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = 1
            let executor = URLSessionExecutor(configuration: configuration)
            let request = try server.request(method, body: method == .get ? .none : .bytes(Data("x".utf8)))
            let texts = try await withThreads(threads) { threads in
                await withTaskExecutorPreference(threads) {
                    await withTaskGroup(of: String?.self) { group in
                        for number in 0..<32 {
                            group.addTask {
                                number % 2 == 0
                                    ? try? await executor.execute(request).text : textInPlace(request, over: executor)
                            }
                        }
                        return await group.reduce(into: []) { $0.append($1) }
                    }
                }
            }
            #expect(texts.count == 32 && texts.allSatisfy { $0 == "ok" }, "\(texts)")
            // Requests are counted, because a connection closes shortly after its session has ended (decision 0016).
            #expect(running.withLock { $0.maximum } == 1)
            #expect(server.exchanges.count == 32)
        }
    }

    /// A call that is cancelled after a random number of turns of the scheduler, and reads its stream after another.
    private struct Call: Sendable {
        let body: Data
        let task: Task<Data, any Error>
        private let turnsToCancel: Int

        init(
            _ number: Int, _ numbers: SplitMix64, to server: TestServer, in folder: String,
            over executor: URLSessionExecutor
        ) throws {
            var numbers = numbers
            turnsToCancel = Int.random(in: 0..<400, using: &numbers)
            let turnsToRead = Int.random(in: 0..<400, using: &numbers)
            let path = "/call-\(number)"
            let delivery: ResponseBody.Delivery =
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
                    for _ in 0..<turnsToRead { await Task.yield() }
                    return try await stream.collect()
                }
            }
        }

        func cancelSoon() {
            Task {
                for _ in 0..<turnsToCancel { await Task.yield() }
                task.cancel()
            }
        }

        /// Returns whether the call returned its whole body.
        ///
        /// Any other call was cancelled.
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
