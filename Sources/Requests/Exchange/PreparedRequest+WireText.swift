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
        let redaction = self.redaction(secrets, redaction)
        let shown = printable(redaction)
        let framing = framing(ofLength: body.knownLength)
        let head = RequestHeadWriter.uncheckedHead(of: shown, framing: framing, form: .text)
        let lines = head.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
        let kept = isWholeFile ? lines.filter { !$0.hasBytePrefix("Transfer-Encoding: ") } : lines
        return kept.joined(separator: "\n") + bodyText(redaction)
    }

    /// Returns this request without control characters, which could break a line, and without its secrets.
    private func printable(_ redaction: ExchangeRedaction) -> PreparedRequest {
        // After a redirect the properties leave out new secrets, placeholders included (decision 0020).
        var copy = parts
        copy.method = HTTPMethod(Self.printable(method.rawValue))
        copy.target = target.replacing(
            path: redaction.text(target.path), query: target.query.map(redaction.query), fragment: nil)
        copy.header = Header(
            header.list.joiningCookies.map { field in
                Field(
                    name: Field.Name(Self.printable(redaction.text(field.name.rawValue))),
                    value: Self.printable(redaction.value(of: field)))
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

    private func bodyText(_ redaction: ExchangeRedaction) -> String {
        switch body {
        case .none: return ""
        case .bytes(let data):
            let text = redaction.hidesBodies ? nil : String(validating: data, as: UTF8.self)
            return text.map { String(decoding: redaction.body(Array($0.utf8), header), as: UTF8.self) }
                ?? "<\(ErrorText.bytes(data.count))>"
        default: return "<\(body)>"
        }
    }
}
