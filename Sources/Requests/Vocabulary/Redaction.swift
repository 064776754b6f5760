/// Which fields and query items are secrets, and what is shown in their place.
///
/// Every description, log, curl line and recording of this library is redacted unless revealing is asked for by name.
public struct Redaction: Hashable, Sendable {
    /// The names of fields whose values are never shown.
    public var fieldNames: Set<Field.Name>

    /// The names of query items whose values are never shown, compared without regard to ASCII case.
    public var queryNames: Set<CaseInsensitiveString>

    /// A redaction of the standard secrets and the names given.
    public init(alsoFields fieldNames: Set<Field.Name> = [], alsoQueryItems queryNames: Set<CaseInsensitiveString> = [])
    {
        self.fieldNames = Self.standardFields.union(fieldNames)
        self.queryNames = Self.standardQueryItems.union(queryNames)
    }

    /// Authorization, Proxy-Authorization, Cookie and Set-Cookie, the usual API key fields and query items.
    public static let standard = Redaction()

    /// What stands in the place of a secret.
    public static let mark = "<redacted>"

    /// Whether the values of fields called `name` are never shown.
    public func isSecret(_ name: Field.Name) -> Bool {
        fieldNames.contains(name)
    }

    /// The fields that are secrets everywhere.
    private static let standardFields: Set<Field.Name> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, "X-API-Key", "X-Auth-Token", "X-CSRF-Token",
    ]

    /// The query items that are secrets everywhere.
    private static let standardQueryItems: Set<CaseInsensitiveString> = [
        "access_token", "api_key", "apikey", "client_secret", "password", "refresh_token", "secret", "signature",
        "token",
    ]
}

/// Whether secrets are shown.
public enum SecretPolicy: Hashable, Sendable {
    /// Secrets are replaced by ``Redaction/mark``.
    case redacted
    /// Everything is shown; for the eyes of whoever asked by name.
    case revealing
}
