@_spi(Lock) import Requests

extension ConnectionPool {
    func recordHTTP10(of origin: Origin) {
        state.withLock { $0.ledger.http10Peers.record(origin, at: .now) }
    }

    /// Returns whether `request` would be sent chunked to a peer that has responded with HTTP/1.0.
    func mustMeasure(_ request: PreparedRequest) -> Bool {
        // Nearly every request returns here.
        guard request.isChunked, !isInherited, let origin = try? origin(of: request) else { return false }
        return state.withLock { $0.ledger.http10Peers.contains(origin, at: .now) }
    }
}

extension PreparedRequest {
    /// Whether the request is sent chunked to a peer that supports chunks.
    fileprivate var isChunked: Bool {
        switch body {
        case .none: false
        case .stream(nil, _, _): true
        default: trailers != nil
        }
    }

    /// Returns this request with a body of known length, which is collected (RFC 9112 §6.1).
    ///
    /// - Throws: `RequestError` if the request has trailers, which can be sent only with chunks, or the body is longer
    ///   than 64 MiB.
    func measuredForHTTP10() async throws(RequestError) -> PreparedRequest {
        do throws(RequestError) {
            guard trailers == nil else {
                throw RequestError(
                    .invalidRequest(.trailersNotSupported), detail: "the server uses HTTP/1.0 (RFC 9112 §6.1)")
            }
            var copy = self
            copy.body = try await body.collected { try limit.check() }
            return copy
        } catch {
            throw error.beforeSending()
        }
    }
}
