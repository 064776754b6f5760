/// The names of the fields and query items whose values are secrets.
///
/// Every description, dump, wire text and curl command of this library is redacted unless you pass
/// ``Secrets/revealed``. Values are not redacted: a header, or a request that a mock has recorded, contains its
/// secrets.
public struct Redaction: Hashable, Sendable {
    /// The names of fields whose values are never shown.
    public var fieldNames: Set<Field.Name>

    /// The names of query items whose values are never shown, compared without regard to ASCII case.
    public var queryItemNames: Set<CaseInsensitiveString>

    /// Creates a redaction of the standard secrets and of further fields and query items.
    ///
    /// - Parameters:
    ///   - fieldNames: Names of fields in addition to those of ``standard``.
    ///   - queryItemNames: Names of query items in addition to those of ``standard``.
    public init(
        alsoFields fieldNames: Set<Field.Name> = [], alsoQueryItems queryItemNames: Set<CaseInsensitiveString> = []
    ) {
        self.fieldNames = Self.standardFields.union(fieldNames)
        self.queryItemNames = Self.standardQueryItems.union(queryItemNames)
    }

    /// The redaction of Authorization, Proxy-Authorization, Cookie, Set-Cookie, and the usual fields and query items
    /// for API keys, tokens and passwords.
    public static let standard = Redaction()

    /// The text that replaces a secret, `<redacted>`.
    public static let placeholder = "<redacted>"

    /// Returns whether the values of fields named `name` are never shown.
    public func isSecret(_ name: Field.Name) -> Bool {
        fieldNames.contains(name)
    }

    /// The fields that every redaction includes.
    private static let standardFields: Set<Field.Name> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, "X-Amz-Security-Token", "X-API-Key",
        "X-Auth-Token", "X-CSRF-Token",
    ]

    /// The query items that every redaction includes.
    private static let standardQueryItems: Set<CaseInsensitiveString> = [
        "access_token", "api_key", "apikey", "client_secret", "password", "refresh_token", "secret", "signature",
        "token", "X-Amz-Security-Token", "X-Amz-Signature",
    ]
}

extension Redaction {
    /// The treatment of secrets in text.
    public enum Secrets: Hashable, Sendable {
        /// Secrets are replaced by ``Redaction/placeholder``.
        case redacted
        /// Secrets are shown. The text must not be logged or shared.
        case revealed
    }
}
