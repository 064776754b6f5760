import RequestsConformance
import RequestsMiddleware
import RequestsSocket
import TestCorpora
import TestSupport
import Testing

private let loopback = ExecutorUnderTest.overLoopback { SocketExecutor(configuration: .keepingIdleConnections) }
private let unixSocket = ExecutorUnderTest.overUnixSocket { path in
    SocketExecutor(.unix(path: path), configuration: .keepingIdleConnections)
}
private let decoding = ExecutorUnderTest.overLoopback {
    SocketExecutor(configuration: .keepingIdleConnections).decodingContent()
}
/// With every observer in both seats, which must not change what an executor does.
private let observed = ExecutorUnderTest.overLoopback {
    let logging = RequestLogging.trace(bodies: true) { _ in }
    let (tracing, metrics) = (RequestTracing { _ in }, RequestMetrics { _ in })
    return SocketExecutor(configuration: .keepingIdleConnections)
        .observing(.attempts, by: logging, metrics, Observing.Reports { _ in })
        .observing(.calls, by: ActivityCounter(), tracing, logging)
}
/// In tasks that run on the thread which waits for the sockets.
private let onReactor = ExecutorUnderTest.overLoopback {
    SocketExecutor(configuration: .keepingIdleConnections).intercepting { request, next in
        try await withTaskExecutorPreference(SocketTaskExecutor.shared) { try await next.execute(request) }
    }
}
private let secured = ExecutorUnderTest.overTLS { tls in
    var configuration = SocketExecutor.Configuration.keepingIdleConnections
    configuration.tls = tls
    return SocketExecutor(configuration: configuration)
}

/// The same for tasks, without the default connect limit: a handshake suspends, and other tests can occupy the threads
/// of the pool for longer than 10 s.
private let patient = ExecutorUnderTest.overTLS { tls in
    var configuration = SocketExecutor.Configuration.keepingIdleConnections
    configuration.tls = tls
    return SocketExecutor(configuration: configuration).intercepting { request, next in
        var request = request
        if request.timeouts.connect == Timeouts().connect { request.timeouts.connect = nil }
        return try await next.execute(request)
    }
}

extension SocketExecutor.Configuration {
    /// Keeps idle connections open for 600 s: other tests can occupy the threads of the pool for longer than 30 s, the
    /// default.
    static var keepingIdleConnections: Self {
        var configuration = Self()
        configuration.idleTimeout = .seconds(600)
        return configuration
    }
}

@Suite("Conformance: socket", .rows("R-72"), .timeLimit(.minutes(10)))
struct SocketConformanceTests {
    @Test("over TCP", arguments: Scenario.all(for: loopback))
    func overLoopback(scenario: Scenario) async throws {
        try await loopback.run(scenario)
    }

    @Test("over TCP, in tasks of a SocketTaskExecutor", arguments: Scenario.all(for: onReactor))
    func overReactor(scenario: Scenario) async throws {
        try await onReactor.run(scenario)
    }

    @Test(
        "over a unix socket", .notInstrumented("the scenarios also run over TCP"),
        arguments: Sample.third(of: Scenario.all(for: unixSocket), for: "over a unix socket"))
    func overUnixSocket(scenario: Scenario) async throws {
        try await unixSocket.run(scenario)
    }

    @Test(
        "over TLS", .enabled(if: TestTLS.isAvailable, "libssl is not installed"),
        arguments: Scenario.all(for: patient))
    func overTLS(scenario: Scenario) async throws {
        try await patient.run(scenario)
    }

    @Test(
        "over TLS, in blocking calls and with callbacks", .notInstrumented("the scenarios also run awaited"),
        .enabled(if: TestTLS.isAvailable, "libssl is not installed"),
        arguments: Sample.third(of: Scenario.all(for: secured), for: "over TLS"),
        [ExecutorUnderTest.CallStyle.blocking, .callback])
    func overTLS(scenario: Scenario, style: ExecutorUnderTest.CallStyle) async throws {
        try await (style == .blocking ? secured : patient).using(style).run(scenario)
    }

    @Test(
        "decoding content codings", .notInstrumented("the scenarios also run without the middleware"),
        arguments: Sample.third(of: Scenario.all(for: decoding), for: "decoding"))
    func decodingContent(scenario: Scenario) async throws {
        try await decoding.run(scenario)
    }

    @Test(
        "decoding content codings, in blocking calls",
        .notInstrumented("the scenarios also run without the middleware"),
        arguments: Sample.third(of: Scenario.all(for: decoding), for: "decoding, blocking"))
    func decodingContentBlocked(scenario: Scenario) async throws {
        try await decoding.using(.blocking).run(scenario)
    }

    @Test(
        "observing requests", .notInstrumented("the scenarios also run without the middleware"),
        arguments: Sample.third(of: Scenario.all(for: observed), for: "observing"))
    func observing(scenario: Scenario) async throws {
        try await observed.run(scenario)
    }

    @Test(
        "observing requests, in blocking calls", .notInstrumented("the scenarios also run without the middleware"),
        arguments: Sample.third(of: Scenario.all(for: observed), for: "observing, blocking"))
    func observingBlocked(scenario: Scenario) async throws {
        try await observed.using(.blocking).run(scenario)
    }
}
