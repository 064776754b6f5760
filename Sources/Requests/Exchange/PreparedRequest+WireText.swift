extension PreparedRequest {
    /// The request as HTTP/1.1 text, line ends as `\n`, secrets redacted: for snapshots and for reading.
    ///
    /// It is deterministic. What an executor adds of its own (the socket's Accept-Encoding, say) is not in it.
    public var wireText: String { wireText(.redacted) }

    /// The request as HTTP/1.1 text, line ends as `\n`: the head, an empty line, and the body if it is text.
    ///
    /// Of any other body it says what it is. A byte that would make the request invalid is shown as U+FFFD.
    public func wireText(_ secrets: SecretPolicy, redaction: Redaction = .standard) -> String {
        let shown = secrets == .revealing ? self : redacted(by: redaction)
        let framing = framing(ofLength: body.knownLength)
        let head = RequestHeadWriter.uncheckedHead(of: shown, framing: framing, form: .text)
        let text = String(decoding: head, as: UTF8.self).replacing("\r\n", with: "\n")
        return isWholeFile ? text.replacing("Transfer-Encoding: chunked\n", with: "") + bodyText : text + bodyText
    }

    /// This request with its secrets replaced by a mark, and nothing left that could break a line.
    private func redacted(by redaction: Redaction) -> PreparedRequest {
        // Not through the properties, which leave out new secrets after a redirect, and a mark is one to them.
        var copy = parts
        copy.method = HTTPMethod(Self.printable(method.rawValue))
        copy.target = target.replacing(
            path: target.path, query: target.redactedQuery(by: redaction), fragment: nil)
        copy.header = Header(
            header.map { field in
                Field(
                    name: Field.Name(Self.printable(field.name.rawValue)),
                    value: redaction.isSecret(field.name) ? Redaction.mark : Self.printable(field.value))
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

    /// A whole file's length is read when it is sent; until then the text leaves the framing out.
    private var isWholeFile: Bool {
        if case .file(_, nil) = body { trailers == nil } else { false }
    }

    private var bodyText: String {
        switch body {
        case .none: return ""
        case .bytes(let data): return String(validating: data, as: UTF8.self) ?? "<\(data.count) bytes>"
        default: return "<\(body)>"
        }
    }
}
