extension PreparedRequest {
    /// Returns a finder of the secrets of this request, for text that may contain them.
    ///
    /// It finds those that later middleware has added if its values were collected; see
    /// ``collectSeenValues()``.
    ///
    /// - Parameters:
    ///   - redaction: The names of secrets.
    ///   - credentials: Further fields, which are secrets whatever their names are.
    /// - Returns: The finder.
    package func secrets(_ redaction: Redaction = .standard, with credentials: Set<Field> = []) -> SecretFinder {
        let redaction = redaction.including(redirectPolicy.sensitiveFields)
        var secrets = credentials.flatMap(Self.secrets)
        let fields = Array(header) + (seenValues?.fields ?? [])
        for field in fields where redaction.isSecret(field.name) { secrets += Self.secrets(of: field) }
        let queries = [target.query, target.fragment].compactMap(\.self) + (seenValues?.queries ?? [])
        for text in queries {
            for item in text.splitBytes(at: "&") {
                let parts = item.splitBytes(at: "=", maxSplits: 1)
                guard parts.count == 2, redaction.isSecret(queryItem: parts[0]) else { continue }
                secrets.append(String(parts[1]))
            }
        }
        if let userinfo = target.userinfo {
            let (name, password) = TargetURI.credentials(ofUserinfo: userinfo)
            let credentials = Data("\(name):\(password)".utf8).base64EncodedString()
            secrets += [password, credentials]
            secrets += userinfo.splitBytes(at: ":", maxSplits: 1).dropFirst().map(String.init)
        }
        secrets += secretsOfBodies ?? []
        return SecretFinder(secrets.flatMap(Self.variants))
    }

    /// Returns the value of a secret field and the parts of it that are secrets on their own.
    private static func secrets(of field: Field) -> [String] {
        var secrets = [field.value]
        let words = field.value.replacingBytes { $0 == 0x09 ? " " : nil }.splitBytes(at: " ")
        let isCredentials = field.name == .authorization || field.name == .proxyAuthorization
        // The first word of credentials is their scheme (RFC 9110 §11.4).
        for word in isCredentials && words.count > 1 ? words.dropFirst() : words[...] {
            for part in word.splitBytes(at: ";").flatMap({ $0.splitBytes(at: ",") }) {
                secrets.append(String(part))
                guard let value = part.splitBytes(at: "=", maxSplits: 1).dropFirst().first else { continue }
                secrets.append(String(value))
                secrets.append(value.replacingBytes { $0 == UInt8(ascii: "\"") ? "" : nil })
            }
        }
        if isCredentials, words.count == 2, ASCIIFolding.areEqual(String(words[0]), "Basic"),
            let credentials = Data(base64Encoded: String(words[1]))
        {
            let text = String(decoding: credentials, as: UTF8.self)
            secrets += [text] + text.splitBytes(at: ":", maxSplits: 1).dropFirst().map(String.init)
        }
        return secrets
    }

    /// Returns `secret` and the variants of it that ``SecretFinder`` does not decode.
    private static func variants(of secret: String) -> [String] {
        let decoded = PercentEncoding.decode(secret)
        // Forms write a space as a plus sign; base64url has two other digits and no padding (RFC 4648 §5).
        let form = decoded.replacingBytes { $0 == 0x20 ? "+" : nil }
        let query = secret.replacingBytes { $0 == UInt8(ascii: "+") ? " " : nil }
        let base64 = secret.replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "+"): "-"
            case UInt8(ascii: "/"): "_"
            case UInt8(ascii: "="): ""
            default: nil
            }
        }
        return [secret, decoded, form, query, PercentEncoding.decode(query), base64]
    }
}

extension Redaction {
    /// Returns this redaction with the fields that a request itself keeps from other origins.
    func including(_ names: Set<Field.Name>) -> Redaction {
        if names.isEmpty { return self }
        var copy = self
        copy.fieldNames.formUnion(names)
        return copy
    }

    /// Returns whether the values of query items with the percent-encoded name `name` are never shown.
    func isSecret(queryItem name: some StringProtocol) -> Bool {
        queryItemNames.contains(CaseInsensitiveString(PercentEncoding.decode(name)))
    }

    /// Returns a query or fragment with the values of secret items replaced by ``placeholder``.
    func redacted(query: some StringProtocol) -> String {
        query.splitBytes(at: "&", omittingEmptySubsequences: false).map { item in
            let parts = item.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && isSecret(queryItem: parts[0]) ? "\(parts[0])=\(Self.placeholder)" : String(item)
        }.joined(separator: "&")
    }

    /// Returns a reference with its userinfo and the values of its secret query items replaced by ``placeholder``.
    ///
    /// - Parameter text: The reference, which may be malformed.
    /// - Returns: The redacted text.
    package func redacted(reference text: String) -> String {
        let text = Self.withoutUserinfo(text)
        guard let mark = text.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return text
        }
        let items = text[mark...].splitBytes(at: "?", omittingEmptySubsequences: false).map { part in
            part.splitBytes(at: "#", omittingEmptySubsequences: false).map(redacted(query:)).joined(separator: "#")
        }
        return text[..<mark] + items.joined(separator: "?")
    }

    /// Returns `text` with everything that could be userinfo replaced by ``placeholder``.
    ///
    /// The userinfo ends at the last `@`, because a password may contain a character that ends an authority. The text
    /// before an `@` may be credentials even without `//`, as in `user:password@host`, but not in a path, which begins
    /// with a slash.
    private static func withoutUserinfo(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return text }
        guard let slash = bytes[..<at].indices.dropFirst().first(where: { bytes[$0 - 1] == 0x2F && bytes[$0] == 0x2F })
        else { return bytes.first == 0x2F ? text : placeholder + text.droppingFirstBytes(at) }
        return text.droppingLastBytes(bytes.count - slash - 1) + placeholder + text.droppingFirstBytes(at)
    }
}
