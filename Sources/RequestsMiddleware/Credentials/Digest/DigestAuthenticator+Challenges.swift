@_spi(Lock) public import Requests
internal import RequestsPOSIX

extension DigestAuthenticator {
    /// Meets the challenge of a response with status 401.
    ///
    /// - Returns: Whether there are new credentials: false for rejected ones, and if no challenge can be met.
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes, or if the server
    ///   offers only alternatives that are not allowed (``CredentialError/fallbackNotAllowed(_:)``).
    public func handleUnauthorized(
        _ failure: AuthenticationFailure<Token>
    ) async throws(RequestError) -> Bool {
        let challenges = failure.response.header.challenges
        let candidates = candidates(in: challenges)
        if try meet(challenges, candidates, after: failure.token, wasRepeated: failure.wasRepeated) { return true }
        let refused = refusedFallbacks(in: challenges)
        // A 401 after credentials were sent rejects them; fallbacks that are not allowed are not its cause.
        guard failure.token.nonce == nil, candidates.isEmpty, !refused.isEmpty else { return false }
        throw RequestError(.credentialsUnavailable, underlying: CredentialError.fallbackNotAllowed(refused))
    }

    /// Returns the challenges that can be met, strongest first.
    func candidates(in challenges: [AuthenticationChallenge]) -> [DigestChallenge] {
        DigestChallenge.candidates(in: challenges, allowingMD5: fallbacks.contains(.md5))
    }

    /// Meets one of `candidates`, or a Basic challenge of `challenges`, after the rejection of a request.
    ///
    /// - Returns: Whether there are new credentials.
    func meet(
        _ challenges: [AuthenticationChallenge], _ candidates: [DigestChallenge], after token: Token, wasRepeated: Bool
    ) throws(RequestError) -> Bool {
        let step = Self.step(after: token, state.withLock { $0 }, candidates.first, wasRepeated: wasRepeated)
        switch step {
        case .sendAgain: return true
        case .fail: return false
        case .meet: break
        }
        var next = State.none
        if let session = try session(meeting: candidates, generation: token.generation + 1) {
            next = .digest(session)
        } else if allowsBasic(challenges) {
            next = .basic(generation: token.generation + 1)
        } else {
            return false
        }
        state.withLock { state in
            // Of parallel challenges the first one is met, and the other requests share its nonce.
            if state.generation == token.generation { state = next }
        }
        return true
    }

    /// Checks the response digest of Authentication-Info, if there is one (RFC 7616 §3.5).
    ///
    /// With `auth-int` it covers the body as the server sent it, so it is checked only if the body is in memory and no
    /// content coding was decoded.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` and ``CredentialError/serverNotAuthenticated`` if it is
    ///   wrong.
    public func verify(_ response: RawResponse, token: Token) throws(RequestError) {
        guard response.status != 401, let info = response.header.authenticationInfo else { return }
        let body = response.metrics.contentEncoding == nil ? response.bytes : nil
        try verify(info, ofBody: body, token: token)
    }

    /// Verifies the response digest in an Authentication-Info field; `body` is nil if the body as it was sent is
    /// unknown.
    func verify(_ info: FieldParameters, ofBody body: Data?, token: Token) throws(RequestError) {
        guard let proof = token.proof, let found = info["rspauth"] else { return }
        var protected: Data?
        if let quality = info["qop"], ASCIIFolding.areEqual(quality, "auth-int") {
            guard let body else { return }
            protected = body
        }
        let expected: String
        do throws(HashError) {
            expected = try proof.responseDigest(isProtected: info["qop"] != nil, body: protected, hashes)
        } catch {
            throw RequestError(error)
        }
        guard ASCIIFolding.areEqual(found, expected) else {
            throw RequestError(.credentialsUnavailable, underlying: CredentialError.serverNotAuthenticated)
        }
    }

    /// Records the acceptance of credentials, and the next nonce of an Authentication-Info field.
    public func receive(_ response: ResponseHead, token: Token) {
        guard token.nonce != nil, response.status != 401 else { return }
        accept(response.header.authenticationInfo?.nextNonce, token: token)
    }

    /// Records the acceptance of the credentials that `token` identifies, and the next nonce, if there is one.
    func accept(_ next: String?, token: Token) {
        state.withLock { state in
            guard case .digest(var session) = state, session.generation == token.generation else { return }
            if let next, session.nonce.hasSameBytes(as: token.nonce ?? "") {
                session.replaceNonce(by: next)
            } else if session.wasAccepted {
                return
            }
            session.wasAccepted = true
            state = .digest(session)
        }
    }

    /// Returns whether the server offers Basic, and it is allowed and possible with these credentials.
    private func allowsBasic(_ challenges: [AuthenticationChallenge]) -> Bool {
        guard fallbacks.contains(.basic), BasicCredentials.problem(username, password) == nil else { return false }
        return !challenges.filter { $0.usesScheme("Basic") }.isEmpty
    }

    /// Returns the fallbacks that would meet one of `challenges`, but are not allowed.
    private func refusedFallbacks(in challenges: [AuthenticationChallenge]) -> Fallbacks {
        var refused: Fallbacks = []
        if !DigestChallenge.candidates(in: challenges, allowingMD5: true).filter({ $0.algorithm == .md5 }).isEmpty {
            refused.insert(.md5)
        }
        if !challenges.filter({ $0.usesScheme("Basic") }).isEmpty { refused.insert(.basic) }
        return refused.subtracting(fallbacks)
    }

    /// The action after a 401.
    enum Step: Hashable {
        /// Send the request again, because the session has changed meanwhile.
        case sendAgain
        /// Return the response: the credentials are wrong.
        case fail
        case meet
    }

    /// Returns what to do after a 401 to a request whose credentials `token` identifies.
    ///
    /// If the request `wasRepeated`, each transmission had the same nonce count, which a server may accept only once.
    static func step(
        after token: Token, _ state: State, _ challenge: DigestChallenge?, wasRepeated: Bool
    ) -> Step {
        guard state.generation == token.generation else { return .sendAgain }
        guard let nonce = token.nonce else { return .meet }
        guard case .digest(let session) = state else { return challenge == nil ? .fail : .meet }
        if !session.nonce.hasSameBytes(as: nonce) { return .sendAgain }
        guard let challenge else { return .fail }
        if wasRepeated, challenge.nonce.hasSameBytes(as: nonce) { return .sendAgain }
        // Some servers do not mark a nonce that they have forgotten as stale, and another realm has other challenges.
        let isNew = session.wasAccepted || !challenge.realm.hasSameBytes(as: session.challenge.realm)
        return challenge.isStale || isNew || wasRepeated ? .meet : .fail
    }

    /// Returns the session of the strongest challenge whose hash is available; nil if there is none.
    private func session(
        meeting candidates: [DigestChallenge], generation: Int
    ) throws(RequestError) -> DigestSession? {
        for challenge in candidates {
            do throws(HashError) {
                return try DigestSession(
                    challenge, username: username, password: password, clientNonce: makeClientNonce(),
                    generation: generation, hashes: hashes)
            } catch {
                guard case .unsupported = error else { throw RequestError(error) }
            }
        }
        return nil
    }
}

extension DigestAuthenticator {
    /// Returns the value of an Authorization or Proxy-Authorization field that meets one of `challenges`, without using
    /// or changing the state of this authenticator.
    ///
    /// Use it for requests that are sent without `authenticating(with:)`, and without a proxy with this authenticator.
    ///
    /// - Parameters:
    ///   - challenges: The challenges of a response with status 401 or 407.
    ///   - method: The method of the next request, which can be CONNECT.
    ///   - target: The request target of that request.
    ///   - body: The body of that request, for `auth-int`.
    /// - Returns: The value; nil if no Digest challenge can be met.
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes.
    package func fieldValue(
        for challenges: [AuthenticationChallenge], method: HTTPMethod, target: String, body: Data = Data()
    ) throws(RequestError) -> String? {
        guard var session = try session(meeting: candidates(in: challenges), generation: 1) else { return nil }
        let challenge = session.challenge
        do throws(HashError) {
            var quality = challenge.offersAuthentication ? DigestCredentials.Quality.authentication : .none
            if challenge.offersIntegrity, prefersIntegrity || !challenge.offersAuthentication {
                let digest = try hashes.digest(of: body, with: challenge.algorithm)
                quality = .integrity(bodyHash: HexadecimalText.of(digest))
            }
            let message = DigestCredentials.Message(method: method.rawValue, target: target, quality: quality)
            let (nonce, count) = session.next()
            return try DigestCredentials.fieldValue(for: message, in: session, nonce: nonce, count: count, hashes)
        } catch {
            throw RequestError(error)
        }
    }
}

extension Header {
    /// The parameters of the Authentication-Info field (RFC 7616 §3.5); nil if there is none.
    fileprivate var authenticationInfo: FieldParameters? { parameters(ofInfo: "Authentication-Info") }

    /// Returns the parameters of an Authentication-Info or Proxy-Authentication-Info field; nil if there is none.
    func parameters(ofInfo name: Field.Name) -> FieldParameters? {
        guard let info = self[name] else { return nil }
        // The field has the parameters of a challenge without its scheme (RFC 7615 §3).
        return AuthenticationChallenge.challenges(in: "Digest \(info)").first?.parameters
    }
}

extension FieldParameters {
    /// The next nonce from an Authentication-Info field; nil if there is none.
    var nextNonce: String? {
        self["nextnonce"].flatMap { Token.isFieldValue($0) ? $0 : nil }
    }
}
