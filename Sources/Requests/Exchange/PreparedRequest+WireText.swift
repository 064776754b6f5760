extension PreparedRequest {
    /// The request as HTTP/1.1 text with secrets redacted and `\n` as line end, for snapshots and for reading.
    ///
    /// The text is deterministic. It does not contain the fields that an executor adds, such as the Accept-Encoding
    /// field of the socket executor.
    public var wireText: String { wireText(secrets: .redacted) }

    /// Returns the request as HTTP/1.1 text with `\n` as line end: the head, an empty line, and the body if it is text.
    ///
    /// Any other body is represented by its description. A control character that makes the request invalid is shown as
    /// U+FFFD.
    ///
    /// - Parameters:
    ///   - secrets: Whether secrets are shown or replaced by ``Redaction/placeholder``.
    ///   - redaction: The names of the fields and query items that are secrets.
    /// - Returns: The text.
    public func wireText(secrets: Redaction.Secrets, redaction: Redaction = .standard) -> String {
        let redaction = redaction.including(redirectPolicy.sensitiveFields)
        let finder = secrets == .redacted ? self.secrets(redaction) : SecretFinder([])
        let shown = printable(redaction: secrets == .redacted ? redaction : nil, finder)
        let framing = framing(ofLength: body.knownLength)
        let head = RequestHeadWriter.uncheckedHead(of: shown, framing: framing, form: .text)
        let lines = head.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
        let kept = isWholeFile ? lines.filter { !$0.hasBytePrefix("Transfer-Encoding: ") } : lines
        return kept.joined(separator: "\n") + bodyText(finder, isHidden: secrets == .redacted && hasSecretBodies)
    }

    /// Returns this request without control characters, which could break a line, and with its secrets replaced if
    /// there is a redaction.
    private func printable(redaction: Redaction?, _ finder: SecretFinder) -> PreparedRequest {
        // After a redirect the properties leave out new secrets, placeholders included (decision 0020).
        var copy = parts
        copy.method = HTTPMethod(Self.printable(method.rawValue))
        copy.target = target.replacing(
            path: finder.redacted(target.path),
            query: target.query.map { finder.redacted(redaction?.redacted(query: $0) ?? $0) }, fragment: nil)
        copy.header = Header(
            header.list.joiningCookies.map { field in
                Field(
                    name: Field.Name(Self.printable(finder.redacted(field.name.rawValue))),
                    value: redaction?.isSecret(field.name) == true
                        ? Redaction.placeholder : Self.printable(finder.redacted(field.value)))
            })
        return PreparedRequest(copy)
    }

    private static func printable(_ text: String) -> String {
        guard text.utf8.contains(where: Token.isForbiddenInValue) else { return text }
        let bytes = text.unicodeScalars.map { scalar in
            scalar.value < 0x80 && Token.isForbiddenInValue(UInt8(scalar.value)) ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(bytes))
    }

    /// Whether the body is a whole file without trailers: its length, and so its framing, is known only when it is
    /// sent.
    private var isWholeFile: Bool {
        if case .file(_, nil) = body { trailers == nil } else { false }
    }

    private func bodyText(_ finder: SecretFinder, isHidden: Bool) -> String {
        switch body {
        case .none: return ""
        case .bytes(let data) where isHidden: return "<\(ErrorText.bytes(data.count))>"
        case .bytes(let data):
            return String(validating: data, as: UTF8.self).map(finder.redacted) ?? "<\(ErrorText.bytes(data.count))>"
        default: return "<\(body)>"
        }
    }
}
