extension Redaction {
    /// Returns whether the values of query items with the percent-encoded name `name` are never shown.
    func isSecret(queryItem name: some StringProtocol) -> Bool { isSecret(PercentEncoding.decode(name)) }

    /// Returns the percent-encoded values of the secret items of a query, fragment or form.
    func secrets(ofQuery text: some StringProtocol) -> [String] {
        text.splitBytes(at: "&").compactMap { item in
            let parts = item.splitBytes(at: "=", maxSplits: 1)
            return parts.count == 2 && isSecret(queryItem: parts[0]) ? String(parts[1]) : nil
        }
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
    /// The userinfo ends at the last `@`, because a password may contain a character that ends an authority; an `@`
    /// after a valid authority belongs to the path. The text before an `@` may be credentials even without `//`, as in
    /// `user:password@host`, but not in a path, which begins with a slash.
    private static func withoutUserinfo(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return text }
        guard let slash = bytes[..<at].indices.dropFirst().first(where: { bytes[$0 - 1] == 0x2F && bytes[$0] == 0x2F })
        else { return bytes.first == 0x2F ? text : placeholder + text.droppingFirstBytes(at) }
        let authority = bytes[(slash + 1)...].prefix { !"/?#".utf8.contains($0) }
        if authority.endIndex < at, !authority.contains(UInt8(ascii: "@")),
            (try? TargetURI("http://\(String(decoding: authority, as: UTF8.self))/")) != nil
        {
            return text
        }
        return text.droppingLastBytes(bytes.count - slash - 1) + placeholder + text.droppingFirstBytes(at)
    }

    /// Returns the value of a field that is not secret as a whole, without the secrets in its URLs.
    func redacted(valueOf field: Field) -> String {
        switch field.name {
        case .location, .contentLocation, .referer, "Refresh": redacted(reference: field.value)
        case .link:
            // Each URL is in angle brackets, and parameters follow it (RFC 8288 §3).
            field.value.splitBytes(at: "<", omittingEmptySubsequences: false).map { part in
                let pieces = part.splitBytes(at: ">", maxSplits: 1, omittingEmptySubsequences: false)
                return ([redacted(reference: String(pieces[0]))] + pieces.dropFirst().map(String.init))
                    .joined(separator: ">")
            }.joined(separator: "<")
        default: field.value
        }
    }
}
