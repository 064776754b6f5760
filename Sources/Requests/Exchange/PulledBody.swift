/// A body that is pulled from a source, by one caller at a time.
///
/// It lets go of the source at the end and after an error, and with the last reference to itself before that.
package final class PulledBody: ResponseBodySource {
    private struct State: ~Copyable, Sendable {
        /// Nil while a call has it, and ever after the outcome.
        var source: (any PulledSource & ~Copyable)?
        /// The trailers, or what ended the body early; nil before.
        var outcome: Result<Header, RequestError>?
    }

    private let state: Lock<State>
    private let request: PreparedRequest
    private let head: ResponseHead

    /// The body of a response; its errors know `request` and `head`.
    package init(_ source: consuming any PulledSource & ~Copyable, _ request: PreparedRequest, _ head: ResponseHead) {
        state = Lock(State(source: source))
        self.request = request
        self.head = head
    }

    package func next() async throws(RequestError) -> Data? {
        guard var source = state.withLock({ $0.source.take() }) else { return try outcome() }
        do throws(RequestError) {
            let piece = try await source.next()
            put(source)
            return piece
        } catch {
            throw fail(error)
        }
    }

    /// What a call gets that finds no source.
    private func outcome() throws(RequestError) -> Data? {
        switch state.withLock({ $0.outcome }) {
        case .success: return nil
        case .failure(let error): throw error
        case nil:
            throw RequestError(
                .other, detail: "two calls read one body at the same time", request: request, response: head)
        }
    }

    /// Gives the source back, or lets go of it when there is nothing more to pull.
    private func put(_ source: consuming any PulledSource & ~Copyable) {
        if let trailers = source.trailers {
            state.withLock { $0.outcome = .success(trailers) }
        } else {
            var source = Optional(source)
            state.withLock { $0.source = source.take() }
        }
    }

    private func fail(_ error: RequestError) -> RequestError {
        let error = error.adding(request: request, response: head)
        state.withLock { $0.outcome = .failure(error) }
        return error
    }

    package var trailers: Header {
        state.withLock { state in
            if case .success(let trailers) = state.outcome { trailers } else { .empty }
        }
    }
}

/// What a ``PulledBody`` is pulled from; to drop it is to close what it holds.
package protocol PulledSource: ~Copyable, Sendable {
    /// The next bytes, never empty; nil at the end.
    mutating func next() async throws(RequestError) -> Data?

    /// The fields after the body, once there is nothing more to pull; nil before.
    var trailers: Header? { get }
}
