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

extension PreparedRequest {
    /// The secrets the request holds, in every spelling that text of others may repeat; the longest first.
    ///
    /// Those of fewer than four characters are left out, because they would be found everywhere.
    func secrets(_ redaction: Redaction = .standard) -> [String] {
        var secrets: [String] = header.filter { redaction.isSecret($0.name) }.flatMap { field in
            [field.value] + field.value.split(separator: " ").dropFirst().map(String.init)
        }
        for item in target.query?.split(separator: "&") ?? [] {
            let parts = item.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            guard redaction.queryNames.contains(CaseInsensitiveString(PercentEncoding.decode(parts[0]))) else {
                continue
            }
            secrets += [String(parts[1]), PercentEncoding.decode(parts[1])]
        }
        for part in target.userinfo?.split(separator: ":", maxSplits: 1).dropFirst() ?? [] {
            secrets += [String(part), PercentEncoding.decode(part)]
        }
        return secrets.filter { $0.utf8.count > 3 }.sorted { $0.utf8.count > $1.utf8.count }
    }
}

/// Whether secrets are shown.
public enum SecretPolicy: Hashable, Sendable {
    /// Secrets are replaced by ``Redaction/mark``.
    case redacted
    /// Everything is shown; for the eyes of whoever asked by name.
    case revealing
}
