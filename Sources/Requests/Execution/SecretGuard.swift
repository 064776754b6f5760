/// The next executor of middleware that has received a request whose call has left its origin.
///
/// It removes the secrets of new requests that the middleware creates (decision 0020).
struct SecretGuard<Base: RequestExecutor>: RequestExecutor {
    let base: Base
    /// The request that the middleware received.
    let original: PreparedRequest

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await base.execute(request.continuing(original))
    }

    var traits: ExecutorTraits { base.traits.subtracting(.blocks) }
}

extension SecretGuard: RepeatsExchanges {
    /// The function of the guarded executor.
    var repetition: Repetition? { (base as? any RepeatsExchanges)?.repetition }
}

extension RequestExecutor {
    /// Returns this executor, which removes the secrets that middleware adds to a request that it creates itself
    /// instead of changing `original`.
    func guardingSecrets(of original: PreparedRequest) -> any RequestExecutor {
        SecretGuard(base: self, original: original)
    }
}

extension PreparedRequest {
    /// Returns this request as middleware passes it on that has received `original`, whose call has left its origin.
    ///
    /// A new request for the origin of `original` has no record of the redirects, so it receives that of `original` and
    /// loses its secrets, as if `original` had been changed.
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
