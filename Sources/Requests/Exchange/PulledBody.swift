/// A response body that reads from a source, for one caller at a time.
///
/// It releases the source at the end, after an error, or with the last reference to the body.
package final class PulledBody: ResponseBody.Source {
    private struct State: ~Copyable, Sendable {
        /// The source; nil while a call uses it, and after the body has ended.
        var source: (any PulledSource & ~Copyable)?
        /// The trailers and the metrics, or the error that ended the body early; nil until the body has ended.
        var outcome: Result<(Header, RawResponse.Metrics?), RequestError>?
        /// The request, for errors; nil at the end, because its body may be large.
        var request: PreparedRequest?
    }

    private let state: Lock<State>
    private let head: ResponseHead

    /// Creates the body of a response; its errors include `request` and `head`.
    // Generic: the optimizer of Swift 6.3 copies an argument of type `any PulledSource & ~Copyable`, which traps.
    package init(_ source: consuming some PulledSource & ~Copyable, _ request: PreparedRequest, _ head: ResponseHead) {
        state = Lock(State(source: source, request: request))
        self.head = head
    }

    package func next() async throws(RequestError) -> Data? {
        guard var source = state.withLock({ $0.source.take() }) else { return try outcome() }
        do throws(RequestError) {
            let chunk = try await source.next()
            putBack(source)
            return chunk
        } catch {
            throw fail(error)
        }
    }

    /// Returns the result of a call when there is no source: nil at the end, or the error.
    private func outcome() throws(RequestError) -> Data? {
        switch state.withLock({ $0.outcome }) {
        case .success: return nil
        case .failure(let error): throw error
        case nil:
            throw RequestError(
                .other, detail: "concurrent reads of one response body", request: state.withLock { $0.request },
                response: head)
        }
    }

    /// Makes the source available to the next call, or releases it when the body has ended.
    private func putBack(_ source: consuming any PulledSource & ~Copyable) {
        if let trailers = source.trailers {
            let metrics = source.metrics
            state.withLock { state in
                state.outcome = .success((trailers, metrics))
                state.request = nil
            }
        } else {
            // A closure cannot consume a captured value that is not copyable, but it can take it out of an optional.
            var source = Optional(source)
            state.withLock { $0.source = source.take() }
        }
    }

    private func fail(_ error: RequestError) -> RequestError {
        state.withLock { state in
            let error = state.request.map { error.adding(request: $0, response: head) } ?? error
            state.outcome = .failure(error)
            return error
        }
    }

    package var trailers: Header {
        state.withLock { state in
            if case .success((let trailers, _)) = state.outcome { trailers } else { .empty }
        }
    }

    package var metrics: RawResponse.Metrics? {
        state.withLock { state in
            if case .success((_, let metrics)) = state.outcome { metrics } else { nil }
        }
    }
}

/// A source of a ``PulledBody``; releasing it closes its resources.
package protocol PulledSource: ~Copyable, Sendable {
    /// Returns the next bytes, never empty, or nil at the end.
    mutating func next() async throws(RequestError) -> Data?

    /// The trailer fields when the body has ended; nil before.
    var trailers: Header? { get }

    /// The measurements of the exchange when the body has ended; nil if there are none.
    var metrics: RawResponse.Metrics? { get }
}

extension PulledSource where Self: ~Copyable {
    /// No measurements.
    package var metrics: RawResponse.Metrics? { nil }
}
