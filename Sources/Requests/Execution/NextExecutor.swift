/// The remainder of a chain, as middleware receives it with one request.
final class NextExecutor: RequestExecutor {
    /// The chain whose middleware receives this executor.
    let chain: Intercepted
    /// The request that the middleware received.
    private let received: PreparedRequest
    private let sent: SentRequest

    init(in chain: Intercepted, for received: PreparedRequest, recordingIn sent: SentRequest) {
        self.chain = chain
        self.received = received
        self.sent = sent
    }

    var traits: ExecutorTraits { chain.base.traits }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        // Few calls leave their origin.
        let request = received.hasLeftOrigin ? request.continuing(received) : request
        do throws(RequestError) {
            // All middleware of a call records the request in one place.
            if let base = chain.baseOfChain { return try await base.execute(request, recordingIn: sent) }
            let response = try await chain.base.sending(request)
            sent.record(response)
            return response
        } catch {
            throw error.adding(request: request)
        }
    }
}

/// The request that a call through a chain has sent last, for a response that middleware creates itself.
final class SentRequest: Sendable {
    private let last = Lock(Last())

    private struct Last {
        var request: PreparedRequest?
        var secretsOfExecutor: [Field] = []
    }

    func record(_ response: RawResponse) {
        last.withLock { $0 = Last(request: response.request, secretsOfExecutor: response.secretsOfExecutor) }
    }

    /// Returns `response`, with the request that was sent last if it names none.
    ///
    /// A response from a cache names none, even if the cache has sent a request to replace it.
    func named(_ response: consuming RawResponse) -> RawResponse {
        guard response.request == nil, response.metrics.cacheStatus?.isHit != true else { return response }
        let last = last.withLock { $0 }
        response.request = last.request
        response.secretsOfExecutor = last.secretsOfExecutor
        return response
    }
}

extension RequestExecutor {
    /// Performs `request`, and names it in the response and in an error if this executor is the last one of a chain and
    /// does not.
    func sending(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            var response = try await execute(request)
            if response.request == nil, !(self is Intercepted || self is NextExecutor) { response.request = request }
            return response
        } catch {
            throw error.adding(request: request)
        }
    }
}

extension PreparedRequest {
    /// Returns this request as middleware passes it on that has received `original`, whose call has left its origin.
    ///
    /// A new request for the same origin has no record of the redirects. It receives the record of `original` and loses
    /// its secrets, as if `original` had been changed.
    fileprivate func continuing(_ original: PreparedRequest) -> PreparedRequest {
        guard !hasLeftOrigin, target.hasSameOrigin(as: original.target) else { return self }
        var (received, next) = (original.parts, parts)
        received.redirection = original.redirection?.permitting(redirection?.permitted ?? [])
        next.redirection = received.redirection
        next.header = received.removingNewSecrets(from: header)
        next.target = received.removingNewSecrets(from: target)
        if hasAttributes { next.settings.attributes = received.removingNewSecrets(from: attributes) }
        // The names of the call's own secrets; later middleware must not add them either.
        let names = received.settings.redirectPolicy.sensitiveFields
        if !names.isSubset(of: next.settings.redirectPolicy.sensitiveFields) {
            next.settings.redirectPolicy.sensitiveFields.formUnion(names)
        }
        var request = self
        request.parts = next
        return request
    }
}
