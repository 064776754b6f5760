import RequestsMock
import RequestsSocket
import RequestsTestServer
import RequestsURLSession
import Testing

/// Recordings of exchanges over real connections.
@Suite("Timings of recordings", .timeLimit(.minutes(10)))
struct RecordedTimingTests {
    private static let delay = Duration.milliseconds(30)

    /// Records two exchanges with a server that waits before the head, and sends the body with pauses.
    private func timings(
        tls: TestServer.TLS? = nil, _ makeExecutor: (TestServer) -> any RequestExecutor
    ) async throws -> [HARArchive.Timings] {
        let mock = MockExecutor { _ in
            var response = MockResponse.ok(String(repeating: "x", count: 40))
            response.delay = .lasting(Self.delay)
            return response
        }
        // The head and the body have more than 100 bytes: at least four pauses.
        let slow = TestServer.Behavior(pace: .drip(30, every: .milliseconds(5)))
        let recorder = HARRecorder()
        let start = ContinuousClock.now
        try await withTestServer(serving: mock, tls: tls, behaving: slow) { server in
            let client = Client(
                AnonymousRequestProvider(baseURL: server.baseURL),
                executor: makeExecutor(server).intercepted(by: recorder))
            for path: RequestPath in ["/first", "/second"] {
                _ = try await client.perform { $0.get(.text, from: path) }
            }
            // Otherwise there would be two connections.
            #expect(server.record.acceptedConnections == 1)
        }
        let archive = try HARArchive(parsing: recorder.archive.json)
        let timings = archive.entries.map(\.timings)
        #expect(archive.entries.map(\.status) == [200, 200])
        #expect(timings.reduce(.zero) { $0 + $1.total } <= ContinuousClock.now - start)
        for timing in timings {
            // The file has microseconds.
            #expect(timing.send + timing.wait >= Self.delay - .microseconds(2))
            #expect(timing.total >= Self.delay + .milliseconds(20) - .microseconds(6))
        }
        return timings
    }

    @Test(
        "the socket executor's stages over TLS are recorded, and a reused connection has none of its own",
        .enabled(if: TestServer.supportsTLS))
    func socketOverTLS() async throws {
        let timings = try await timings(tls: .init()) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.tls = server.clientTLS
            return SocketExecutor(configuration: configuration)
        }
        let (first, second) = (timings[0], timings[1])
        let (connect, tls) = (try #require(first.connect), try #require(first.tls))
        #expect(tls > .zero && connect >= tls)
        #expect(second.connect == nil && second.tls == nil && second.lookup == nil)
    }

    @Test("the socket executor's stages are recorded without TLS")
    func socket() async throws {
        let timings = try await timings { _ in SocketExecutor() }
        #expect(timings[0].connect != nil && timings[0].tls == nil)
        #expect(timings[1].connect == nil)
    }

    @Test("the times of URLSession are recorded as far as the system measures them")
    func urlSession() async throws {
        let timings = try await timings { _ in URLSessionExecutor() }
        #expect(timings.allSatisfy { $0.tls == nil && $0.blocked == nil })
    }
}
