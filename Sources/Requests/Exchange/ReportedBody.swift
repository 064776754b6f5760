/// The end of a streamed body.
package enum BodyEnd: Sendable {
    /// The body was read to its end.
    case complete
    /// Reading the body failed, or was cancelled.
    case failed(RequestError)
    /// The body was released before its end.
    case released
}

/// A value that receives a streamed body while its caller reads it.
package protocol BodyObserver: Sendable {
    /// Receives the next bytes, before the caller does.
    mutating func receive(_ chunk: Data)

    /// Performs work that needs the whole body, such as storing it. The caller receives the end of the body only
    /// afterwards.
    func complete() async

    /// Receives the end of the body, once; for a complete body, after ``complete()``.
    func end(_ end: BodyEnd)
}

extension BodyObserver {
    package func receive(_ chunk: Data) {}
    package func complete() async {}
    package func end(_ end: BodyEnd) {}
}

extension RawResponse {
    /// Returns this response to `request` with `observer` for its streamed body.
    ///
    /// A response without a streamed body is returned unchanged.
    package func observed(by observer: some BodyObserver, to request: PreparedRequest) -> RawResponse {
        guard case .stream(let stream) = body else { return self }
        var response = self
        let source = ReportedBody(stream, observer)
        response.body = .stream(
            ResponseStream(length: stream.length, PulledBody(source, self.request ?? request, head)))
        return response
    }

    /// Returns this response to `request`, and calls `report` once when its body ends.
    ///
    /// Without a streamed body, `report` is called at once.
    package func reportingEnd(
        to request: PreparedRequest, _ report: @escaping @Sendable (BodyEnd) -> Void
    ) -> RawResponse {
        guard case .stream = body else {
            report(.complete)
            return self
        }
        return observed(by: EndReport(report: report), to: request)
    }
}

private struct EndReport: BodyObserver {
    let report: @Sendable (BodyEnd) -> Void

    func end(_ end: BodyEnd) { report(end) }
}

/// A streamed body with an observer.
private struct ReportedBody: PulledSource, ~Copyable {
    private let stream: ResponseStream
    private var observer: any BodyObserver
    private var hasEnded = false
    private(set) var trailers: Header?

    init(_ stream: ResponseStream, _ observer: any BodyObserver) {
        self.stream = stream
        self.observer = observer
    }

    deinit { if !hasEnded { observer.end(.released) } }

    var metrics: RawResponse.Metrics? { stream.metrics }

    mutating func next() async throws(RequestError) -> Data? {
        do throws(RequestError) {
            if let chunk = try await stream.next() {
                observer.receive(chunk)
                return chunk
            }
        } catch {
            end(.failed(error))
            throw error
        }
        await observer.complete()
        trailers = stream.trailers
        end(.complete)
        return nil
    }

    private mutating func end(_ end: BodyEnd) {
        hasEnded = true
        observer.end(end)
    }
}
