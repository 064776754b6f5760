extension PreparedRequest {
    /// A command for any POSIX shell that sends this request with curl, in one line.
    ///
    /// A body in memory of up to 1,024 bytes is in the command: text as it stands, any other bytes by way of `printf`. A
    /// whole file is there by its path. Every other body is read from standard input.
    ///
    /// What curl adds of its own, Accept and User-Agent where the request has none, is left to it.
    ///
    /// - Parameters:
    ///   - secrets: Whether secrets are shown.
    ///   - redaction: What a secret is.
    /// - Returns: The command.
    public func curl(_ secrets: SecretPolicy = .redacted, redaction: Redaction = .standard) -> String {
        let isRedacted = secrets == .redacted
        let finder = isRedacted ? self.secrets(redaction) : SecretFinder([])
        let url = isRedacted ? finder.redacted(target.redacted(by: redaction)) : target.absoluteString
        var input = ""
        var words = ["curl"]
        if url.utf8.contains(where: "[]{}".utf8.contains) { words.append("--globoff") }
        switch method {
        case .get where body.isNone: break
        case .head: words.append("--head")
        default: words += ["--request", ShellWord.quoted(method.rawValue)]
        }
        for field in header {
            let value = isRedacted && redaction.isSecret(field.name) ? Redaction.mark : finder.redacted(field.value)
            // "Name:" would take the field away; this is how curl spells one without a value.
            words += ["--header", ShellWord.quoted(field.name.rawValue + (value.isEmpty ? ";" : ": \(value)"))]
        }
        if !body.isNone, !header.contains(.contentType) { words += ["--header", "Content-Type:"] }
        switch body {
        case .none:
            if framing(ofLength: 0) == .length(0) { words += ["--header", "'Content-Length: 0'"] }
        case .bytes(let data) where data.count <= 1_024:
            let data = Data(finder.redacted(Array(data)))
            if let text = ShellWord.text(of: data) {
                words += ["--data-raw", ShellWord.quoted(text)]
            } else {
                input = "printf %b \(ShellWord.escaped(data)) | "
                words += ["--data-binary", "@-"]
            }
        // The shell takes line ends away from the end of what `printf` gives.
        case .file(let path, nil) where !path.hasByteSuffix("\n"):
            words += ["--data-binary", ShellWord.quoted("@" + path)]
        case .bytes, .file, .stream: words += ["--data-binary", "@-"]
        }
        return input + (words + [ShellWord.quoted(url)]).joined(separator: " ")
    }
}

/// Words of a POSIX shell (POSIX.1 §2.2).
private enum ShellWord {
    /// `text` as one word; of a text that holds control characters `printf` makes it, without line ends at its end.
    static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
        guard hasControl(text) else {
            // The shell ends the quotes at the byte, whatever mark follows it.
            return "'" + text.replacingBytes { $0 == UInt8(ascii: "'") ? #"'\''"# : nil } + "'"
        }
        return "\"$(printf %b \(escaped(Data(text.utf8))))\""
    }

    /// The text that `data` is; nil when it is none or holds what a terminal would obey.
    static func text(of data: Data) -> String? {
        String(validating: data, as: UTF8.self).flatMap { hasControl($0) ? nil : $0 }
    }

    /// `data` as the argument that `printf %b` makes it of: printable ASCII as it is, all else by number.
    static func escaped(_ data: Data) -> String {
        let characters = data.map { byte in
            switch byte {
            case UInt8(ascii: "\\"): "\\\\"
            case 0x20...0x7E where byte != UInt8(ascii: "'"): String(UnicodeScalar(byte))
            default: "\\0" + String(byte >> 6) + String(byte >> 3 & 7) + String(byte & 7)
            }
        }
        return "'" + characters.joined() + "'"
    }

    private static func hasControl(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control || $0.properties.isBidiControl }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        Token.isTokenByte(byte) && !"!#$&'*`|~".utf8.contains(byte) || ":/@,=".utf8.contains(byte)
    }
}
