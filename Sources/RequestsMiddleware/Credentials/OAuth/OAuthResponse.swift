/// The successful response of an authorization server (RFC 6749 §5.1, RFC 8628 §3.2).
struct OAuthResponse {
    /// The maximum length of a response in bytes.
    static let limit = 256 << 10
    /// The maximum lifetime in seconds, a hundred years: longer ones could not be added to every date.
    private static let longestLifetime = 3_155_760_000.0

    /// A member of the response; its value is nil if it cannot be represented, such as the number 1e400.
    private struct Member: Decodable {
        let value: JSONValue?

        init(from decoder: any Decoder) { value = try? JSONValue(from: decoder) }
    }

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
        members = (try? JSONDecoder().decode([String: Member].self, from: body))?.compactMapValues(\.value) ?? [:]
        // Some servers add an empty code to a token.
        if let code = members["error"], !code.isNull, members["access_token"] == nil || !Self.isEmpty(code) {
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

    private static func isEmpty(_ code: JSONValue) -> Bool { code.string.map(\.isEmpty) ?? (code == false) }

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

    /// Returns the text of an optional member; nil if it is missing, empty, or not a string of visible ASCII
    /// characters.
    ///
    /// An unreadable member is not an error: the server may accept the code or the refresh token of the request only
    /// once, so an error would lose the token of this response.
    func optionalText(_ name: String) -> String? {
        members[name]?.string.flatMap { OAuthText.isVisible($0) ? $0 : nil }
    }

    /// The type of the token; Bearer if it is missing, because servers use no other type.
    var tokenType: String { members["token_type"]?.string.flatMap { $0.isEmpty ? nil : $0 } ?? "Bearer" }

    /// The scope; nil if it is missing, empty or unreadable.
    ///
    /// RFC 6749 §5.1 requires a string with spaces; several servers send an array of strings.
    var scope: String? {
        if let text = optionalText("scope") { return text }
        let names = members["scope"]?.array?.compactMap(\.string).filter(OAuthText.isVisible) ?? []
        return names.isEmpty ? nil : names.joined(separator: " ")
    }

    /// Returns a number of seconds from a number or its text, limited to a hundred years.
    ///
    /// The result is nil if the member is missing, negative or not a number.
    func seconds(_ name: String) -> Double? {
        guard let value = members[name], let seconds = value.string.map(Self.number) ?? value.double, seconds >= 0
        else { return nil }
        return min(seconds, Self.longestLifetime)
    }

    /// Returns the decimal number in `text`.
    ///
    /// The result is nil for any other text, including names and hexadecimal digits, which `Double` accepts.
    private static func number(_ text: String) -> Double? {
        text.utf8.allSatisfy { 0x30...0x39 ~= $0 || "+-.eE".utf8.contains($0) } ? Double(text) : nil
    }
}

extension OAuthCredential {
    /// Creates the credential of a response (RFC 6749 §5.1); only the access token must be valid (decision 0061).
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - old: The credential that is renewed, whose refresh token, ID token and scope are kept unless there are
    ///     others.
    ///   - date: The date at which the response was received.
    /// - Throws: `RequestError` for a missing, empty or malformed token, or a type other than Bearer.
    init(_ response: OAuthResponse, renewing old: OAuthCredential?, receivedAt date: Date) throws(RequestError) {
        let accessToken = try response.requiredText("access_token")
        let tokenType = response.tokenType
        self.init(accessToken: accessToken, tokenType: tokenType)
        guard isBearer else {
            throw RequestError(
                .decodingFailed, underlying: OAuthServer.Failure.unsupportedTokenType(OAuthText.shown(tokenType)))
        }
        if let problem = BearerToken.problem(of: accessToken) {
            throw response.failure("“access_token” is not a bearer token: \(problem)")
        }
        expiration = response.seconds("expires_in").map { date.addingTimeInterval($0) }
        refreshToken = response.optionalText("refresh_token") ?? old?.refreshToken
        scope = response.scope ?? old?.scope
        idToken = response.optionalText("id_token") ?? old?.idToken
    }
}
