extension OAuthServer {
    /// The reason why an authorization server issued no tokens: the underlying error of a `RequestError`, which
    /// `RequestError.oauthFailure` returns.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable {
        /// The server refused the request (RFC 6749 §4.1.2.1 and §5.2, RFC 8628 §3.5), whatever the status was.
        case refused(Refusal)
        /// The response, such as HTML, does not come from a token endpoint; the text describes the problem.
        case invalidResponse(String)
        /// The type of the token, which is the value, is not Bearer.
        case unsupportedTokenType(String)
        /// A value of the request, which the text names, is empty or cannot be sent; nothing was sent.
        case invalidParameter(String)
        /// The redirect is not a response to the authorization request; the text describes the problem.
        case invalidRedirect(String)
        /// The state of the redirect is missing or different, so it belongs to another authorization request (RFC 6749
        /// §10.12).
        case stateMismatch
        /// The issuer of the redirect is missing or different (RFC 9207 §2.4).
        case issuerMismatch
        /// The user did not sign in before the device code expired.
        case deviceCodeExpired
        /// There is no refresh token, so that the user must sign in again; nothing was sent.
        case signInRequired
    }

    /// The error that an authorization server responds with (RFC 6749 §5.2).
    public struct Refusal: Hashable, Sendable {
        /// The error code.
        public let code: ErrorCode
        /// The explanation for developers; nil if there is none.
        ///
        /// Secrets of the request in it are redacted.
        public let message: String?
        /// The URI of a page with information about the error; nil if there is none.
        public let uri: String?

        init(_ code: ErrorCode, message: String?, uri: String?) {
            self.code = code
            self.message = message.map(OAuthText.withoutDirections)
            self.uri = uri.map(OAuthText.withoutDirections)
        }
    }

    /// An error code of OAuth 2.
    public struct ErrorCode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The code as the server sent it.
        public let rawValue: String

        /// Creates a code from its text.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Creates a code from a literal.
        public init(stringLiteral value: String) {
            self.init(rawValue: value)
        }

        /// Returns whether both codes are the same, byte for byte.
        public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }

        /// Hashes the bytes of the code.
        public func hash(into hasher: inout Hasher) { hasher.combine(ByteText(rawValue)) }

        /// The request lacks a parameter, repeats one, or is malformed.
        public static let invalidRequest: ErrorCode = "invalid_request"
        /// The authentication of the client failed.
        public static let invalidClient: ErrorCode = "invalid_client"
        /// The code, refresh token, password or assertion is invalid, expired or revoked.
        public static let invalidGrant: ErrorCode = "invalid_grant"
        /// The client may not use this grant.
        public static let unauthorizedClient: ErrorCode = "unauthorized_client"
        /// The server does not support this grant.
        public static let unsupportedGrantType: ErrorCode = "unsupported_grant_type"
        /// The scope is invalid, unknown or too large.
        public static let invalidScope: ErrorCode = "invalid_scope"
        /// The user or the server denied the request.
        public static let accessDenied: ErrorCode = "access_denied"
        /// The user has not finished signing in with the device code (RFC 8628 §3.5).
        public static let authorizationPending: ErrorCode = "authorization_pending"
        /// The same as ``authorizationPending``, but requests must be sent 5 s less often (RFC 8628 §3.5).
        public static let slowDown: ErrorCode = "slow_down"
        /// The device code has expired (RFC 8628 §3.5).
        public static let expiredToken: ErrorCode = "expired_token"
    }
}

extension OAuthServer.Failure: CustomStringConvertible {
    /// The reason in one line, with what to do.
    public var description: String {
        switch self {
        case .refused(let refusal): "the authorization server refused: \(refusal)"
        case .invalidResponse(let problem): "invalid response of the authorization server: \(problem)"
        case .unsupportedTokenType(let type): "unsupported token type \(ErrorText.quoted(type)); Bearer is supported"
        case .invalidParameter(let name): "invalid value for OAuth: \(name)"
        case .invalidRedirect(let problem): "invalid redirect of the authorization server: \(problem)"
        case .stateMismatch: "the redirect belongs to another authorization request: its state differs"
        case .issuerMismatch: "the redirect is from another authorization server: its issuer differs"
        case .deviceCodeExpired: "the device code has expired; request another one"
        case .signInRequired: "there is no refresh token; sign in again"
        }
    }
}

extension OAuthServer.Refusal: CustomStringConvertible {
    /// The code and the explanation in one line.
    public var description: String {
        let message = message.map { " \(ErrorText.quoted($0, limit: 2 * ErrorText.peerTextLimit))" } ?? ""
        return OAuthText.shown(code.rawValue) + message
    }
}

extension OAuthServer.ErrorCode: CustomStringConvertible {
    /// The code.
    public var description: String { OAuthText.shown(rawValue) }
}

extension RequestError {
    /// The reason why an authorization server issued no tokens; nil if that is not the cause of this error.
    ///
    /// Underlying errors are searched too: a request whose token could not be renewed has the failure as its cause.
    public var oauthFailure: OAuthServer.Failure? {
        var error = underlying
        // An error contains the one that caused it, so this ends.
        while let inner = error {
            if let failure = inner as? OAuthServer.Failure { return failure }
            error = (inner as? RequestError)?.underlying
        }
        return nil
    }

    init(_ failure: OAuthServer.Failure) {
        self = RequestError(.credentialsUnavailable, underlying: failure).beforeSending()
    }
}

/// The characters of OAuth parameters (RFC 6749, appendix A).
enum OAuthText {
    /// Returns whether `text` consists of visible ASCII characters and spaces (VSCHAR), and is not empty.
    static func isVisible(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x20...0x7E ~= $0 }
    }

    /// Returns whether `text` can identify an app: it is not empty and has no control characters.
    ///
    /// RFC 6749 §2.3.1 encodes identifiers as in a form, so servers can accept characters outside ASCII.
    static func isIdentifier(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Returns a peer's text without characters that change the direction of the text around it.
    static func withoutDirections(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.properties.isBidiControl }))
    }

    /// Returns the beginning of a peer's text without characters that break a line.
    static func shown(_ text: String) -> String {
        let quoted = ErrorText.quoted(text, limit: ErrorText.peerTextLimit)
        return String(quoted.unicodeScalars.dropFirst().dropLast())
    }
}
