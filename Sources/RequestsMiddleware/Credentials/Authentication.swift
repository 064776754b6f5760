/// Middleware that adds the credentials of an authenticator, and sends rejected requests again; see
/// ``/Requests/RequestExecutor/authenticating(with:within:)``.
package struct Authentication<Credentials: Authenticator>: Middleware {
    package let authenticator: Credentials

    private let scope: CredentialScope
    /// The fields that the authenticator has ready; nil if it is not a ``ReadyAuthenticator``.
    private let ready: ReadyFields?

    /// The environment whose base URL a request must be at or below; its other properties are not used.
    package var environment: RequestEnvironment { scope.environment }

    /// Creates the middleware with `authenticator` for requests at or below the base URL of `environment`.
    package init(with authenticator: Credentials, within environment: RequestEnvironment) {
        self.authenticator = authenticator
        scope = CredentialScope(environment)
        // A cast, because a custom authenticator computes its fields for each request.
        ready = (authenticator as? any ReadyAuthenticator)?.ready
    }

    /// Performs `request` with `next`, with credentials if they apply.
    ///
    /// - Throws: The `RequestError` of `next` or of the authenticator.
    package func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard applies(to: request) else { return try await next.execute(request) }
        guard let ready = ready?.current else { return try await interceptUnready(request, next: next) }
        guard !request.header.containsAny(of: ready.fields) else { return try await next.execute(request) }
        let sent = request.authenticated(with: ready.fields)
        let response = try await next.execute(sent)
        guard response.head.status.isError else { return response }
        return try await finish(request, sent, with: ready, after: response, next)
    }

    /// Performs `request` with credentials for which the authenticator must be called.
    private func interceptUnready(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        // Without a suspension in most requests.
        let available = try available(for: request)
        let credentials = if let available { available } else { try await self.credentials(for: request) }
        guard !request.header.containsAny(of: credentials.fields) else { return try await next.execute(request) }
        let sent = request.authenticated(with: credentials.fields)
        let response = try await next.execute(sent)
        guard response.head.status.isError else {
            try receive(response, sent, credentials.token)
            return response
        }
        return try await finish(Exchange(request, sent, credentials.token, consume response), next)
    }
}

extension Authentication: AddsCredentials {
    /// Passes on all traits but ``/Requests/ExecutorTraits/streamsEncodedBodies``, and adds that credentials are added.
    package func traits(before next: ExecutorTraits) -> ExecutorTraits {
        next.subtracting(.streamsEncodedBodies).union(.addsCredentials)
    }

    /// Returns a text for the credentials that were replaced last, or “none” if the authenticator is suppressed.
    package func caller(of request: PreparedRequest) -> String {
        if SuppressedAuthentication.contains(authenticator) { return "none" }
        // A cast, because the credentials of most authenticators cannot be replaced.
        return (authenticator as? any ReplaceableCredentials)?.replacement ?? ""
    }
}

extension Authentication: CustomReflectable {
    /// The mirror that `dump` prints: the type of the authenticator, because its values may be secrets.
    package var customMirror: Mirror {
        Mirror(self, children: ["authenticator": "\(Credentials.self)", "environment": environment.description])
    }
}

// MARK: Applying credentials

extension Authentication {
    private func applies(to request: PreparedRequest) -> Bool {
        scope.contains(request) && !authenticator.hasCredentials(request)
            && !SuppressedAuthentication.contains(authenticator)
    }

    private func credentials(
        for request: PreparedRequest
    ) async throws(RequestError) -> (fields: Header, token: Credentials.Token) {
        do throws(RequestError) {
            return try await authenticator.credentials(for: request)
        } catch {
            throw error.adding(request: request)
        }
    }

    private func available(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Credentials.Token)? {
        do throws(RequestError) {
            return try authenticator.availableCredentials(for: request)
        } catch {
            throw error.adding(request: request)
        }
    }
}

// MARK: Handling rejections

extension Authentication {
    private struct Exchange {
        let request: PreparedRequest
        let sent: PreparedRequest
        let token: Credentials.Token
        /// The response, with all repetitions so far.
        private(set) var response: RawResponse
        /// Whether middleware behind the authenticator sent the request several times.
        let wasRepeated: Bool

        init(
            _ request: PreparedRequest, _ sent: PreparedRequest, _ token: Credentials.Token, _ response: RawResponse,
            after earlier: [RawResponse.Metrics.Retry] = []
        ) {
            self.request = request
            self.sent = sent
            self.token = token
            self.response = response
            // A request that a proxy has challenged did not reach the server.
            wasRepeated = response.metrics.retries.contains { $0.cause != .rejected(.proxyAuthenticationRequired) }
            if !earlier.isEmpty { self.response.metrics.retries.insert(contentsOf: earlier, at: 0) }
        }

        var hasCredentials: Bool { sent.header != request.header }

        /// Releases the body: a streamed body would keep its connection, and a permit.
        mutating func releaseBody() { response.body = .bytes(Data()) }
    }

    /// Passes a response to the authenticator, which may refuse it.
    private func receive(
        _ response: RawResponse, _ sent: PreparedRequest, _ token: Credentials.Token
    ) throws(RequestError) {
        do throws(RequestError) {
            try authenticator.verify(response, token: token)
        } catch {
            throw error.adding(response, to: sent)
        }
        authenticator.receive(response.head, token: token)
    }

    /// Handles `response` to `sent`, a request with fields that were ready.
    private func finish(
        _ request: PreparedRequest, _ sent: PreparedRequest, with ready: ReadyFields.Ready,
        after response: consuming RawResponse, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        // The cast always succeeds: the fields and the token belong to one authenticator.
        guard let token = (authenticator as? any ReadyAuthenticator)?.token(of: ready) as? Credentials.Token else {
            return response
        }
        return try await finish(Exchange(request, sent, token, response), next)
    }

    /// Handles the response of `exchange`, and sends the request again as often as the rules allow.
    private func finish(
        _ first: consuming Exchange, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        // Consumed, because the caller would otherwise keep the response during the next exchange.
        var exchange = first
        let before = exchange.request.attributes[EarlierRejections.self] ?? []
        var rules = RejectionRules(after: before, of: authenticator)
        while true {
            let status = exchange.response.head.status
            try receive(exchange.response, exchange.sent, exchange.token)
            guard status.isRejection,
                let rejection = rules.rejection(by: status, ofCredentials: exchange.hasCredentials)
            else { return exchange.response }
            let start = ContinuousClock.now
            guard let credentials = try await credentials(after: rejection, of: exchange) else {
                return exchange.response
            }
            await exchange.response.skipShortBody()
            exchange.releaseBody()
            var sent = exchange.request.authenticated(with: credentials.fields)
            var repetition = RawResponse.Metrics.Retry(
                cause: .rejected(status), delay: start.duration(to: .now))
            repetition.handler = (ObjectIdentifier(authenticator), exchange.hasCredentials)
            let earlier = exchange.response.metrics.retries + [repetition]
            // An authenticator behind this one continues with its rules where it has ended.
            sent.attributes[EarlierRejections.self] = before + earlier
            do throws(RequestError) {
                exchange = Exchange(
                    exchange.request, sent, credentials.token, try await next.execute(sent), after: earlier)
            } catch {
                throw error.adding(repetitions: earlier)
            }
        }
    }

    /// Returns the new credentials for a rejected request; nil to return its response.
    private func credentials(
        after rejection: RejectionRules.Rejection, of exchange: Exchange
    ) async throws(RequestError) -> (fields: Header, token: Credentials.Token)? {
        let request = exchange.request
        do throws(RequestError) {
            guard try await handle(rejection, exchange) else { return nil }
            let credentials = try await authenticator.credentials(for: request)
            guard !request.header.containsAny(of: credentials.fields) else { return nil }
            guard request.body.isReplayable else {
                throw RequestError(
                    .bodyNotReplayable, detail: "the server responded with \(exchange.response.head.status)")
            }
            return credentials
        } catch {
            throw error.adding(exchange.response, to: exchange.sent)
                .adding(repetitions: exchange.response.metrics.retries)
        }
    }

    private func handle(
        _ rejection: RejectionRules.Rejection, _ exchange: Exchange
    ) async throws(RequestError) -> Bool {
        let failure = AuthenticationFailure(
            request: exchange.sent.outsideOfCall, response: exchange.response.head, body: exchange.response.bytes,
            token: exchange.token, wasRepeated: exchange.wasRepeated)
        return switch rejection {
        case .unauthorized: try await authenticator.handleUnauthorized(failure)
        case .forbidden: try await authenticator.handleForbidden(failure)
        }
    }
}

/// The attribute that contains the repetitions of a request before its present exchange.
///
/// Authenticators behind the one that repeats the request read it.
private enum EarlierRejections: RequestAttributes.Key {
    typealias Value = [RawResponse.Metrics.Retry]
}

extension HTTPStatus {
    /// Whether the response may be rejected, or become an error that must hide the credentials.
    ///
    /// It is checked first, because nearly every response has another status.
    fileprivate var isError: Bool { code >= 400 }

    fileprivate var isRejection: Bool { code == 401 || code == 403 }
}

extension RawResponse {
    /// The body if it is in memory.
    var bytes: Data? {
        if case .bytes(let data) = body { data } else { nil }
    }
}
