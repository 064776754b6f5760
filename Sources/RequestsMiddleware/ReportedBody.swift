@_spi(Lock) internal import Requests

/// The way in which a streamed body ended.
enum BodyEnd: Sendable {
    /// It was read to its end.
    case complete
    /// Reading it failed, or was cancelled.
    case failed(RequestError)
    /// It was released before its end.
    case released
}

extension RawResponse {
    /// Returns this response with a body that calls `report` once, when it ends; without a streamed body, `report` is
    /// called at once.
    func reportingEnd(to report: @escaping @Sendable (BodyEnd) -> Void) -> RawResponse {
        guard case .stream(let stream) = body else {
            report(.complete)
            return self
        }
        var response = self
        response.body = .stream(ResponseStream(length: stream.length, ReportedBody(stream, report)))
        return response
    }
}

/// A streamed body that reports its end.
private final class ReportedBody: ResponseBody.Source {
    private let stream: ResponseStream
    /// The function that receives the end; nil when it has been called.
    private let report: Lock<(@Sendable (BodyEnd) -> Void)?>

    init(_ stream: ResponseStream, _ report: @escaping @Sendable (BodyEnd) -> Void) {
        self.stream = stream
        self.report = Lock(report)
    }

    deinit { end(.released) }

    func next() async throws(RequestError) -> Data? {
        do throws(RequestError) {
            let chunk = try await stream.next()
            if chunk == nil { end(.complete) }
            return chunk
        } catch {
            end(.failed(error))
            throw error
        }
    }

    var trailers: Header { stream.trailers }

    var metrics: RawResponse.Metrics? { stream.metrics }

    private func end(_ end: BodyEnd) { report.withLock { $0.take() }?(end) }
}
