extension PreparedRequest {
    /// A shell command that sends this request with curl, in one line, secrets redacted.
    public var curlCommand: String { curlCommand(.redacted) }

    /// A shell command that sends this request with curl, in one line.
    ///
    /// A text of up to 1,024 bytes is in the command, a file by its path; any other body is read from standard input.
    public func curlCommand(_ secrets: SecretPolicy, redaction: Redaction = .standard) -> String {
        let isRedacted = secrets == .redacted
        var words = ["curl"]
        switch method {
        case .get where body.isNone: break
        case .head: words.append("--head")
        default: words += ["--request", ShellWord.quoted(method.rawValue)]
        }
        for field in header {
            let value = isRedacted && redaction.isSecret(field.name) ? Redaction.mark : field.value
            words += ["--header", ShellWord.quoted("\(field.name.rawValue): \(value)")]
        }
        if !body.isNone, !header.contains(.contentType) { words += ["--header", "Content-Type:"] }
        switch body {
        case .none: break
        case .bytes(let data):
            let text = data.count <= 1_024 && !data.contains(0) ? String(validating: data, as: UTF8.self) : nil
            words += text.map { ["--data-raw", ShellWord.quoted($0)] } ?? ["--data-binary", "@-"]
        case .file(let path, nil): words += ["--data-binary", ShellWord.quoted("@" + path)]
        case .file, .stream: words += ["--data-binary", "@-"]
        }
        words.append(ShellWord.quoted(isRedacted ? target.redacted(by: redaction) : target.absoluteString))
        return words.joined(separator: " ")
    }
}

/// Words of a shell command.
private enum ShellWord {
    /// `text` as one word that bash, zsh and ksh read as it is; control bytes are written as escapes.
    static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return "'" + text.replacing("'", with: #"'\''"#) + "'"
        }
        return "$'" + text.unicodeScalars.map(escaped).joined() + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        Token.isTokenByte(byte) && !"!#$&'*`|~".utf8.contains(byte) || ":/@,=".utf8.contains(byte)
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\", "'": "\\\(scalar)"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            "\\x" + String(UnicodeScalar(Hex.digit(UInt8(scalar.value >> 4))))
                + String(UnicodeScalar(Hex.digit(UInt8(scalar.value & 15))))
        default: String(scalar)
        }
    }
}
