@_spi(Lock) public import Requests
internal import RequestsPOSIX

extension DigestAuthenticator {
    /// Returns the credentials for `request`; none before the first challenge.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes.
    public func credentials(
        for request: PreparedRequest
    ) async throws(RequestError) -> (fields: Header, token: Token) {
        try checkValues()
        // Taken once: while a body is read, another challenge can replace the session.
        let (state, use) = nextUse()
        guard let use else { return try fields(withoutSessionIn: state) }
        let challenge = use.session.challenge
        let quality: DigestCredentials.Quality
        if let available = try self.quality(ofBody: request.body.inMemory, challenge) {
            quality = available
        } else {
            // Only a body that is a file or a stream has to be read first.
            let digest = try await request.bodyDigest(with: challenge.algorithm, hashes)
            quality = .integrity(bodyHash: HexadecimalText.of(digest))
        }
        let message = DigestCredentials.Message(
            method: request.method.rawValue, target: request.target.requestTarget, quality: quality)
        let (value, token) = try credentials(for: message, use)
        return ([Field(name: .authorization, value: value)], token)
    }

    /// Returns the credentials for `request` unless there is a session with the server, whose responses are verified.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` if the system has no library for hashes.
    public func availableCredentials(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Token)? {
        try checkValues()
        let state = state.withLock { $0 }
        // The credentials of a session identify a response to verify, which blocking calls leave to a task.
        if case .digest = state { return nil }
        return try fields(withoutSessionIn: state)
    }

    private func fields(withoutSessionIn state: State) throws(RequestError) -> (fields: Header, token: Token) {
        let (value, token) = try credentials(withoutSessionIn: state)
        return (value.map { [Field(name: .authorization, value: $0)] } ?? [], token)
    }

    /// Returns the field value of Basic credentials, or none before the first challenge.
    func credentials(withoutSessionIn state: State) throws(RequestError) -> (fieldValue: String?, token: Token) {
        if case .basic(let generation) = state {
            return (BasicCredentials.fieldValue(username, password), Token(generation: generation, nonce: ""))
        }
        // Without hashes no challenge can be met, which is better known before anything is sent.
        if !fallbacks.contains(.basic) {
            _ = try wrapping { () throws(HashError) in try hashes.checkAvailability() }
        }
        return (nil, Token(generation: 0, nonce: nil))
    }

    /// One use of the session, by one request.
    struct Use {
        let session: DigestSession
        let nonce: String
        let count: UInt32
    }

    /// Returns the present state, and its session with the next count of its nonce; nil without a session.
    func nextUse() -> (state: State, use: Use?) {
        state.withLock { state in
            guard case .digest(var session) = state else { return (state, nil) }
            let (nonce, count) = session.next()
            state = .digest(session)
            return (state, Use(session: session, nonce: nonce, count: count))
        }
    }

    /// Throws if the user name or the password cannot be sent.
    func checkValues() throws(RequestError) {
        if let problem = BasicCredentials.problem("", username + password) {
            throw RequestError(.invalidRequest(problem), detail: "Digest credentials").beforeSending()
        }
    }

    /// Returns the quality of protection for a request with `body`.
    ///
    /// The result is nil if it depends on the body, and `body` is nil because it must be read first.
    func quality(
        ofBody body: Data?, _ challenge: DigestChallenge
    ) throws(RequestError) -> DigestCredentials.Quality? {
        guard challenge.offersIntegrity, prefersIntegrity || !challenge.offersAuthentication else {
            return challenge.offersAuthentication ? .authentication : DigestCredentials.Quality.none
        }
        guard let body else { return nil }
        let digest = try wrapping { () throws(HashError) in try hashes.digest(of: body, with: challenge.algorithm) }
        return .integrity(bodyHash: HexadecimalText.of(digest))
    }

    /// Returns the field value of `message`, and the token that identifies it.
    func credentials(
        for message: DigestCredentials.Message, _ use: Use
    ) throws(RequestError) -> (fieldValue: String, token: Token) {
        let value = try wrapping { () throws(HashError) in
            try DigestCredentials.fieldValue(
                for: message, in: use.session, nonce: use.nonce, count: use.count, hashes)
        }
        let proof = DigestCredentials.Proof(
            session: use.session, target: message.target, nonce: use.nonce, count: use.count)
        return (value, Token(generation: use.session.generation, nonce: use.nonce, proof: proof))
    }

    private func wrapping<Value>(_ operation: () throws(HashError) -> Value) throws(RequestError) -> Value {
        do throws(HashError) {
            return try operation()
        } catch {
            throw RequestError(error)
        }
    }
}

extension HashProvider {
    /// Throws if the system has no library for hashes; an algorithm that a platform lacks is not an error.
    fileprivate func checkAvailability() throws(HashError) {
        do {
            _ = try digest(of: Data(), with: .sha256)
        } catch .unsupported {
            return
        }
    }
}

extension PreparedRequest {
    /// Returns the digest of the body, reading it once.
    ///
    /// - Throws: `RequestError` with `bodyNotReplayable` if the body can be read only once, or the error of its source.
    func bodyDigest(
        with algorithm: HashAlgorithm, _ hashes: any HashProvider
    ) async throws(RequestError) -> [UInt8] {
        guard body.isReplayable else {
            throw RequestError(.bodyNotReplayable, detail: "its hash is needed before it is sent").beforeSending()
        }
        do {
            let hash = try hashes.makeHash(with: algorithm)
            var source = try body.makeSource()
            while let chunk = try await source.next() {
                try checkTime()
                try hash.update(chunk)
            }
            return try hash.finish()
        } catch let error as HashError {
            throw RequestError(error)
        } catch {
            throw RequestError.wrapped(error, as: .bodyEncodingFailed).beforeSending()
        }
    }
}

extension RequestError {
    /// Returns `error` unchanged if it is a `RequestError`, and otherwise as the cause of `reason`.
    static func wrapped(_ error: any Error, as reason: Reason) -> RequestError {
        switch error {
        case let error as RequestError: error
        case is CancellationError: RequestError(.cancelled)
        default: RequestError(reason, underlying: error)
        }
    }
}
