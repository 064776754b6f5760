@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import Synchronization
import TestSupport
import Testing

@Suite("Request tracing", .serialized, .timeLimit(.minutes(10)))
struct TracingTests {
    private let api = AnonymousRequestProvider("http://e.com")
    private typealias Spans = Collected<RequestTracing.Span>

    /// Returns numbers that count from 1, as IDs.
    private static func numbers() -> @Sendable () -> UInt64 {
        let counter = Lock(UInt64(0))
        return {
            counter.withLock { number in
                number += 1
                return number
            }
        }
    }

    private static func tracing(_ spans: Spans) -> RequestTracing {
        RequestTracing(clock: ManualClock().clock(), random: numbers()) { spans.add($0) }
    }

    private static func texts(_ span: RequestTracing.Span?) -> [String] { (span?.attributes ?? []).map(\.description) }

    @Test("each attempt has its own client span below the call's span, and sends its own traceparent")
    func attempts() async throws {
        let spans = Spans()
        let tracing = Self.tracing(spans)
        let script = ResponseScript(.status(503), .json("[1]"))
        let executor = script.executor.observing(.attempts, by: tracing)
            .retrying(.retryNetworkFailureOrServiceUnavailable(with: .retryOnce)).observing(.calls, by: tracing)
        _ = try await executor.perform(api.get(.json([Int].self), from: "/users/\(7)"))
        let (first, second, call) = (spans.elements[0], spans.elements[1], spans.elements[2])
        #expect(spans.elements.count == 3 && call.kind == .internal && call.parent == nil)
        #expect(first.kind == .client && first.parent == call.context && second.parent == call.context)
        #expect(Set(spans.elements.map(\.context.spanID)).count == 3)
        #expect(Set(spans.elements.map(\.context.traceID)).count == 1)
        #expect(
            script.executor.recordedRequests.map { $0.header["traceparent"] }
                == [first.context.traceparent, second.context.traceparent])
        #expect(first.name == "GET /users/{}" && first.hasFailed && !second.hasFailed && !call.hasFailed)
        #expect(
            Self.texts(first) == [
                "http.request.method=GET", "server.address=e.com", "server.port=80", "url.scheme=http",
                "url.template=/users/{}", "url.full=http://e.com/users/7", "http.response.status_code=503",
                "error.type=503",
            ])
        #expect(Self.texts(second).contains("http.request.resend_count=1"))
        #expect(!Self.texts(first).contains { $0.hasPrefix("http.request.resend_count") })
        #expect(TraceContext.current == nil)
    }

    @Test("a span continues the current context, or else the one in the request, and replaces a foreign tracestate")
    func parents() async throws {
        let spans = Spans()
        let mock = MockExecutor(.ok("x"))
        let executor = mock.observing(.attempts, by: Self.tracing(spans))
        let outer = try #require(
            TraceContext(
                traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                TraceContext.State(parsing: ["vendor=1"]) ?? .init()))
        let request = api.get(.text, from: "/x").with(header: [
            "traceparent": "00-00000000000000000000000000000001-0000000000000002-01", "tracestate": "own=1",
        ])
        _ = try await TraceContext.withCurrent(outer) { try await executor.perform(request) }
        _ = try await executor.perform(request)
        _ = try await executor.perform(request.with(header: ["traceparent": "hostile"]))
        #expect(spans.elements.map { $0.parent?.spanID.value } == [0xb7ad_6b71_6920_3331, 2, nil])
        let sent = mock.recordedRequests
        #expect(sent.map { $0.header["tracestate"] } == ["vendor=1", "own=1", nil])
        #expect(sent.map { $0.header.values(of: "traceparent").count } == [1, 1, 1])
        #expect(spans.elements[0].context.traceID == outer.traceID)
        #expect(spans.elements[2].context.flags == [.sampled, .random])
    }

    @Test("a tracestate of which no entry may be sent is not sent")
    func longState() async throws {
        let mock = MockExecutor(.ok("x"))
        var state = TraceContext.State()
        state[String(repeating: "k", count: 256)] = String(repeating: "v", count: 256)
        let outer = try #require(
            TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state))
        _ = try await TraceContext.withCurrent(outer) {
            try await mock.observing(.attempts, by: Self.tracing(Spans())).perform(api.get(.text, from: "/x"))
        }
        #expect(!state.isEmpty && mock.recordedRequests[0].header.values(of: "tracestate").isEmpty)
    }

    @Test("the flags of the parent decide whether a span is recorded, and an unsampled one is still propagated")
    func sampling() async throws {
        let spans = Spans()
        let mock = MockExecutor(.ok("x"))
        var tracing = Self.tracing(spans)
        tracing.samples = { _ in false }
        let executor = mock.observing(.attempts, by: tracing).observing(.calls, by: tracing)
        _ = try await executor.perform(api.get(.text, from: "/x"))
        #expect(spans.elements.isEmpty)
        #expect(mock.recordedRequests[0].header["traceparent"]?.hasSuffix("-02") == true)
        let sampled = try #require(
            TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        _ = try await TraceContext.withCurrent(sampled) { try await executor.perform(api.get(.text, from: "/x")) }
        #expect(spans.elements.count == 2)
    }

    @Test("a recorder receives the attributes of every span, and decides itself which are recorded")
    func unsampled() async throws {
        struct All: RequestTracing.Recorder {
            let spans: Spans
            func begin(_ span: inout RequestTracing.Span) -> (@Sendable (RequestTracing.Span) -> Void)? {
                { [spans] span in spans.add(span) }
            }
        }
        let spans = Spans()
        let executor = MockExecutor(.ok("x")).observing(.attempts, by: RequestTracing(recorder: All(spans: spans)))
        let unsampled = try #require(
            TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"))
        _ = try await TraceContext.withCurrent(unsampled) { try await executor.perform(api.get(.text, from: "/x")) }
        #expect(
            Self.texts(spans.elements.first) == [
                "http.request.method=GET", "server.address=e.com", "server.port=80", "url.scheme=http",
                "url.template=/x", "url.full=http://e.com/x", "http.response.status_code=200",
            ])
    }

    private struct Described: RequestConvertible {
        let baseURL = URL(string: "http://e.com") ?? URL(filePath: "/")
        var responseDecoder: ResponseDecoder<String> { .text }
        var endpoint: RequestPath { "/users/\(7)" }
    }

    private struct Written: RequestConvertible {
        let baseURL = URL(string: "http://e.com") ?? URL(filePath: "/")
        var responseDecoder: ResponseDecoder<String> { .text }
        var endpoint: String { "/users/7" }
    }

    @Test("a template that is set or written as a path with values counts without an API, and not after a redirect")
    func templates() async throws {
        let spans = Spans()
        let mock = MockExecutor { request in
            request.target.path == "/first" ? .redirect(to: "http://e.com/second") : .ok("x")
        }
        let executor = mock.observing(.attempts, by: Self.tracing(spans))
        var request = PreparedRequest(target: try TargetURI("http://e.com/pets/7"))
        _ = try await executor.execute(request)
        request.pathTemplate = "listPets"
        _ = try await executor.execute(request)
        _ = try await executor.perform(Described())
        _ = try await executor.perform(Written())
        _ = try await executor.perform(api.get(.text, from: "/first"))
        #expect(spans.elements.map(\.name) == ["GET", "GET listPets", "GET /users/{}", "GET", "GET /first", "GET"])
    }

    @Test("baggage is sent to the origin of the call, and to no other after a redirect")
    func baggage() async throws {
        let served = MockExecutor { request in
            request.target.host == "e.com" ? .redirect(to: "http://other.com/x") : .ok("x")
        }
        let executor = served.observing(.attempts, by: Self.tracing(Spans()))
        var baggage = TraceContext.Baggage()
        baggage["user.tier"] = "gold"
        let (api, planned) = (api, baggage)
        _ = try await TraceContext.withCurrent(nil, baggage: planned) {
            try await executor.perform(api.get(.text, from: "/x"))
        }
        #expect(served.recordedRequests.map { $0.header["baggage"] } == ["user.tier=gold", nil])
        #expect(served.recordedRequests.allSatisfy { $0.header.contains("traceparent") })
        var selective = Self.tracing(Spans())
        selective.propagates = { $0.host == "other.com" }
        let own = MockExecutor(.ok("x"))
        _ = try await TraceContext.withCurrent(nil, baggage: planned) {
            try await own.observing(.attempts, by: selective).perform(api.get(.text, from: "/x"))
        }
        #expect(own.recordedRequests[0].header.isEmpty || !own.recordedRequests[0].header.contains("traceparent"))
    }

    @Test("a recorder can use its own identity and fields")
    func recorder() async throws {
        struct Own: RequestTracing.Recorder {
            let spans: Collected<RequestTracing.Span>

            func begin(_ span: inout RequestTracing.Span) -> (@Sendable (RequestTracing.Span) -> Void)? {
                span.context.spanID = TraceContext.SpanID(value: 0xff)
                span.propagation = [Field(name: "b3", value: "\(span.context.spanID)")]
                return { [spans] span in spans.add(span) }
            }
        }
        let spans = Spans()
        let mock = MockExecutor { request in
            if let context = TraceContext.current {
                spans.add(RequestTracing.Span("x", context: context, start: Date()))
            }
            return .ok("x")
        }
        _ = try await mock.observing(.attempts, by: RequestTracing(recorder: Own(spans: spans)))
            .perform(api.get(.text, from: "/x"))
        #expect(spans.elements.map(\.context.spanID.value) == [0xff, 0xff])
        #expect(mock.recordedRequests[0].header["b3"] == "00000000000000ff")
        #expect(!mock.recordedRequests[0].header.contains("traceparent"))
    }

    @Test(
        "the attributes of a span follow the conventions of OpenTelemetry, without secrets", .rows("R-74"),
        arguments: [
            (
                "GET", "https://user:planted@e.com:8443/a?token=planted&q=1&sig=planted#planted-fragment",
                ["http.request.method=GET", "server.port=8443", "url.scheme=https"]
            ),
            ("get", "http://e.com/a", ["http.request.method=_OTHER", "http.request.method_original=get"]),
            ("QUERY", "http://e.com/a", ["http.request.method=QUERY"]),
            ("PURGE", "http://[::1]/a", ["http.request.method=_OTHER", "server.address=::1", "server.port=80"]),
        ])
    func attributes(method: String, url: String, expected: [String]) async throws {
        let spans = Spans()
        let executor = MockExecutor(.ok("x")).observing(.attempts, by: Self.tracing(spans))
        let target = try #require(URL(string: url))
        _ = try await executor.execute(PreparedRequest(method: HTTPMethod(method), url: target))
        let span = try #require(spans.elements.first)
        let texts = Self.texts(span)
        #expect(Set(texts).isSuperset(of: expected), "\(texts)")
        // Without a template, the path is left out: paths can have any number of values.
        #expect(span.name == (["GET", "QUERY"].contains(method) ? method : "HTTP"))
        #expect(!texts.contains { $0.hasPrefix("url.template") })
        #expect(!texts.contains { $0.contains("planted@") || $0.contains("=planted") }, "\(texts)")
        if url.contains("sig") {
            #expect(texts.contains { $0.hasPrefix("url.full=https://e.com:8443/a?token=REDACTED&q=1&sig=REDACTED") })
            #expect(!texts.contains { $0.contains("planted") }, "\(texts)")
        }
    }

    @Test("an error has the name of its reason as its type, and no status")
    func errors() async throws {
        let spans = Spans()
        let tracing = Self.tracing(spans)
        for reason in [.connectionFailed, .timedOut(.firstByte), .tooLarge(limit: 5)] as [RequestError.Reason] {
            let lost = MockExecutor { _ in throw RequestError(reason) }.observing(.attempts, by: tracing)
            _ = await failure { () async throws(RequestError) in try await lost.perform(api.get(.text, from: "/x")) }
        }
        let types = spans.elements.flatMap(\.attributes).filter { $0.name == "error.type" }.map(\.value.description)
        #expect(types == ["connection_failed", "timeout", "too_large"] && spans.elements.allSatisfy(\.hasFailed))
    }

    @Test("the span of a streamed body ends with the body, and has the response's protocol version")
    func streamed() async throws {
        try await withTestServer(serving: MockExecutor(.chunks([Data("a".utf8), Data("b".utf8)]))) { server in
            let spans = Spans()
            let executor = SocketExecutor().observing(.attempts, by: Self.tracing(spans))
            let request = try streamedRequest(AnonymousRequestProvider(baseURL: server.baseURL))
            guard case .stream(let stream) = try await executor.execute(request).body else {
                throw RequestError(.other)
            }
            #expect(spans.elements.isEmpty)
            _ = try await stream.collect()
            #expect(spans.elements.count == 1)
            #expect(Self.texts(spans.elements.first).contains("network.protocol.version=1.1"))
        }
    }

    @Test("the span of a response over HTTP/2 has its protocol version", .rows("H-54"))
    func http2() async throws {
        try await withTestServer(serving: MockExecutor(.ok()), using: .http2) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.httpVersion = .http2PriorKnowledge
            let spans = Spans()
            let executor = SocketExecutor(configuration: configuration).observing(
                .attempts, by: Self.tracing(spans))
            _ = try await executor.execute(PreparedRequest(method: .get, url: server.baseURL))
            #expect(Self.texts(spans.elements.first).contains("network.protocol.version=2"))
        }
    }

    @Test("the fields of a span are sent over every executor, and blocking calls too", arguments: Transport.allCases)
    func transports(transport: Transport) async throws {
        let spans = Spans()
        let served = MockExecutor { .ok($0.header["traceparent"] ?? "") }
        try await transport.run(serving: served) { api, executor in
            let observed = executor.observing(.attempts, by: Self.tracing(spans))
            for form in CallForm.allCases {
                let text = try await form.response(for: api.get(.text, from: "/x"), over: observed).value
                #expect(text == spans.elements.last?.context.traceparent)
            }
        }
    }

    @Test("metrics have the names, units and buckets of the conventions")
    func metrics() async throws {
        let collected = Collected<RequestMetrics.Measurement>()
        let metrics = RequestMetrics { collected.add($0) }
        let script = ResponseScript(.status(503), .json("[1]"))
        let executor = script.executor.observing(.attempts, by: metrics)
            .retrying(.retryNetworkFailureOrServiceUnavailable(with: .retryOnce))
        _ = try await executor.perform(api.get(.json([Int].self), from: "/users/\("a/b")"))
        let names = collected.elements.map(\.instrument.name)
        let once = [
            "http.client.active_requests", "http.client.active_requests", "http.client.request.duration",
            "http.client.request.body.size", "http.client.response.body.size",
        ]
        #expect(names == once + once)
        let active = collected.elements.filter { $0.instrument.name == "http.client.active_requests" }
        #expect(active.map(\.value) == [1, -1, 1, -1])
        let durations = collected.elements.filter { $0.instrument.name == "http.client.request.duration" }
        #expect(durations.allSatisfy { $0.value > 0 && $0.instrument.unit == "s" })
        #expect(
            durations[0].attributes.map(\.description) == [
                "http.request.method=GET", "server.address=e.com", "server.port=80", "url.scheme=http",
                "url.template=/users/{}", "http.response.status_code=503", "error.type=503",
            ])
        guard case .histogram(let boundaries) = durations[0].instrument.kind else { throw RequestError(.other) }
        #expect(boundaries.count == 14 && boundaries.first == 0.005 && boundaries.last == 10)
        #expect(collected.elements.last?.value == 3)
    }

    @Test("the connections of an executor are gauges by origin and state, through middleware too")
    func gauges() async throws {
        try await withTestServer(serving: MockExecutor(.ok("x"))) { server in
            let base = SocketExecutor()
            let executor = base.retrying().observing(.calls, by: ActivityCounter())
            #expect(RequestMetrics.connections(of: executor).isEmpty)
            _ = try await executor.perform(AnonymousRequestProvider(baseURL: server.baseURL).get(.text, from: "/x"))
            let gauges = RequestMetrics.connections(of: executor)
            #expect(gauges.map(\.value) == [0, 1])
            #expect(gauges.allSatisfy { $0.instrument.name == "http.client.open_connections" })
            #expect(
                gauges.map { $0.attributes[0].description } == ["active", "idle"].map { "http.connection.state=\($0)" })
            #expect(gauges[0].attributes[2] == .init("server.port", server.baseURL.port ?? 0))
        }
        #expect(RequestMetrics.connections(of: MockExecutor(.ok("x"))).isEmpty)
    }
}
