@_spi(Lock) public import Requests

extension RefreshableAuthenticator: ReadyAuthenticator {
    /// Returns the fields of the present credentials, and waits for a refresh if there are none.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable`, `cancelled` or `timedOut`; nothing is sent.
    public func credentials(
        for request: PreparedRequest
    ) async throws(RequestError) -> (fields: Header, token: Token) {
        if renewal.isRefreshingHere { return ([], Token(value: nil)) }
        var hasWaited = false
        while true {
            switch stepBefore(hasWaited: hasWaited) {
            case .send(let credential, let token)?:
                return (try header(of: credential, token), Token(value: token))
            case .wait(let number)?:
                let outcome = try await outcomeBeforeSending(request, ofRefresh: number)
                // A request that was only held is sent with the old credentials if there are no new ones.
                if validity(of: credential) == .expired { try outcome.checkRenewal() }
                hasWaited = true
            case nil:
                throw RequestError(.credentialsUnavailable, underlying: CredentialError.refreshRefused).beforeSending()
            }
        }
    }

    /// Returns the fields of the present credentials, unless the request has to wait.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable`; nothing is sent.
    public func availableCredentials(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Token)? {
        // While a refresh is active nothing is ready, so this request is not part of one.
        if let ready = ready.current { return (ready.fields, token(of: ready)) }
        let version = ready.version
        guard !renewal.isRefreshingHere, case .send(let credential, let token)? = peekBefore() else {
            return nil
        }
        let fields = try header(of: credential, token)
        keep(fields, of: credential, token, version)
        return (fields, Token(value: token))
    }

    func token(of ready: ReadyFields.Ready) -> Token {
        Token(
            value: RefreshState<Credential>.Token(
                generation: ready.generation, endedRefreshes: ready.endedRefreshes))
    }

    /// Keeps the fields of valid credentials for the next requests, unless a refresh is active.
    private func keep(
        _ fields: Header, of credential: Credential, _ token: RefreshState<Credential>.Token, _ version: Int
    ) {
        // If this changes before the fields are kept, so does the version.
        guard !renewal.step(\.isRefreshing) else { return }
        let end = expiration.flatMap { $0(credential) }.map { $0.addingTimeInterval(-leeway) }
        ready.keep(
            ReadyFields.Ready(
                fields: fields, generation: token.generation, endedRefreshes: token.endedRefreshes, end: end),
            of: version)
    }

    /// Renews the credentials, unless they were replaced since the request was sent.
    ///
    /// - Returns: Whether there are new credentials.
    /// - Throws: `RequestError` with `credentialsUnavailable` if the refresh failed, `cancelled` or `timedOut`.
    public func handleUnauthorized(
        _ failure: AuthenticationFailure<Token>
    ) async throws(RequestError) -> Bool {
        // A request of the refresh itself would wait for its own end.
        guard let token = failure.token.value else { return false }
        switch renewal.step({ $0.stepAfter(rejectionOf: token) }) {
        case .sendAgain: return true
        case .use(let outcome): return try outcome.isRenewed()
        case .wait(let number):
            return try await renewal.outcome(ofRefresh: number, until: failure.request.limit).isRenewed()
        }
    }

    private func stepBefore(hasWaited: Bool) -> RefreshState<Credential>.StepBefore? {
        checked { state, validity in
            state.stepBefore(validity: validity, holds: holdsDuringRefresh, hasWaited: hasWaited)
        }
    }

    /// Returns what to do before a request; nil if that would begin a refresh for which the request must wait.
    private func peekBefore() -> RefreshState<Credential>.StepBefore? {
        checked { state, validity in
            if validity == .expired || state.isRefreshing && holdsDuringRefresh { return nil }
            return state.stepBefore(validity: validity, holds: holdsDuringRefresh, hasWaited: false)
        }
    }

    /// Performs a step with the validity of the credentials.
    private func checked<Step: Sendable>(
        _ body: (inout RefreshState<Credential>, RefreshState<Credential>.Validity) -> Step
    ) -> Step {
        guard expiration != nil else {
            return renewal.step { state in body(&state, state.credential == nil ? .expired : .valid) }
        }
        while true {
            // Determined outside the lock, because the function belongs to the app and may use this authenticator.
            let (credential, generation) = renewal.step { ($0.credential, $0.generation) }
            let validity = validity(of: credential)
            let step = renewal.step { $0.generation == generation ? body(&$0, validity) : nil }
            if let step { return step }
        }
    }

    private func validity(of credential: Credential?) -> RefreshState<Credential>.Validity {
        guard let credential else { return .expired }
        guard let expiration, let end = expiration(credential) else { return .valid }
        let remaining = end.timeIntervalSince(now())
        return remaining <= 0 ? .expired : remaining <= leeway ? .expiresSoon : .valid
    }

    private func header(
        of credential: Credential, _ token: RefreshState<Credential>.Token
    ) throws(RequestError) -> Header {
        if let cached = cache.withLock({ $0 }), cached.generation == token.generation { return cached.fields }
        do {
            let header = try fields(credential)
            cache.withLock { $0 = (token.generation, header) }
            return header
        } catch {
            throw RequestError.wrapped(error, as: .credentialsUnavailable).beforeSending()
        }
    }

    /// Returns the outcome of the refresh that `request` waits for before it is sent.
    private func outcomeBeforeSending(
        _ request: PreparedRequest, ofRefresh number: Int
    ) async throws(RequestError) -> RefreshState<Credential>.Outcome {
        do throws(RequestError) {
            return try await renewal.outcome(ofRefresh: number, until: request.limit)
        } catch {
            throw error.beforeSending()
        }
    }
}

extension RefreshState.Outcome {
    /// Returns whether there are new credentials.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` and the error of the refresh.
    fileprivate func isRenewed() throws(RequestError) -> Bool {
        switch self {
        case .renewed: return true
        case .refused: return false
        case .failed(let error):
            throw RequestError(.credentialsUnavailable, detail: "could not renew the credentials", underlying: error)
        }
    }

    /// Throws unless there are new credentials.
    func checkRenewal() throws(RequestError) {
        do throws(RequestError) {
            guard try isRenewed() else {
                throw RequestError(.credentialsUnavailable, underlying: CredentialError.refreshRefused)
            }
        } catch {
            throw error.beforeSending()
        }
    }
}
