extension OAuthServer {
    /// Returns a request for tokens with the name and password of a user (RFC 6749 §4.3).
    ///
    /// Use it only for servers that offer nothing else: the app sees the password.
    public func password(
        username: String, password: String, scope: String? = nil
    ) -> Request<OAuthServer, OAuthCredential> {
        token(grantType: "password", parameters: ["username": username, "password": password], scope: scope)
    }

    /// Returns a request for tokens of the app itself (RFC 6749 §4.4).
    public func clientCredentials(scope: String? = nil) -> Request<OAuthServer, OAuthCredential> {
        token(grantType: "client_credentials", parameters: [:], scope: scope)
    }

    /// Returns a request for a new access token (RFC 6749 §6).
    ///
    /// The new credential keeps the refresh token of `credential` if the response has none, and its ID token and scope.
    /// Without a refresh token, preparing the request throws ``Failure/signInRequired``.
    ///
    /// - Parameters:
    ///   - credential: The credential to renew.
    ///   - scope: A part of the granted scope; nil for all of it.
    /// - Returns: The request.
    public func refresh(_ credential: OAuthCredential, scope: String? = nil) -> Request<OAuthServer, OAuthCredential> {
        guard let refreshToken = credential.refreshToken, !refreshToken.isEmpty else {
            return failing(.signInRequired)
        }
        return token(
            grantType: "refresh_token", parameters: ["refresh_token": refreshToken], scope: scope, renewing: credential)
    }

    /// Returns a request for tokens after the user has signed in (RFC 6749 §4.1.3, RFC 7636 §4.5).
    ///
    /// If the redirect is not a successful response to `authorization`, preparing the request throws the reason.
    ///
    /// - Parameters:
    ///   - authorization: The authorization request that the user was sent to.
    ///   - redirect: The URL that the user was redirected to.
    /// - Returns: The request.
    public func authorizationCode(
        of authorization: Authorization, redirectedTo redirect: URL
    ) -> Request<OAuthServer, OAuthCredential> {
        do throws(Failure) {
            return token(
                grantType: "authorization_code",
                parameters: [
                    "code": try authorization.code(from: redirect), "redirect_uri": authorization.redirectURI,
                    "code_verifier": authorization.verifier,
                ])
        } catch {
            return failing(error)
        }
    }

    /// Returns a request for tokens with a signed assertion (RFC 7523 §2.1).
    public func jwtBearer(_ assertion: Assertion, scope: String? = nil) -> Request<OAuthServer, OAuthCredential> {
        do throws(RequestError) {
            let token = try self.token(of: assertion)
            return self.token(
                grantType: "urn:ietf:params:oauth:grant-type:jwt-bearer", parameters: ["assertion": token],
                scope: scope)
        } catch {
            return failing(error)
        }
    }

    /// Returns a request for a device code, with which the user signs in on another device (RFC 8628 §3.1).
    public func deviceAuthorization(scope: String? = nil) -> Request<OAuthServer, DeviceAuthorization> {
        guard let deviceAuthorizationEndpoint else {
            return failing(.invalidParameter("device authorization endpoint"))
        }
        return request(at: deviceAuthorizationEndpoint, [("scope", scope)]) { [clock] response throws(RequestError) in
            try DeviceAuthorization(response, receivedAt: clock.date())
        }
    }

    /// Returns a request for the tokens of a device.
    ///
    /// The server refuses it with ``ErrorCode/authorizationPending`` until the user has signed in (RFC 8628 §3.4).
    ///
    /// `Client.credential(for:)` sends it as often as the server allows.
    public func deviceCode(of device: DeviceAuthorization) -> Request<OAuthServer, OAuthCredential> {
        token(
            grantType: "urn:ietf:params:oauth:grant-type:device_code", parameters: ["device_code": device.deviceCode])
    }

    /// Returns a request for tokens with any grant, such as token exchange (RFC 8693).
    ///
    /// - Parameters:
    ///   - grantType: The value of `grant_type`.
    ///   - parameters: Further parameters, whose values are treated as secrets; those without a value are left out. An
    ///     invalid `code_verifier` is an error (RFC 7636 §4.1).
    ///   - scope: The scope, separated by spaces; nil for the server's default.
    /// - Returns: The request.
    public func token(
        grantType: String, parameters: QueryItems, scope: String? = nil
    ) -> Request<OAuthServer, OAuthCredential> {
        token(grantType: grantType, parameters: parameters, scope: scope, renewing: nil)
    }

    /// Returns whether `text` is a code verifier: 43 to 128 unreserved characters (RFC 7636 §4.1).
    private static func isVerifier(_ text: String) -> Bool {
        43...128 ~= text.utf8.count
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
                }
            }
    }

    private func token(
        grantType: String, parameters: QueryItems, scope: String?, renewing old: OAuthCredential?
    ) -> Request<OAuthServer, OAuthCredential> {
        for item in parameters where item.name.hasSameBytes(as: "code_verifier") {
            guard Self.isVerifier(item.value ?? "") else { return failing(.invalidParameter("code verifier")) }
        }
        let items = [("grant_type", grantType)] + parameters.map { ($0.name, $0.value) } + [("scope", scope)]
        return request(at: tokenEndpoint, items) { [clock] response throws(RequestError) in
            try OAuthCredential(response, renewing: old, receivedAt: clock.date())
        }
    }
}

extension OAuthServer {
    /// The names of parameters whose values are not secrets.
    private static let publicNames: Set<String> = [
        "grant_type", "scope", "client_id", "redirect_uri", "client_assertion_type", "username", "resource", "audience",
    ]

    /// Returns a request that sends `items`, and the identity of the app, to `endpoint`.
    private func request<Resource>(
        at endpoint: URL, _ items: [(name: String, value: String?)],
        _ decode: @escaping @Sendable (OAuthResponse) throws(RequestError) -> Resource
    ) -> Request<OAuthServer, Resource> {
        do throws(RequestError) {
            try Self.check(endpoint)
            guard OAuthText.isIdentifier(client.id) else { throw RequestError(Failure.invalidParameter("client ID")) }
            let items = items + (try clientItems())
            let form = items.compactMap { item in item.value.map { QueryItems.Item(name: item.name, value: $0) } }
            let secrets =
                form.filter { !Self.publicNames.contains($0.name) }.compactMap(\.value).flatMap {
                    [$0, Self.formEncoded($0)]
                } + basicSecrets
            // An absolute reference replaces the token endpoint.
            let request = Request(
                api: self, endpoint: .reference(endpoint.absoluteString),
                responseDecoder: ResponseDecoder(accepting: [.json], limit: OAuthResponse.limit) { head, body in
                    try decode(try OAuthResponse(head, body, secrets: secrets))
                }, method: .post)
            return request.sending(.form(QueryItems(form))).authenticated(with: clientAuthentication)
                // The decoder reads the response of a refusal too, which has an error status.
                .validating(.none).with(redirectPolicy: .none).with(timeouts: Timeouts(total: .seconds(60)))
                .setting(attribute: SecretBodies.self, to: secrets)
        } catch {
            return failing(error)
        }
    }

    /// Throws unless requests to `endpoint` are encrypted or stay on this machine.
    static func check(_ endpoint: URL) throws(RequestError) {
        guard let target = try? TargetURI(endpoint.absoluteString), !target.host.isEmpty else {
            throw RequestError(Failure.invalidParameter("endpoint; it is not the URL of a server"))
        }
        let isLocal =
            target.host.hasSameBytes(as: "localhost") || target.host.hasSameBytes(as: "[::1]")
            || target.host.hasBytePrefix("127.") && target.host.utf8.allSatisfy { $0 == 0x2E || 0x30...0x39 ~= $0 }
        guard target.scheme.hasSameBytes(as: "https") || isLocal else {
            throw RequestError(Failure.invalidParameter("endpoint; it needs https"))
        }
    }

    /// Returns the identity of the app in the body.
    private func clientItems() throws(RequestError) -> [(name: String, value: String?)] {
        switch client.proof {
        case .none: [("client_id", client.id)]
        case .basic: []
        case .body(let secret): [("client_id", client.id), ("client_secret", secret)]
        case .assertion(let assertion):
            [
                ("client_id", client.id),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", try token(of: assertion)),
            ]
        }
    }

    /// The identity of the app in the header.
    private var clientAuthentication: AuthenticationProvider {
        guard case .basic(let secret) = client.proof else { return .none }
        return .basicAuth(username: Self.formEncoded(client.id), password: Self.formEncoded(secret))
    }

    /// The secrets in the header, in the forms in which a server could repeat them.
    private var basicSecrets: [String] {
        guard case .basic(let secret) = client.proof else { return [] }
        let credentials = "\(Self.formEncoded(client.id)):\(Self.formEncoded(secret))"
        return [secret, Self.formEncoded(secret), Data(credentials.utf8).base64EncodedString()]
    }

    /// Returns a value encoded as in a form, in which a space is a plus sign (RFC 6749, appendix B).
    static func formEncoded(_ text: String) -> String {
        text.splitBytes(at: " ", omittingEmptySubsequences: false).map { PercentEncoding.strict.encode($0) }
            .joined(separator: "+")
    }

    private func token(of assertion: Assertion) throws(RequestError) -> String {
        try assertion.token(at: clock.date(), id: Base64URL.encode(randomBytes(16)))
    }

    /// Returns a request whose preparation throws `failure`.
    private func failing<Resource>(_ failure: Failure) -> Request<OAuthServer, Resource> {
        failing(RequestError(failure))
    }

    private func failing<Resource>(_ error: RequestError) -> Request<OAuthServer, Resource> {
        Request(
            api: self, endpoint: .empty, responseDecoder: ResponseDecoder { _, _ in throw error }, method: .post,
            bodyProvider: BodyProvider { _ in throw error })
    }
}
