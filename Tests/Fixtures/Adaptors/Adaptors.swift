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
                recorded.attributes[attribute.name] =
                    switch attribute.value {
                    case .integer(let number): .int64(Int64(number))
                    default: .string("\(attribute.value)")
                    }
            }
            if span.hasFailed { recorded.setStatus(SpanStatus(code: .error)) }
            recorded.end()
        }
    }
}

// Article: Adaptors.md
package struct FieldInjector: Injector {
    package func inject(_ value: String, forKey key: String, into all: inout Header) {
        all[Field.Name(key)] = value
    }
}

// Article: Adaptors.md
extension PreparedRequest {
    package init(_ request: HTTPRequest, at base: String? = nil) throws {
        let origin = "\(request.scheme ?? "https")://\(request.authority ?? "")"
        let fields = request.headerFields.map {
            Field(name: Field.Name($0.name.rawName), value: $0.value)
        }
        self.init(
            method: HTTPMethod(request.method.rawValue),
            target: try TargetURI((base ?? origin) + (request.path ?? "/")),
            header: Header(fields))
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
        var prepared = try PreparedRequest(request, at: baseURL.absoluteString)
        prepared.delivery = .streamed
        if let body {
            var length: Int?
            if case .known(let count) = body.length { length = Int(count) }
            let repeats = body.iterationBehavior == .multiple
            prepared.body = .stream(length: length, isReplayable: repeats) {
                body.map { Data($0) }
            }
        }
        let response = try await executor.execute(prepared)
        guard case .stream(let stream) = response.body else {
            return (HTTPResponse(response.head), nil)
        }
        let length = stream.length.map { HTTPBody.Length.known(Int64($0)) }
        let received = HTTPBody(
            ResponseStream.Chunks(stream).map { ArraySlice($0) },
            length: length ?? .unknown, iterationBehavior: .single)
        return (HTTPResponse(response.head), received)
    }
}
