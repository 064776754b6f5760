/// The tokens that an authorization server has issued (RFC 6749 §5.1).
///
/// No description or dump contains a token. The encoded form contains them, because a ``CredentialStore`` keeps it.
public struct OAuthCredential: Hashable, Sendable {
    /// The access token, with which requests are sent.
    public var accessToken: String

    /// The type of the access token, such as `Bearer`, compared without regard to ASCII case.
    public var tokenType: String

    /// The refresh token, with which ``OAuthServer/refresh(_:scope:)`` renews the access token; nil if there is none.
    public var refreshToken: String?

    /// The date at which the access token expires; nil if it is unknown.
    public var expiration: Date?

    /// The granted scope, separated by spaces; nil if it is the requested one.
    public var scope: String?

    /// The ID token of OpenID Connect, which is not verified; nil if there is none.
    public var idToken: String?

    /// Creates a credential from its values.
    public init(
        accessToken: String, tokenType: String = "Bearer", refreshToken: String? = nil, expiration: Date? = nil,
        scope: String? = nil, idToken: String? = nil
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.refreshToken = refreshToken
        self.expiration = expiration
        self.scope = scope
        self.idToken = idToken
    }

    /// Returns whether the access token has expired, or expires within `leeway`; false if its expiry is unknown.
    ///
    /// - Parameters:
    ///   - date: The current date.
    ///   - leeway: The time before the expiry from which the token counts as expired; negative values count as zero.
    /// - Returns: Whether the token has expired.
    public func isExpired(at date: Date = Date(), leeway: Duration = .zero) -> Bool {
        guard let expiration else { return false }
        return expiration.timeIntervalSince(date) <= max(0, leeway / .seconds(1))
    }

    /// Returns the Authorization field with the access token (RFC 6750 §2.1).
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` and ``OAuthServer/Failure/unsupportedTokenType(_:)`` for
    ///   a token type other than Bearer, or ``OAuthServer/Failure/invalidParameter(_:)`` for a token that cannot be
    ///   sent.
    package func authorizationField() throws(RequestError) -> Field {
        let problem: OAuthServer.Failure
        if !isBearer {
            problem = .unsupportedTokenType(OAuthText.shown(tokenType))
        } else if let text = BearerToken.problem(of: accessToken) {
            problem = .invalidParameter("access token: \(text)")
        } else {
            return .authorization(bearerToken: accessToken)
        }
        throw RequestError(.credentialsUnavailable, underlying: problem).beforeSending()
    }

    /// Whether the token is sent as a bearer token, the only type that is supported.
    var isBearer: Bool { ASCIIFolding.areEqual(tokenType, "Bearer") }
}

extension OAuthCredential {
    /// The texts, which are compared byte for byte.
    private var texts: [ByteText?] {
        [accessToken, tokenType, refreshToken, scope, idToken].map { $0.map(ByteText.init) }
    }

    /// The expiry as it is encoded.
    ///
    /// A `Date` counts from 2001, so that its last bit is lost in seconds since 1970.
    private var encodedExpiration: Double? { expiration?.timeIntervalSince1970 }

    /// Returns whether both have the same texts, byte for byte, and the same expiry in seconds since 1970.
    public static func == (left: Self, right: Self) -> Bool {
        left.texts == right.texts && left.encodedExpiration == right.encodedExpiration
    }

    /// Hashes the values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(texts)
        hasher.combine(encodedExpiration)
    }
}

extension OAuthCredential: Codable {
    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case tokenType = "token_type"
        case refreshToken = "refresh_token"
        case expiration = "expires_at"
        case scope
        case idToken = "id_token"
    }

    /// Decodes a credential; the expiry is a number of seconds since 1970, whatever the strategy of the decoder is.
    ///
    /// - Throws: The error of the decoder.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        accessToken = try values.decode(String.self, forKey: .accessToken)
        tokenType = try values.decode(String.self, forKey: .tokenType)
        refreshToken = try values.decodeIfPresent(String.self, forKey: .refreshToken)
        expiration = try values.decodeIfPresent(Double.self, forKey: .expiration).map(Date.init(timeIntervalSince1970:))
        scope = try values.decodeIfPresent(String.self, forKey: .scope)
        idToken = try values.decodeIfPresent(String.self, forKey: .idToken)
    }

    /// Encodes the credential with its tokens, which are secrets.
    ///
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(accessToken, forKey: .accessToken)
        try values.encode(tokenType, forKey: .tokenType)
        try values.encodeIfPresent(refreshToken, forKey: .refreshToken)
        try values.encodeIfPresent(expiration?.timeIntervalSince1970, forKey: .expiration)
        try values.encodeIfPresent(scope, forKey: .scope)
        try values.encodeIfPresent(idToken, forKey: .idToken)
    }
}

extension OAuthCredential: CustomStringConvertible, CustomReflectable {
    /// The kind of the credential, without its tokens.
    public var description: String { "OAuth credential" }

    /// The mirror that `dump` prints: the kind and the expiry.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": description, "expiration": expiration as Any])
    }
}
