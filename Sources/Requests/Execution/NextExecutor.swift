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

    /// Returns ``PreparedRequest/drain(of:)`` as the last executor of the chain applies it to `request`.
    fileprivate func drain(of head: ResponseHead, to request: PreparedRequest) -> RedirectDrain? {
        var last = request
        last.isPartOfCall = sent.isPartOfCall
        return last.drain(of: head)
    }
}

/// The record that the stages of a chain share while it performs a request.
///
/// Only the last executor receives a request that is marked as part of a call: middleware can keep a request and
/// perform it later.
final class SentRequest: Sendable {
    /// Whether a call uses the chain.
    let isPartOfCall: Bool

    /// The last request that has been sent, for responses that middleware creates itself.
    private let last = Lock(Last())

    init(isPartOfCall: Bool) {
        self.isPartOfCall = isPartOfCall
    }

    private struct Last {
        var request: PreparedRequest?
        var secretsOfExecutor: [Field] = []
    }

    func record(_ response: RawResponse) {
        last.withLock { $0 = Last(request: response.request, secretsOfExecutor: response.secretsOfExecutor) }
    }

    /// Returns `response` with its request: its own, or else the last one that was sent.
    ///
    /// A response from a cache has no request, even if the cache has sent a request to replace it.
    func named(_ response: consuming RawResponse) -> RawResponse {
        guard response.request == nil, response.metrics.cacheStatus?.isHit != true else { return response }
        let last = last.withLock { $0 }
        response.request = last.request
        response.secretsOfExecutor = last.secretsOfExecutor
        return response
    }
}

extension RequestExecutor {
    /// Returns the limits for reading the body of `head`, the response of this executor to `request`, if the call will
    /// follow it as a redirect; nil if the body is needed.
    package func drain(of head: ResponseHead, to request: PreparedRequest) -> RedirectDrain? {
        // Only `next` knows of the call: the requests that middleware receives are not marked.
        (self as? NextExecutor)?.drain(of: head, to: request)
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
