/// The successful response of an endpoint of an authorization server (RFC 6749 §5.1, RFC 8628 §3.2).
struct OAuthResponse {
    /// The maximum length of a response in bytes.
    static let limit = 256 << 10
    /// The maximum lifetime in seconds, a hundred years: longer ones could not be added to every date.
    private static let longestLifetime = 3_155_760_000.0

    let status: HTTPStatus
    private let members: [String: JSONValue]

    /// Reads a response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - body: The body.
    ///   - secrets: The secrets of the request, which the server may repeat in its message.
    /// - Throws: `RequestError` with an ``OAuthServer/Failure``: `refused` for an error code, whatever the status is,
    ///   otherwise `invalidResponse`.
    init(_ head: ResponseHead, _ body: Data, secrets: [String]) throws(RequestError) {
        status = head.status
        members = (try? JSONValue(parsing: body))?.object ?? [:]
        if let code = members["error"], !code.isNull {
            throw Self.refusal(code, members, status, SecretFinder(secrets))
        }
        guard 200..<300 ~= status.code else { throw Self.failure("no error code", status) }
        guard !members.isEmpty else {
            let type =
                head.contentType.map {
                    ", Content-Type \(OAuthText.shown(MediaType(type: $0.type, subtype: $0.subtype).rawValue))"
                } ?? ""
            throw Self.failure("the body is not a JSON object\(type)", status)
        }
    }

    private static func refusal(
        _ code: JSONValue, _ members: [String: JSONValue], _ status: HTTPStatus, _ finder: SecretFinder
    ) -> RequestError {
        // RFC 6749 §5.2 allows no other characters, and the code is printed.
        guard let code = code.string, OAuthText.isVisible(code) else {
            return failure("“error” is not an error code", status)
        }
        let refusal = OAuthServer.Refusal(
            OAuthServer.ErrorCode(rawValue: finder.redacted(code)),
            message: members["error_description"]?.string.map(finder.redacted),
            uri: members["error_uri"]?.string.map(finder.redacted))
        return RequestError(.credentialsUnavailable, underlying: OAuthServer.Failure.refused(refusal))
    }

    private static func failure(_ problem: String, _ status: HTTPStatus) -> RequestError {
        RequestError(
            status.isSuccess ? .decodingFailed : .unacceptableStatus,
            underlying: OAuthServer.Failure.invalidResponse(problem))
    }

    /// Returns the error of a response with `problem`.
    func failure(_ problem: String) -> RequestError { Self.failure(problem, status) }

    /// Returns the text of a member, which is nil if it is missing or null.
    ///
    /// - Throws: `RequestError` if it is not a string of visible ASCII characters.
    func text(_ name: String) throws(RequestError) -> String? {
        guard let value = members[name], !value.isNull else { return nil }
        guard let text = value.string else { throw failure("“\(name)” is not a string") }
        if text.isEmpty { return "" }
        guard OAuthText.isVisible(text) else { throw failure("“\(name)” contains invalid characters") }
        return text
    }

    /// Returns the text of a member that must not be missing or empty.
    func requiredText(_ name: String) throws(RequestError) -> String {
        guard let text = try text(name) else { throw failure("“\(name)” is missing") }
        guard !text.isEmpty else { throw failure("“\(name)” is empty") }
        return text
    }

    /// Returns a number of seconds, which is nil if it is missing or null.
    ///
    /// RFC 6749 §5.1 requires a number. Several servers send its digits as a string, which means the same.
    ///
    /// - Throws: `RequestError` if it is negative, another text, or of another type.
    func seconds(_ name: String) throws(RequestError) -> Double? {
        guard let value = members[name], !value.isNull else { return nil }
        let number = value.string.map(Self.number) ?? value.double
        guard let seconds = number, seconds >= 0 else { throw failure("“\(name)” is not a number of seconds") }
        return min(seconds, Self.longestLifetime)
    }

    /// Returns the number of a text that consists of digits; nil for any other.
    private static func number(_ digits: String) -> Double? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Double(digits)
    }
}

extension OAuthCredential {
    /// Creates the credential of a response (RFC 6749 §5.1).
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - old: The credential that is renewed, whose refresh token, ID token and scope are kept unless there are
    ///     others.
    ///   - date: The date at which the response was received.
    /// - Throws: `RequestError` for a missing, empty or malformed token, an unknown type, or a negative lifetime.
    init(_ response: OAuthResponse, renewing old: OAuthCredential?, receivedAt date: Date) throws(RequestError) {
        let accessToken = try response.requiredText("access_token")
        let tokenType = try response.requiredText("token_type")
        self.init(accessToken: accessToken, tokenType: tokenType)
        guard isBearer else {
            throw RequestError(
                .decodingFailed, underlying: OAuthServer.Failure.unsupportedTokenType(OAuthText.shown(tokenType)))
        }
        guard BearerCredentials.isToken(accessToken) else {
            throw response.failure("“access_token” is not a bearer token")
        }
        expiration = try response.seconds("expires_in").map { date.addingTimeInterval($0) }
        refreshToken = try response.text("refresh_token").nonempty ?? old?.refreshToken
        scope = try response.text("scope").nonempty ?? old?.scope
        idToken = try response.text("id_token").nonempty ?? old?.idToken
    }
}

extension String? {
    /// The text, or nil if it is empty.
    fileprivate var nonempty: String? { flatMap { $0.isEmpty ? nil : $0 } }
}
