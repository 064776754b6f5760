import RequestsConformance
import RequestsSocket
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

extension SocketExecutor.Configuration {
    /// HTTP/2 with prior knowledge.
    fileprivate static func http2(_ tls: TLSConfiguration = TLSConfiguration()) -> Self {
        var configuration = Self.keepingIdleConnections
        configuration.httpVersion = .http2PriorKnowledge
        configuration.tls = tls
        return configuration
    }
}

private let loopback = ExecutorUnderTest.overLoopback { SocketExecutor(configuration: .http2()) }.using(
    TestServer.Version.http2)
private let unixSocket = ExecutorUnderTest.overUnixSocket { path in
    SocketExecutor(.unix(path: path), configuration: .http2())
}.using(TestServer.Version.http2)
private let secured = ExecutorUnderTest.overTLS { SocketExecutor(configuration: .http2($0)) }.using(
    TestServer.Version.http2)

@Suite("Conformance: socket, HTTP/2", .rows("R-72", "H-34"), .timeLimit(.minutes(10)))
struct HTTP2ConformanceTests {
    @Test("over TCP", arguments: Scenario.all(for: loopback))
    func overLoopback(scenario: Scenario) async throws {
        try await loopback.run(scenario)
    }

    @Test(
        "over TCP, in blocking calls and with callbacks", .notInstrumented("the scenarios also run awaited"),
        arguments: Sample.third(of: Scenario.all(for: loopback), for: "over TCP"),
        [ExecutorUnderTest.CallStyle.blocking, .callback])
    func overLoopback(scenario: Scenario, style: ExecutorUnderTest.CallStyle) async throws {
        try await loopback.using(style).run(scenario)
    }

    @Test(
        "over a unix socket", .notInstrumented("the scenarios also run over TCP"),
        arguments: Sample.third(of: Scenario.all(for: unixSocket), for: "over a unix socket"))
    func overUnixSocket(scenario: Scenario) async throws {
        try await unixSocket.run(scenario)
    }

    @Test(
        "over TLS", .enabled(if: TestTLS.isAvailable, "libssl is not installed"),
        arguments: Scenario.all(for: secured))
    func overTLS(scenario: Scenario) async throws {
        try await secured.run(scenario)
    }

    @Test(
        "over TLS, the connections use h2, which the server has selected",
        .enabled(if: TestTLS.isAvailable, "libssl is not installed"))
    func selection() async throws {
        try await withTestServer(serving: MockExecutor(.ok()), using: .http2, tls: .init()) { server in
            let request = try PreparedRequest(method: .get, url: server.baseURL)
            let executor = SocketExecutor(configuration: .http2(server.clientTLS))
            let metrics = try await executor.execute(request).metrics
            #expect(metrics.tls?.applicationProtocol == "h2" && metrics.httpVersion == .http2)
        }
    }
}
