import Adaptors
import PackageStandIns
@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// The adaptors for observers in the article of the same name, with stand-ins for the packages.
@Suite("Adaptors", .timeLimit(.minutes(10)))
struct AdaptorTests {
    private let api = AnonymousRequestProvider("http://e.com")

    private struct CollectingHandler: LogHandler {
        var logLevel = Logger.Level.info
        let events: Collected<LogEvent>

        func log(event: LogEvent) { events.add(event) }
    }

    private static func logger(_ events: Collected<LogEvent>, _ level: Logger.Level = .info) -> Logger {
        var logger = Logger(label: "requests") { _ in CollectingHandler(events: events) }
        logger.logLevel = level
        return logger
    }

    @Test("swift-log receives the level, the number, the status and the error of an entry")
    func log() async throws {
        let events = Collected<LogEvent>()
        let executor = MockExecutor(.status(404)).observing(
            .calls, by: RequestLogging(Self.logger(events)), clock: ManualClock().clock())
        _ = await failure { () async throws(RequestError) in try await executor.perform(api.get(.text, from: "/x")) }
        let lost = MockExecutor { _ in throw RequestError(.connectionLost) }
            .observing(.calls, by: RequestLogging(Self.logger(events)))
        _ = await failure { () async throws(RequestError) in try await lost.perform(api.get(.text, from: "/y")) }
        let all = events.elements
        #expect(all.map(\.level) == [.info, .warning, .info, .error])
        #expect(all[0].message.description == "[1] GET http://e.com/x" && all[0].metadata == ["request": "1"])
        #expect(all[1].message.description == "[1] 404 Not Found to GET http://e.com/x, 0.0 ms, 0 bytes received")
        #expect(all[1].metadata == ["request": "1", "http.response.status_code": "404"] && all[1].error == nil)
        #expect((all[3].error as? RequestError)?.reason == .connectionLost && all[3].metadata == ["request": "1"])
    }

    @Test("swift-log receives the status of a streamed response with its head")
    func streamedLog() async throws {
        let events = Collected<LogEvent>()
        let executor = MockExecutor(.chunks([Data("a".utf8)]))
            .observing(.calls, by: RequestLogging(Self.logger(events)))
        let chunks = try await executor.perform(api.get(.chunks, from: "/x"))
        #expect(events.elements.map { $0.metadata?["http.response.status_code"] } == [nil, "200"])
        for try await _ in chunks {}
        #expect(events.elements.map { $0.metadata?["http.response.status_code"] } == [nil, "200", "200"])
    }

    @Test("a level that is off costs no text: neither the lines nor the description of the entry are created")
    func quietLog() async throws {
        let events = Collected<LogEvent>()
        let levels = Collected<RequestLogging.Level>()
        var logging = RequestLogging { entry in levels.add(entry.level) }
        logging.isEnabled = { level in Self.logger(events, .error).logLevel <= Logger.Level(level) }
        let script = ResponseScript(.json("[1]"), .status(404))
        let executor = script.executor.observing(
            .calls, by: logging, RequestLogging(Self.logger(events, .warning)))
        _ = try await executor.perform(api.get(.text, from: "/x"))
        #expect(events.elements.isEmpty)
        _ = await failure { () async throws(RequestError) in try await executor.perform(api.get(.text, from: "/x")) }
        #expect(levels.elements.isEmpty && events.elements.map(\.level) == [.warning])
        #expect(events.elements.first?.message.description.hasPrefix("[2] 404 Not Found") == true)
    }

    @Test("swift-metrics counts requests up and down with one meter, and records durations and sizes")
    func metrics() async throws {
        let metrics = TestMetrics()
        try await MetricsSystem.$factory.withValue(metrics) {
            let recorder = MeasurementRecorder()
            let executor = MockExecutor(.ok("four"))
                .observing(.attempts, by: RequestMetrics { recorder.record($0) })
            for number in 1...2 { _ = try await executor.perform(api.get(.text, from: "/users/\(number)")) }
            recorder.record(RequestMetrics.Measurement(.openConnections, 2, [.init("http.connection.state", "idle")]))
            recorder.record(RequestMetrics.Measurement(.requestDuration, 0.25, [.init("test", 1)]))
        }
        let start = [
            "http.request.method=GET", "server.address=e.com", "server.port=80", "url.scheme=http",
            "url.template=/users/{}",
        ]
        let active = metrics.handlers("http.client.active_requests")
        #expect(active.map(\.kind) == ["meter"] && active.first?.dimensions == start)
        #expect(active.first?.values == [1, 0, 1, 0])
        let sizes = metrics.handlers("http.client.response.body.size")
        #expect(sizes.map(\.kind) == ["recorder", "recorder"] && sizes.map(\.values) == [[4], [4]])
        #expect(sizes.first?.dimensions == start + ["http.response.status_code=200"])
        let durations = metrics.handlers("http.client.request.duration")
        #expect(durations.map(\.kind) == ["timer", "timer", "timer"] && durations.last?.values == [250_000_000])
        let gauges = metrics.handlers("http.client.open_connections")
        #expect(gauges.map(\.kind) == ["gauge"] && gauges.map(\.values) == [[2]])
    }

    private enum TestKey: ServiceContextKey {
        typealias Value = Int
    }

    private final class TestSpan: Span {
        struct State {
            var operationName: String
            var attributes: SpanAttributes = [:]
            var status: SpanStatus?
            var errors: [RequestError.Reason?] = []
            var ends = 0
        }

        let context: ServiceContext
        let parent: Int?
        let kind: SpanKind
        private let state: Lock<State>

        init(_ name: String, in parent: ServiceContext, kind: SpanKind) {
            (self.parent, self.kind) = (parent[TestKey.self], kind)
            var context = parent
            context[TestKey.self] = 7
            self.context = context
            state = Lock(State(operationName: name))
        }

        var final: State { state.withLock(\.self) }

        var operationName: String {
            get { final.operationName }
            set { state.withLock { $0.operationName = newValue } }
        }

        var attributes: SpanAttributes {
            get { final.attributes }
            set { state.withLock { $0.attributes = newValue } }
        }

        var isRecording: Bool { final.ends == 0 }

        func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }

        func recordError<Instant: TracerInstant>(
            _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
        ) {
            state.withLock { $0.errors.append((error as? RequestError)?.reason) }
        }

        func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) { state.withLock { $0.ends += 1 } }
    }

    private struct TestTracer: Tracer {
        let spans = Collected<TestSpan>()

        func startSpan<Instant: TracerInstant>(
            _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
            at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
        ) -> TestSpan {
            let span = TestSpan(operationName, in: context(), kind: kind)
            spans.add(span)
            return span
        }

        func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
        where Inject: Injector, Carrier == Inject.Carrier {
            injector.inject("\(context[TestKey.self] ?? 0)", forKey: "x-context", into: &carrier)
        }
    }

    @Test("swift-distributed-tracing begins and ends a span with its attributes, and its context is sent")
    func tracing() async throws {
        let tracer = TestTracer()
        let mock = MockExecutor(.status(500))
        let executor = mock.observing(.attempts, by: RequestTracing(recorder: TracerRecorder(tracer)))
        var context = ServiceContext.topLevel
        context[TestKey.self] = 3
        // A tracer samples by its own rules, not by the fields of the request.
        let request = api.get(.text, from: "/users/\(7)")
            .with(header: ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"])
        _ = await ServiceContext.$current.withValue(context) {
            await failure { () async throws(RequestError) in try await executor.perform(request) }
        }
        let span = try #require(tracer.spans.elements.first)
        let end = span.final
        #expect(tracer.spans.elements.count == 1 && span.parent == 3 && span.kind == .client)
        #expect(end.operationName == "GET /users/{}" && end.ends == 1 && end.status == SpanStatus(code: .error))
        #expect(
            end.attributes == [
                "http.request.method": .string("GET"), "server.address": .string("e.com"), "server.port": .int64(80),
                "url.scheme": .string("http"), "url.template": .string("/users/{}"),
                "url.full": .string("http://e.com/users/7"), "http.response.status_code": .int64(500),
                "error.type": .string("500"),
            ])
        #expect(end.errors.isEmpty && mock.recordedRequests[0].header["x-context"] == "7")
    }

    @Test("swift-distributed-tracing records the error of a request without a response")
    func tracedError() async throws {
        let tracer = TestTracer()
        let executor = MockExecutor { _ in throw RequestError(.connectionLost) }
            .observing(.attempts, by: RequestTracing(recorder: TracerRecorder(tracer)))
        _ = await failure { () async throws(RequestError) in try await executor.perform(api.get(.text, from: "/x")) }
        let end = try #require(tracer.spans.elements.first?.final)
        #expect(end.errors == [.connectionLost] && end.status == SpanStatus(code: .error) && end.ends == 1)
        #expect(end.attributes.get("error.type") == .string("connection_lost"))
    }
}
