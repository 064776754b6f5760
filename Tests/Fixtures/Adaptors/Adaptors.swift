package import PackageStandIns
package import RequestsMiddleware
package import RequestsSocket
import Synchronization

// A House test checks that each declaration after “Article” is in that article, line for line, without `package`. The
// stand-ins have the signatures of the packages, which this one does not depend on. The target is on the main actor by
// default, as apps are, and its declarations are `nonisolated`, so they compile in either mode.

nonisolated extension TracerRecorder {
    package init(_ tracer: any Tracer) { self.tracer = tracer }
}

nonisolated extension RequestsTransport {
    package init(_ executor: any RequestExecutor) { self.executor = executor }
}

nonisolated extension RequestsService {
    package init(_ executor: SocketExecutor) { self.executor = executor }
}

// Article: Adaptors.md
nonisolated extension RequestLogging {
    package init(_ logger: Logger) {
        self.init { entry in
            var metadata: Logger.Metadata = ["request": "\(entry.number)"]
            if let status = entry.status {
                metadata["http.response.status_code"] = "\(status.code)"
            }
            logger.log(
                level: Logger.Level(entry.level), "\(entry)",
                error: entry.report?.error, metadata: metadata)
        }
        isEnabled = { level in logger.logLevel <= Logger.Level(level) }
    }
}

// Article: Adaptors.md
nonisolated extension Logger.Level {
    package init(_ level: RequestLogging.Level) {
        switch level {
        case .error: self = .error
        case .warning: self = .warning
        default: self = .info
        }
    }
}

// Article: Adaptors.md
nonisolated package final class MeasurementRecorder: Sendable {
    private let meters = Mutex<[[Observing.Attribute]: Meter]>([:])

    package init() {}

    package func record(_ measurement: RequestMetrics.Measurement) {
        let (name, value) = (measurement.instrument.name, measurement.value)
        let dimensions = measurement.attributes.map { ($0.name, "\($0.value)") }
        switch measurement.instrument.kind {
        case .histogram where measurement.instrument.unit == "s":
            Timer(label: name, dimensions: dimensions).recordSeconds(value)
        case .histogram:
            Recorder(label: name, dimensions: dimensions).record(value)
        case .upDownCounter:
            let key = measurement.attributes + [.init("label", name)]
            let meter = meters.withLock { meters in
                if let meter = meters[key] { return meter }
                let meter = Meter(label: name, dimensions: dimensions)
                meters[key] = meter
                return meter
            }
            if value < 0 {
                meter.decrement(by: -value)
            } else {
                meter.increment(by: value)
            }
        default:
            Gauge(label: name, dimensions: dimensions).record(value)
        }
    }
}

// Article: Adaptors.md
nonisolated package struct TracerRecorder: RequestTracing.Recorder {
    let tracer: any Tracer

    package func begin(
        _ span: inout RequestTracing.Span
    ) -> (@Sendable (RequestTracing.Span) -> Void)? {
        let recorded = tracer.startSpan(span.name, ofKind: .client)
        var fields = Header.empty
        tracer.inject(recorded.context, into: &fields, using: FieldInjector())
        span.propagation = fields
        return { span in
            var attributes = recorded.attributes
            for attribute in span.attributes {
                let value: SpanAttribute =
                    switch attribute.value {
                    case .integer(let number): .int64(Int64(number))
                    default: .string("\(attribute.value)")
                    }
                attributes.set(attribute.name, value: value)
            }
            recorded.attributes = attributes
            if let error = span.report?.error { recorded.recordError(error) }
            if span.hasFailed { recorded.setStatus(SpanStatus(code: .error)) }
            recorded.end()
        }
    }
}

// Article: Adaptors.md
nonisolated package struct FieldInjector: Injector {
    package func inject(_ value: String, forKey key: String, into all: inout Header) {
        all[Field.Name(key)] = value
    }
}

// Article: Adaptors.md
nonisolated extension PreparedRequest {
    package init(_ head: HTTPRequest) throws {
        self.init(target: try TargetURI(head))
        try setHead(head)
    }

    package mutating func setHead(_ head: HTTPRequest) throws {
        let target = try TargetURI(head)
        if target.absoluteForm != self.target.absoluteForm {
            self.target = target
        }
        method = HTTPMethod(head.method.rawValue)
        header = Header(head.headerFields)
    }
}

// Article: Adaptors.md
nonisolated extension TargetURI {
    package init(_ head: HTTPRequest) throws {
        let path = head.path ?? "/"
        guard path.hasPrefix("/") else {
            throw RequestError(.invalidRequest(.malformedURL))
        }
        let origin = "\(head.scheme ?? "https")://\(head.authority ?? "")"
        try self.init(origin + path)
    }
}

// Article: Adaptors.md
nonisolated extension Header {
    package init(_ fields: HTTPFields) {
        self.init(
            fields.map { field in
                Field(
                    name: Field.Name(field.name.rawName),
                    valueBytes: field.withUnsafeBytesOfValue { Array($0) })
            })
    }
}

// Article: Adaptors.md
nonisolated extension HTTPFields {
    package init(_ header: Header) throws {
        self.init()
        for field in header {
            guard let name = HTTPField.Name(field.name.rawValue) else {
                throw RequestError(.invalidRequest(.invalidFieldName))
            }
            append(HTTPField(name: name, value: field.valueBytes))
        }
    }
}

// Article: Adaptors.md
nonisolated extension HTTPRequest {
    package init(_ request: PreparedRequest) throws {
        guard let method = Method(rawValue: request.method.rawValue) else {
            throw RequestError(.invalidRequest(.invalidMethod))
        }
        let target = request.target
        self.init(
            method: method, scheme: target.scheme, authority: target.authority,
            path: target.requestTarget,
            headerFields: try HTTPFields(request.header))
    }
}

// Article: Adaptors.md
nonisolated extension HTTPResponse {
    package init(_ head: ResponseHead) throws {
        guard 100...999 ~= head.status.code else {
            throw RequestError(.protocolViolation)
        }
        self.init(
            status: Status(code: head.status.code),
            headerFields: try HTTPFields(head.header))
    }
}

// Article: Adaptors.md
nonisolated extension ResponseHead {
    package init(_ head: HTTPResponse, target: TargetURI) {
        self.init(
            status: HTTPStatus(head.status.code),
            header: Header(head.headerFields), target: target)
    }
}

// Article: Adaptors.md
nonisolated package struct RequestsTransport: ClientTransport {
    let executor: any RequestExecutor
    package var timeouts = Timeouts.standard

    package func send(
        _ head: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = PreparedRequest(
            method: HTTPMethod(head.method.rawValue),
            target: try TargetURI(head.path, below: baseURL),
            header: Header(head.headerFields))
        if let body {
            var length: Int?
            if case .known(let count) = body.length { length = Int(count) }
            let repeats = body.iterationBehavior == .multiple
            request.body = .stream(length: length, isReplayable: repeats) {
                body.map { Data($0) }
            }
        }
        request.pathTemplate = operationID
        request.timeouts = timeouts
        request.validator = .none
        request.delivery = .streamed
        do {
            return try await executor.perform(PreparedCall(request: request))
        } catch {
            if error.isCancellation { throw CancellationError() }
            throw error
        }
    }
}

// Article: Adaptors.md
nonisolated extension TargetURI {
    package init(_ path: String?, below base: URL) throws {
        let parts = [base.absoluteString, path ?? ""].map { text in
            text.split(
                separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        }
        var (root, path) = (parts[0][0], parts[1][0])
        guard path.isEmpty || path.hasPrefix("/") else {
            throw RequestError(.invalidRequest(.malformedURL))
        }
        if root.hasSuffix("/"), !path.isEmpty { root.removeLast() }
        path = root + path
        let query = parts.flatMap { $0.dropFirst() }.joined(separator: "&")
        try self.init(query.isEmpty ? String(path) : "\(path)?\(query)")
    }
}

// Article: Adaptors.md
nonisolated private struct PreparedCall: RequestConvertible {
    let request: PreparedRequest

    var baseURL: URL { request.url }
    var endpoint: RequestPath { .empty }
    var responseDecoder: ResponseDecoder<(HTTPResponse, HTTPBody?)> {
        ResponseDecoder(streaming: { head, stream in
            let length = stream.length.map { HTTPBody.Length.known(Int64($0)) }
            let body = HTTPBody(
                ReceivedBytes(stream: stream), length: length ?? .unknown,
                iterationBehavior: .single)
            return (try HTTPResponse(head), body)
        })
    }

    func prepared() -> PreparedRequest { request }
}

// Article: Adaptors.md
nonisolated struct ReceivedBytes: AsyncSequence, AsyncIteratorProtocol,
    Sendable
{
    let stream: ResponseStream

    func makeAsyncIterator() -> Self { self }

    func next() async throws -> ArraySlice<UInt8>? {
        do {
            return try await stream.next().map { ArraySlice($0) }
        } catch {
            if error.isCancellation { throw CancellationError() }
            throw error
        }
    }
}

// Article: Adaptors.md
nonisolated package struct RequestsService: Service {
    let executor: SocketExecutor
    package var grace = Duration.seconds(30)

    package func run() async throws {
        // Throws if the task is cancelled; `drain` then waits for nothing.
        try? await gracefulShutdown()
        await executor.drain(until: .now + grace)
    }
}
