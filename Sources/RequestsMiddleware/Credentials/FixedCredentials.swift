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
    private let problem: RequestError.InvalidRequest?
    private let kind: String

    fileprivate init(_ kind: String, _ fields: Header, problem: RequestError.InvalidRequest? = nil) {
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
    ) async throws(RequestError) -> (fields: Header, token: Void)? { try availableCredentials(for: request) }

    /// Returns the fields.
    ///
    /// - Throws: `RequestError` with `invalidRequest` for credentials that cannot be sent; nothing is sent.
    public func availableCredentials(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Void)? {
        if let problem {
            throw RequestError(.invalidRequest(problem), detail: "\(kind) credentials").beforeSending()
        }
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
            problem: BasicCredentials.problem(username, password))
    }

    /// Returns an authenticator with a bearer token (RFC 6750).
    ///
    /// A token that is empty or has a byte outside letters, digits and `-._~+/`, with `=` at its end, is an error of
    /// the request: `invalidFieldValue`.
    public static func bearerToken(_ token: String) -> FixedCredentials {
        FixedCredentials(
            "Bearer", [Field(name: .authorization, value: "Bearer \(token)")],
            problem: BearerCredentials.isToken(token) ? nil : .invalidFieldValue)
    }
}

/// The form of Basic credentials (RFC 7617 §2).
enum BasicCredentials {
    static func fieldValue(_ username: String, _ password: String) -> String {
        "Basic \(Data("\(username):\(password)".utf8).base64EncodedString())"
    }

    /// The reason why the credentials cannot be sent, or nil.
    static func problem(_ username: String, _ password: String) -> RequestError.InvalidRequest? {
        if username.utf8.contains(UInt8(ascii: ":")) { return .colonInUsername }
        return (username + password).utf8.contains { $0 < 0x20 || $0 == 0x7F } ? .invalidFieldValue : nil
    }
}

/// The form of bearer tokens (RFC 6750 §2.1).
enum BearerCredentials {
    /// Returns whether `text` is a b64token.
    static func isToken(_ text: String) -> Bool {
        var text = text.utf8[...]
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return !text.isEmpty
            && text.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~+/".utf8.contains(byte)
                }
            }
    }
}
