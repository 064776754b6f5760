package import PackageStandIns
package import RequestsMiddleware

// A House test checks that each declaration after “Article” is in that article, line for line, without `package`. The
// stand-ins have the signatures of the packages, which this one does not depend on.

extension TracerRecorder {
    package init(_ tracer: T) { self.tracer = tracer }
}

extension RequestsTransport {
    package init(_ executor: any RequestExecutor) { self.executor = executor }
}

// Article: Adaptors.md
extension Logger {
    package func write(_ entry: RequestLogging.Entry) {
        let level: Logger.Level =
            switch entry.level {
            case .error: .error
            case .warning: .warning
            default: .info
            }
        var metadata: Logger.Metadata = ["request": "\(entry.number)"]
        if let status = entry.report?.response?.status.code {
            metadata["http.response.status_code"] = "\(status)"
        }
        log(level: level, "\(entry)", metadata: metadata)
    }
}

// Article: Adaptors.md
package func record(_ measurement: RequestMetrics.Measurement) {
    let (name, value) = (measurement.instrument.name, measurement.value)
    let dimensions = measurement.attributes.map { ($0.name, "\($0.value)") }
    switch measurement.instrument.kind {
    case .histogram where measurement.instrument.unit == "s":
        Timer(label: name, dimensions: dimensions)
            .recordNanoseconds(Int64(value * 1_000_000_000))
    case .histogram:
        Recorder(label: name, dimensions: dimensions).record(value)
    case .upDownCounter:
        Meter(label: name, dimensions: dimensions).increment(by: value)
    default:
        Gauge(label: name, dimensions: dimensions).record(value)
    }
}

// Article: Adaptors.md
package struct TracerRecorder<T: Tracer>: RequestTracing.Recorder {
    let tracer: T

    package func begin(
        _ span: inout RequestTracing.Span
    ) -> (@Sendable (RequestTracing.Span) -> Void)? {
        let recorded = tracer.startSpan(span.name, ofKind: .client)
        var fields = Header.empty
        tracer.inject(recorded.context, into: &fields, using: FieldInjector())
        span.propagation = fields
        return { span in
            for attribute in span.attributes {
                switch attribute.value {
                case .integer(let number):
                    recorded.attributes[attribute.name] = .int64(Int64(number))
                default:
                    let text = "\(attribute.value)"
                    recorded.attributes[attribute.name] = .string(text)
                }
            }
            if span.hasFailed { recorded.setStatus(SpanStatus(code: .error)) }
            recorded.end()
        }
    }
}

// Article: Adaptors.md
package struct FieldInjector: Injector {
    package func inject(
        _ value: String, forKey key: String, into carrier: inout Header
    ) {
        carrier.set(Field(name: Field.Name(key), value: value))
    }
}

// Article: Adaptors.md
extension PreparedRequest {
    package init(_ request: HTTPRequest, body: RequestBody = .none) throws {
        let origin = "\(request.scheme ?? "https")://\(request.authority ?? "")"
        guard let url = URL(string: origin + (request.path ?? "/")) else {
            throw RequestError(.invalidRequest(.malformedURL))
        }
        let fields = request.headerFields.map {
            Field(name: Field.Name($0.name.rawName), value: $0.value)
        }
        try self.init(
            method: HTTPMethod(request.method.rawValue), url: url,
            header: Header(fields), body: body)
    }
}

// Article: Adaptors.md
extension HTTPResponse {
    package init(_ head: ResponseHead) {
        self.init(status: Status(code: head.status.code))
        for field in head.header {
            if let name = HTTPField.Name(field.name.rawValue) {
                headerFields.append(HTTPField(name: name, value: field.value))
            }
        }
    }
}

// Article: Adaptors.md
package struct RequestsTransport: ClientTransport {
    let executor: any RequestExecutor

    package func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = request
        request.scheme = baseURL.scheme
        request.authority = baseURL.host.map { host in
            baseURL.port.map { "\(host):\($0)" } ?? host
        }
        request.path = baseURL.path() + (request.path ?? "")
        var prepared = try PreparedRequest(request, body: Self.body(body))
        prepared.delivery = .streamed
        let response = try await executor.execute(prepared)
        guard case .stream(let stream) = response.body else {
            return (HTTPResponse(response.head), nil)
        }
        let chunks = ResponseStream.Chunks(stream).map { ArraySlice($0) }
        let length = stream.length.map { HTTPBody.Length.known(Int64($0)) }
        return (
            HTTPResponse(response.head),
            HTTPBody(
                chunks, length: length ?? .unknown, iterationBehavior: .single)
        )
    }
}

// Article: Adaptors.md
extension RequestsTransport {
    static func body(_ body: HTTPBody?) -> RequestBody {
        guard let body else { return .none }
        var length: Int?
        if case .known(let count) = body.length { length = Int(count) }
        let isReplayable = body.iterationBehavior == .multiple
        return .stream(length: length, isReplayable: isReplayable) {
            BodySource(iterator: body.makeAsyncIterator())
        }
    }

    private struct BodySource: RequestBody.Source {
        var iterator: HTTPBody.AsyncIterator

        mutating func next() async throws -> Data? {
            try await iterator.next().map { Data($0) }
        }
    }
}
