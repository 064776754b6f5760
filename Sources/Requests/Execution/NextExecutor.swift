/// The remainder of a chain, as middleware receives it with one request.
///
/// It keeps the request that was sent last, so that a response that the middleware creates itself names it too.
final class NextExecutor: RequestExecutor {
    let base: any RequestExecutor
    /// The request that the middleware received.
    private let original: PreparedRequest
    private let sent = Lock(Sent())

    private struct Sent {
        var request: PreparedRequest?
        var secretsOfExecutor: [Field] = []
    }

    init(_ base: any RequestExecutor, for original: PreparedRequest) {
        self.base = base
        self.original = original
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        // Few calls leave their origin.
        let request = original.hasLeftOrigin ? request.continuing(original) : request
        let response = try await base.sending(request)
        sent.withLock { sent in
            sent.request = response.request
            sent.secretsOfExecutor = response.secretsOfExecutor
        }
        return response
    }

    var traits: ExecutorTraits { base.traits }

    /// Returns the response of the middleware, with the request that was sent last if it names none.
    ///
    /// A response from a cache names none, even if the cache has sent a request to replace it.
    func completing(_ response: consuming RawResponse) -> RawResponse {
        guard response.request == nil, response.metrics.cacheStatus?.isHit != true else { return response }
        let sent = sent.withLock { $0 }
        response.request = sent.request
        response.secretsOfExecutor = sent.secretsOfExecutor
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
