/// The executor that middleware receives as `next` for one request: the remainder of the chain.
final class NextExecutor: RequestExecutor {
    /// The chain whose outermost middleware calls this executor.
    let chain: Intercepted
    private let received: PreparedRequest
    private let sent: SentRequest

    init(in chain: Intercepted, for received: PreparedRequest, recordingIn sent: SentRequest) {
        self.chain = chain
        self.received = received
        self.sent = sent
    }

    var traits: ExecutorTraits { chain.base.traits }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        // Middleware may have created a new request, which would not know that the call has left its origin.
        let request = received.hasLeftOrigin ? request.continuing(received) : request
        do throws(RequestError) {
            // One record for the whole chain, written at its last executor (decision 0066).
            if let base = chain.baseOfChain { return try await base.execute(request, recordingIn: sent) }
            var last = request
            last.isPartOfCall = sent.isPartOfCall
            let response = try await chain.base.sending(last)
            sent.record(response)
            return response
        } catch {
            throw error.adding(request: request)
        }
    }

    /// Whether a call waits for the response of the chain.
    fileprivate var isPartOfCall: Bool { sent.isPartOfCall }
}

/// The record that the stages of a chain share while it performs a request.
///
/// Only the last executor receives a request that is marked as part of a call: middleware can keep a request and
/// perform it later.
final class SentRequest: Sendable {
    private struct State {
        var isPartOfCall: Bool
        /// The last request that has been sent, for responses and errors that middleware creates itself.
        var request: PreparedRequest?
        var secretsOfExecutor: [Field] = []
    }

    private let state: Lock<State>

    init(isPartOfCall: Bool) {
        state = Lock(State(isPartOfCall: isPartOfCall))
    }

    /// Whether a call waits for the response of the chain.
    var isPartOfCall: Bool { state.withLock { $0.isPartOfCall } }

    func record(_ response: RawResponse) {
        state.withLock { state in
            state.request = response.request
            state.secretsOfExecutor = response.secretsOfExecutor
        }
    }

    /// Records that the chain has ended: middleware may keep `next` and call it later, outside the call.
    func end() {
        state.withLock { $0 = State(isPartOfCall: false) }
    }

    /// Returns `response` with its request: its own, or else the last one that was sent.
    ///
    /// A response from a cache has no request, even if the cache has sent a request to replace it.
    func named(_ response: consuming RawResponse) -> RawResponse {
        guard response.request == nil, response.metrics.cacheStatus?.isHit != true else { return response }
        let last = state.withLock { $0 }
        response.request = last.request
        response.secretsOfExecutor = last.secretsOfExecutor
        return response
    }

    /// Returns `error` with its request: its own, or else the last one that was sent.
    ///
    /// Middleware may throw an error about a response, and the response can repeat secrets that other middleware has
    /// added further in. They are redacted even if the error names the request that the middleware has received.
    func named(_ error: RequestError) -> RequestError {
        let last = state.withLock { $0 }
        guard let own = error.request else {
            return error.adding(request: last.request).adding(secretsOfExecutor: last.secretsOfExecutor)
        }
        let sent = (last.request?.secretFields ?? []) + last.secretsOfExecutor
        let added = sent.filter { !own.header.list.contains($0) && !error.secretsOfExecutor.contains($0) }
        return added.isEmpty ? error : error.adding(secretsOfExecutor: error.secretsOfExecutor + added)
    }
}

extension RequestExecutor {
    /// Whether this executor is the `next` of middleware, and a call waits for the response of its chain.
    ///
    /// The request that middleware receives does not contain this information.
    package var isPartOfCall: Bool { (self as? NextExecutor)?.isPartOfCall ?? false }

    /// Returns the limits for reading the body of `head`, the response of this executor to `request`, if the call will
    /// follow it as a redirect; nil if the body is needed.
    package func drain(of head: ResponseHead, to request: PreparedRequest) -> RedirectDrain? {
        var last = request
        last.isPartOfCall = isPartOfCall
        return last.drain(of: head)
    }

    /// Performs `request`, and adds it to a response or an error that does not name a request.
    ///
    /// A chain names the request itself, because its middleware may have changed it.
    func sending(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return naming(request, in: try await execute(request))
        } catch {
            throw error.adding(request: request)
        }
    }

    private func naming(_ request: PreparedRequest, in response: consuming RawResponse) -> RawResponse {
        if response.request == nil, !(self is Intercepted || self is NextExecutor) { response.request = request }
        return response
    }
}

extension PreparedRequest {
    /// The header fields whose values descriptions redact.
    fileprivate var secretFields: [Field] {
        let names = redirectPolicy.sensitiveFields
        return header.list.filter { Redaction.standard.isSecret($0.name) || names.contains($0.name) }
    }

    /// Returns this request, which middleware made from `original`, without new secrets if the call has left its
    /// origin.
    ///
    /// A request that the middleware has created for the same origin has no record of the redirects. It receives the
    /// record of `original` and loses its secrets, as if the middleware had changed `original` instead.
    fileprivate func continuing(_ original: PreparedRequest) -> PreparedRequest {
        guard !hasLeftOrigin, target.hasSameOrigin(as: original.target) else { return self }
        var (received, next) = (original.parts, parts)
        received.redirection = original.redirection?.permitting(redirection?.permitted ?? [])
        next.redirection = received.redirection
        next.header = received.removingNewSecrets(from: header)
        next.target = received.removingNewSecrets(from: target)
        if hasAttributes { next.settings.attributes = received.removingNewSecrets(from: attributes) }
        // Middleware further in must not add fields that this call treats as secret either.
        let names = received.settings.redirectPolicy.sensitiveFields
        if !names.isSubset(of: next.settings.redirectPolicy.sensitiveFields) {
            next.settings.redirectPolicy.sensitiveFields.formUnion(names)
        }
        var request = self
        request.parts = next
        return request
    }
}
