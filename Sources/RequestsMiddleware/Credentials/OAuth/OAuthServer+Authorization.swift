internal import RequestsPOSIX

extension OAuthServer {
    /// An app's request for authorization by a user, who signs in with a browser (RFC 6749 §4.1, RFC 7636).
    ///
    /// Open ``url``. Then pass the URL to which the browser is redirected to
    /// ``OAuthServer/authorizationCode(of:redirectedTo:)``. The state and the code verifier are secrets, which no
    /// description contains.
    public struct Authorization: Sendable {
        /// The URL to open, with the challenge of the code and the state, but without secrets of the app.
        public let url: URL

        /// The URI to which the server redirects.
        public let redirectURI: String

        let state: String
        let verifier: String
        let issuer: String?
        let requiresIssuer: Bool
    }

    /// Returns a request for authorization by a user, with a new state and a new code verifier.
    ///
    /// The URL contains the SHA-256 of the verifier (`S256`).
    ///
    /// - Parameters:
    ///   - redirectURI: The URI to redirect to, as registered at the server, such as `com.example.app:/signed-in`.
    ///   - scope: The scope, separated by spaces; nil for the server's default.
    ///   - parameters: Further parameters, such as `prompt`. Those without a value are left out, and those that this
    ///     function sets itself are an error.
    /// - Returns: The authorization request.
    /// - Throws: `RequestError` with `credentialsUnavailable`: for an invalid value, without an authorization endpoint,
    ///   or if the system has no library for hashes.
    public func authorization(
        redirectingTo redirectURI: String, scope: String? = nil, parameters: QueryItems = .empty
    ) throws(RequestError) -> Authorization {
        guard let authorizationEndpoint else {
            throw RequestError(Failure.invalidParameter("authorization endpoint"))
        }
        try Self.check(authorizationEndpoint)
        // RFC 6749 §3.1.2: an absolute URI without a fragment.
        guard OAuthText.isVisible(redirectURI), TargetURI.scheme(of: redirectURI.utf8) != nil,
            !redirectURI.containsByte("#"), !redirectURI.containsByte(" ")
        else { throw RequestError(Failure.invalidParameter("redirect URI")) }
        guard OAuthText.isIdentifier(client.id) else { throw RequestError(Failure.invalidParameter("client ID")) }
        let (state, verifier) = (Base64URL.encode(randomBytes(16)), Base64URL.encode(randomBytes(32)))
        let own: [(name: String, value: String?)] = [
            ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirectURI), ("scope", scope),
            ("state", state), ("code_challenge", try challenge(of: verifier)), ("code_challenge_method", "S256"),
        ]
        for item in parameters where own.contains(where: { $0.name.hasSameBytes(as: item.name) }) {
            throw RequestError(Failure.invalidParameter("parameter \(OAuthText.shown(item.name))"))
        }
        let items = own + parameters.map { ($0.name, $0.value) }
        guard let url = Self.url(authorizationEndpoint, items) else {
            throw RequestError(Failure.invalidParameter("authorization endpoint"))
        }
        return Authorization(
            url: url, redirectURI: redirectURI, state: state, verifier: verifier, issuer: issuer,
            requiresIssuer: requiresIssuer)
    }

    /// Returns the challenge for a code verifier: its SHA-256 (RFC 7636 §4.2).
    private func challenge(of verifier: String) throws(RequestError) -> String {
        do throws(HashError) {
            return Base64URL.encode(try hashes.digest(of: Data(verifier.utf8), with: .sha256))
        } catch {
            throw RequestError(error)
        }
    }

    /// Returns `endpoint` with `items` after the query that it has (RFC 6749 §3.1).
    private static func url(_ endpoint: URL, _ items: [(name: String, value: String?)]) -> URL? {
        let query = items.compactMap { item in
            item.value.map {
                "\(PercentEncoding.rfc3986.encode(item.name))=\(PercentEncoding.rfc3986.encode($0))"
            }
        }.joined(separator: "&")
        let text = RedirectText(endpoint.absoluteString)
        let own = text.query.map { $0.isEmpty ? "" : "\($0)&" } ?? ""
        return URL(string: "\(text.base)?\(own)\(query)")
    }
}

extension OAuthServer.Authorization {
    /// Returns the code from the URL to which the user was redirected.
    ///
    /// The URL must be the redirect URI, with the state of this request and, if the server has an issuer, with that
    /// issuer; each parameter may occur once (RFC 6749 §3.1). These are checked before everything else, because anyone
    /// can open such a URL.
    ///
    /// - Throws: ``OAuthServer/Failure``: `invalidRedirect`, `stateMismatch`, `issuerMismatch`, or `refused` for an
    ///   error of the server, such as ``OAuthServer/ErrorCode/accessDenied``.
    public func code(from redirect: URL) throws(OAuthServer.Failure) -> String {
        let (text, expected) = (RedirectText(redirect.absoluteString), RedirectText(redirectURI))
        guard text.normalizedBase.hasSameBytes(as: expected.normalizedBase) else {
            throw .invalidRedirect("it is not the redirect URI")
        }
        let parameters = RedirectParameters(text.query ?? "")
        guard let state = try parameters.value(of: "state"), state.hasSameBytes(as: self.state) else {
            throw .stateMismatch
        }
        if let issuer {
            let found = try parameters.value(of: "iss")
            guard found.map({ $0.hasSameBytes(as: issuer) }) ?? !requiresIssuer else { throw .issuerMismatch }
        }
        if let code = try parameters.value(of: "error") {
            guard OAuthText.isVisible(code) else { throw .invalidRedirect("“error” is not an error code") }
            let finder = SecretFinder([self.state, verifier])
            throw .refused(
                OAuthServer.Refusal(
                    OAuthServer.ErrorCode(rawValue: finder.redacted(code)),
                    message: try parameters.value(of: "error_description").map(finder.redacted),
                    uri: try parameters.value(of: "error_uri").map(finder.redacted)))
        }
        guard let code = try parameters.value(of: "code") else { throw .invalidRedirect("“code” is missing") }
        guard OAuthText.isVisible(code) else {
            throw .invalidRedirect("“code” is empty or contains invalid characters")
        }
        return code
    }
}

extension OAuthServer.Authorization: CustomStringConvertible, CustomReflectable {
    /// The kind of the request, without its URL.
    public var description: String { "OAuth authorization request" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}

/// The parts of an absolute URI of any scheme, by its bytes (RFC 3986 §3).
private struct RedirectText {
    /// The URI before its query and fragment.
    let base: String
    /// The query, percent-encoded; nil if there is none.
    let query: String?

    init(_ text: String) {
        let parts = text.splitBytes(at: "#", maxSplits: 1, omittingEmptySubsequences: false)[0].splitBytes(
            at: "?", maxSplits: 1, omittingEmptySubsequences: false)
        base = String(parts[0])
        query = parts.count > 1 ? String(parts[1]) : nil
    }

    /// The URI before its query as browsers write it.
    ///
    /// Scheme and host are in lower case, and an empty path after a host is `/`.
    var normalizedBase: String {
        let bytes = Array(base.utf8)
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? 0
        var end = colon
        if bytes[colon...].starts(with: "://".utf8) {
            end = bytes[(colon + 3)...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
        }
        let lower = bytes[..<end].map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
        let path = end == bytes.count && end > colon ? Array("/".utf8) : Array(bytes[end...])
        return String(decoding: lower + path, as: UTF8.self)
    }
}

private struct RedirectParameters {
    private let items: [(name: String, value: String)]

    init(_ query: String) {
        items = query.splitBytes(at: "&").map { item in
            let parts = item.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    /// Returns the value of the parameter `name`; nil if there is none.
    ///
    /// - Throws: `invalidRedirect` if it occurs more than once.
    func value(of name: StaticString) throws(OAuthServer.Failure) -> String? {
        let values = items.filter { $0.name.hasSameBytes(as: name.description) }
        guard values.count <= 1 else { throw .invalidRedirect("“\(name)” occurs \(values.count) times") }
        return values.first?.value
    }

    /// Returns text decoded as in a form, in which a plus sign is a space (RFC 6749, appendix B).
    private static func decoded(_ text: Substring) -> String {
        PercentEncoding.decode(String(text).replacingBytes { $0 == UInt8(ascii: "+") ? " " : nil })
    }
}

/// Bytes as text in base64url without padding (RFC 4648 §5).
enum Base64URL {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "+"): "-"
            case UInt8(ascii: "/"): "_"
            case UInt8(ascii: "="): ""
            default: nil
            }
        }
    }
}
