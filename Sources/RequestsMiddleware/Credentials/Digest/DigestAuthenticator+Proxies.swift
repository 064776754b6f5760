@_spi(Lock) public import Requests

extension DigestAuthenticator: AuthenticationChallenge.ProxyAuthenticator {
    /// Returns the value of Proxy-Authorization for `request`; nil before the first challenge of its proxy.
    ///
    /// A body that is a file or a stream is not read for `auth-int`; a proxy that offers nothing else receives no
    /// credentials for such a request, and its 407 is final.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes.
    public func proxyCredentials(
        for request: AuthenticationChallenge.ProxyRequest
    ) throws(RequestError) -> (fieldValue: String?, token: Token) {
        try checkValues()
        let proxy = authenticator(for: request.proxy)
        let (state, use) = proxy.nextUse()
        guard let use else { return try proxy.credentials(withoutSessionIn: state) }
        let challenge = use.session.challenge
        guard challenge.canProtect(request) else {
            return (nil, Token(generation: use.session.generation, nonce: nil))
        }
        let quality = try proxy.quality(ofBody: request.body, challenge) ?? .authentication
        let message = DigestCredentials.Message(
            method: request.method.rawValue, target: request.target, quality: quality)
        let (value, token) = try proxy.credentials(for: message, use)
        return (value, token)
    }

    /// Meets the challenge of a proxy.
    ///
    /// - Returns: Whether there are new credentials: false for rejected ones, and if no challenge can be met.
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes.
    public func handleChallenge(
        in response: ResponseHead, to request: AuthenticationChallenge.ProxyRequest, token: Token
    ) throws(RequestError) -> Bool {
        let proxy = authenticator(for: request.proxy)
        let challenges = response.header.proxyChallenges
        let candidates = proxy.candidates(in: challenges).filter { $0.canProtect(request) }
        return try proxy.meet(challenges, candidates, after: token, wasRepeated: false)
    }

    /// Checks the response digest of Proxy-Authentication-Info, if there is one, and records the acceptance of
    /// credentials and the next nonce (RFC 7616 §3.5).
    ///
    /// A digest with `auth-int` is not checked, because it covers the body.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` and ``CredentialError/serverNotAuthenticated`` if it is
    ///   wrong.
    public func receive(
        fromProxy response: ResponseHead, for request: AuthenticationChallenge.ProxyRequest, token: Token
    ) throws(RequestError) {
        guard token.nonce != nil else { return }
        let proxy = authenticator(for: request.proxy)
        let info = response.header.parameters(ofInfo: "Proxy-Authentication-Info")
        if let info { try proxy.verify(info, ofBody: nil, token: token) }
        proxy.accept(info?.nextNonce, token: token)
    }

    /// Returns the authenticator for `proxy`, which has the same credentials but its own state.
    private func authenticator(for proxy: String) -> DigestAuthenticator {
        proxies.withLock { proxies in
            if let known = proxies[proxy] { return known }
            let new = DigestAuthenticator(
                username: username, password: password, allowing: fallbacks, prefersIntegrity: prefersIntegrity,
                hashes: hashes, makeClientNonce: makeClientNonce)
            proxies[proxy] = new
            return new
        }
    }
}

extension DigestChallenge {
    /// Returns whether `request` can have credentials for the challenge although its body may not be known.
    fileprivate func canProtect(_ request: AuthenticationChallenge.ProxyRequest) -> Bool {
        request.body != nil || offersAuthentication || !offersIntegrity
    }
}
