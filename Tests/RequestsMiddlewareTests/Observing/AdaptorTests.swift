import Adaptors
import PackageStandIns
@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Testing

/// The adaptors of the article of the same name, with stand-ins for the packages.
@Suite("Adaptors", .serialized, .timeLimit(.minutes(10)))
struct AdaptorTests {
    private let api = AnonymousRequestProvider("http://e.com")

    @Test("swift-log receives an entry with its level and its status")
    func log() async throws {
        let lines = Collected<String>()
        let logger = Logger { level, message, metadata in lines.add("\(level) \(message) \(metadata?.count ?? 0)") }
        let executor = MockExecutor(.status(404)).observing(
            .calls, by: RequestLogging(requests: .nothing) { logger.write($0) }, clock: ManualClock().clock())
        _ = await failure { () async throws(RequestError) in try await executor.perform(api.get(.text, from: "/x")) }
        #expect(
            lines.elements == ["warning [1] 404 Not Found to GET http://e.com/x, 0.0 ms, 0 bytes received 2"])
    }

    @Test("swift-metrics receives each kind of measurement")
    func metrics() async throws {
        let executor = MockExecutor(.ok("x")).observing(.attempts, by: RequestMetrics { record($0) })
        _ = try await executor.perform(api.get(.text, from: "/adaptor/\(1)"))
        let lines = MetricsRecord.all.filter { $0.contains("/adaptor/{}") }
        #expect(lines.map { $0.prefix { $0 != " " } } == ["meter", "meter", "timer", "recorder", "recorder"])
        record(RequestMetrics.Measurement(.openConnections, 2, [.init("adaptor", 1)]))
        #expect(
            MetricsRecord.all.contains { $0.hasPrefix("gauge http.client.open_connections") && $0.hasSuffix("2.0") })
    }

    private final class TestTracer: Tracer {
        struct TestSpan: Span {
            let context: ServiceContext
            let lines: Collected<String>
            private let stored = Stored()

            final class Stored: Sendable {
                let attributes = Lock(SpanAttributes())
            }

            init(_ context: ServiceContext, _ lines: Collected<String>) {
                (self.context, self.lines) = (context, lines)
            }

            var attributes: SpanAttributes {
                get { stored.attributes.withLock { $0 } }
                nonmutating set { stored.attributes.withLock { $0 = newValue } }
            }

            func setStatus(_ status: SpanStatus) { lines.add("\(status.code)") }

            func end() { lines.add("end \(attributes.values.count)") }
        }

        let lines = Collected<String>()

        func startSpan(
            _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
            function: String, file fileID: String, line: UInt
        ) -> TestSpan {
            lines.add("\(operationName) \(context().id) \(kind)")
            return TestSpan(ServiceContext(id: 7), lines)
        }

        func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
        where Inject: Injector, Carrier == Inject.Carrier {
            injector.inject("\(context.id)", forKey: "x-context", into: &carrier)
        }
    }

    @Test("swift-distributed-tracing begins and ends a span, and its context is sent")
    func tracing() async throws {
        let tracer = TestTracer()
        let mock = MockExecutor(.status(500))
        let executor = mock.observing(.attempts, by: RequestTracing(recorder: TracerRecorder(tracer)))
        _ = await ServiceContext.$current.withValue(ServiceContext(id: 3)) {
            await failure { () async throws(RequestError) in try await executor.perform(api.get(.text, from: "/x")) }
        }
        #expect(tracer.lines.elements == ["GET /x 3 client", "error", "end 8"])
        #expect(mock.recordedRequests[0].header["x-context"] == "7")
        #expect(!mock.recordedRequests[0].header.contains("traceparent"))
    }

    @Test("a transport of OpenAPI sends a request with a streamed body, and streams the response")
    func transport() async throws {
        let mock = MockExecutor { request in
            guard case .bytes(let body) = request.body else { return .status(400) }
            return MockResponse(
                status: 201, header: [Field(name: "X-Seen", value: request.header["X-Sent"] ?? "")],
                body: [.bytes(body), .bytes(body)])
        }
        let name = try #require(HTTPField.Name("X-Sent"))
        var fields = HTTPFields()
        fields.append(HTTPField(name: name, value: "a"))
        let request = HTTPRequest(
            method: try #require(.init(rawValue: "PUT")), scheme: nil, authority: nil, path: "/pets?limit=1",
            headerFields: fields)
        let chunks = AsyncStream { continuation in
            continuation.yield(ArraySlice("cat".utf8))
            continuation.yield([])
            continuation.finish()
        }
        let (response, body) = try await RequestsTransport(mock).send(
            request, body: HTTPBody(chunks, length: .known(3), iterationBehavior: .single),
            baseURL: URL("https://e.com:8443/v1"), operationID: "put")
        var received: [UInt8] = []
        for try await chunk in try #require(body) { received += chunk }
        #expect(response.status.code == 201 && String(decoding: received, as: UTF8.self) == "catcat")
        #expect(response.headerFields.contains { $0.name.rawName == "X-Seen" && $0.value == "a" })
        #expect(mock.recordedRequests[0].target.absoluteString == "https://e.com:8443/v1/pets?limit=1")
        #expect(mock.recordedRequests[0].method == .put)
    }

    @Test(
        "the transport for OpenAPI resends a body only if it can be read again, and supports hosts of every kind",
        arguments: ["http://[::1]:8080/v1", "https://e.com", "http://127.0.0.1/a%20b"])
    func bodies(base: String) async throws {
        let seen = Lock<[PreparedRequest]>([])
        let executor = MockExecutor(.ok("x")).intercepting { request, next in
            seen.withLock { $0.append(request) }
            return try await next.execute(request)
        }
        let request = HTTPRequest(
            method: try #require(.init(rawValue: "POST")), scheme: nil, authority: nil, path: "/pets?limit=1")
        let chunks = AsyncStream<ArraySlice<UInt8>> { $0.finish() }
        let url = try #require(URL(string: base))
        for behavior in [HTTPBody.IterationBehavior.single, .multiple] {
            _ = try await RequestsTransport(executor).send(
                request, body: HTTPBody(chunks, length: .unknown, iterationBehavior: behavior), baseURL: url,
                operationID: "post")
        }
        _ = try await RequestsTransport(executor).send(request, body: nil, baseURL: url, operationID: "post")
        let sent = seen.withLock(\.self)
        #expect(sent.map(\.body.isReplayable) == [false, true, true] && sent[2].body.isNone)
        #expect(sent.allSatisfy { $0.target.absoluteString == base + "/pets?limit=1" })
        let relative = try #require(URL(string: "relative"))
        await #expect(throws: RequestError.InvalidRequest.self) {
            try await RequestsTransport(executor).send(request, body: nil, baseURL: relative, operationID: "post")
        }
    }
}
