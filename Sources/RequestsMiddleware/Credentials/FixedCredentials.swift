/// An authenticator whose credentials never change: Basic credentials, a bearer token, or a field of an API key.
///
/// ```swift
/// let authenticator = FixedCredentials.bearerToken(token)
/// ```
///
/// A rejection is not handled, because the same credentials would be rejected again.
public final class FixedCredentials: Authenticator {
    private let fields: Header
    let ready: ReadyFields
    private let problem: RequestError?
    private let kind: String

    fileprivate init(_ kind: String, _ fields: Header, problem: RequestError? = nil) {
        self.kind = kind
        self.fields = fields
        ready = ReadyFields(problem == nil ? fields : nil)
        self.problem = problem
    }

    /// Creates an authenticator that adds `fields`, such as an API key; their values are treated as secrets.
    public convenience init(fields: Header) {
        self.init("fields", fields)
    }

    /// Returns whether the request has one of the fields.
    public func hasCredentials(_ request: PreparedRequest) -> Bool {
        request.header.containsAny(of: fields)
    }

    /// Returns the fields.
    ///
    /// - Throws: `RequestError` with `invalidRequest` for credentials that cannot be sent; nothing is sent.
    public func credentials(
        for request: PreparedRequest
    ) async throws(RequestError) -> (fields: Header, token: Void) { try checkedFields() }

    /// Returns the fields.
    ///
    /// - Throws: `RequestError` with `invalidRequest` for credentials that cannot be sent; nothing is sent.
    public func availableCredentials(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Void)? { try checkedFields() }

    private func checkedFields() throws(RequestError) -> (fields: Header, token: Void) {
        if let problem { throw problem }
        return (fields, ())
    }
}

extension FixedCredentials: ReadyAuthenticator {
    func token(of ready: ReadyFields.Ready) {}
}

extension FixedCredentials: CustomStringConvertible, CustomReflectable {
    /// The kind of the credentials, without their values.
    public var description: String { "\(kind) credentials" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind]) }
}

extension Authenticator where Self == FixedCredentials {
    /// Returns an authenticator with Basic credentials, UTF-8 in base64 (RFC 7617).
    ///
    /// A colon in `username`, and a control character in either value, are errors of the request: `colonInUsername` and
    /// `invalidFieldValue`.
    public static func basicAuth(username: String, password: String) -> FixedCredentials {
        FixedCredentials(
            "Basic", [Field(name: .authorization, value: BasicCredentials.fieldValue(username, password))],
            problem: BasicCredentials.problem(username, password).map {
                RequestError(.invalidRequest($0), detail: "Basic credentials").beforeSending()
            })
    }

    /// Returns an authenticator with a bearer token (RFC 6750).
    ///
    /// A token that is empty, or contains a character other than visible ASCII characters (RFC 6749 A.12), is an error
    /// of the request: `invalidBearerToken`.
    public static func bearerToken(_ token: String) -> FixedCredentials {
        FixedCredentials(
            "Bearer", [.authorization(bearerToken: token)], problem: BearerToken.error(of: token))
    }
}

/// The form of Basic credentials (RFC 7617 §2).
enum BasicCredentials {
    static func fieldValue(_ username: String, _ password: String) -> String {
        "Basic \(Data("\(username):\(password)".utf8).base64EncodedString())"
    }

    /// Returns the reason why the credentials cannot be sent; nil if they can.
    static func problem(_ username: String, _ password: String) -> RequestError.InvalidRequest? {
        if username.utf8.contains(UInt8(ascii: ":")) { return .colonInUsername }
        return (username + password).utf8.contains { $0 < 0x20 || $0 == 0x7F } ? .invalidFieldValue : nil
    }
}
