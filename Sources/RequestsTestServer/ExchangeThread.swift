import RequestsHTTP1

/// A thread that performs exchanges, in any version of HTTP.
protocol ExchangeThread {
    /// Runs `operation` as a task on this thread only, which is cancelled when its result is no longer needed.
    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value
}

extension ExchangeThread {
    /// Returns the response of `executor`.
    ///
    /// - Throws: `closed` for an error of a connection, and a refusal for another one.
    func response(
        of executor: any RequestExecutor, to request: PreparedRequest
    ) throws(ConnectionEnd) -> RawResponse {
        do throws(RequestError) {
            return try run { () async throws(RequestError) in try await executor.execute(request) }
        } catch {
            switch error.reason {
            case .invalidRequest: throw .refused(400, error.description)
            // An error of a connection ends this connection too.
            case .hostNotFound, .connectionFailed, .proxyRefused, .tlsUnavailable, .certificateRefused, .tlsFailed,
                .connectionLost, .protocolViolation, .timedOut, .cancelled:
                throw .closed
            default: break
            }
            if let refusal = error.underlying as? any ServedRefusal {
                let delay = refusal.retryDelay.map { Field(name: .retryAfter, value: String($0.wholeSeconds)) }
                throw .refused(refusal.servedStatus, error.description, [delay].compactMap(\.self))
            }
            // Such as a miss of a mock, which no retry should repeat.
            throw .refused(error.isPermanent ? 501 : 500, error.description)
        }
    }

    /// Returns the next bytes of a streamed body, or nil at its end.
    func next(of stream: ResponseStream) throws(ConnectionEnd) -> Data? {
        do throws(RequestError) {
            return try run { () async throws(RequestError) in try await stream.next() }
        } catch {
            throw .closed
        }
    }
}

/// The body of a response as a connection sends it.
enum ServedBody {
    case whole(Data)
    case streamed(ResponseStream)

    init(_ body: ResponseBody) throws(ConnectionEnd) {
        switch body {
        case .bytes(let data): self = .whole(data)
        case .file(let path):
            guard let data = try? Data(contentsOf: URL(filePath: path)) else { throw .closed }
            self = .whole(data)
        case .stream(let stream): self = stream.contents.map { .whole($0) } ?? .streamed(stream)
        }
    }
}

extension Duration {
    /// The seconds, rounded up so that a repetition is not early; at least 1.
    fileprivate var wholeSeconds: Int64 {
        let (seconds, fraction) = components
        return max(1, seconds < .max && fraction > 0 ? seconds + 1 : seconds)
    }
}
