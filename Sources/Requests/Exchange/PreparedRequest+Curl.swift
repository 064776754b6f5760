extension PreparedRequest {
    /// Returns a command for any POSIX shell, in one line, that sends this request with curl.
    ///
    /// The command contains a body in memory of up to 1,024 bytes: text as it is, other bytes by way of `printf`. It
    /// refers to a whole file by its path. A multipart form is written as `--form` for each part if its parts are short
    /// texts and whole files; curl then chooses the boundary. For any other body, and for one whose text is a secret,
    /// such as the form of a token request, the command reads standard input.
    ///
    /// If the request has no Accept or User-Agent field, curl sends its own.
    ///
    /// - Parameters:
    ///   - secrets: Whether secrets are shown or replaced by ``Redaction/placeholder``.
    ///   - redaction: The names of the fields and query items that are secrets.
    /// - Returns: The command.
    public func curlCommand(secrets: Redaction.Secrets = .redacted, redaction: Redaction = .standard) -> String {
        let redaction = self.redaction(secrets, redaction)
        let url = redaction.url(target)
        var input = ""
        var words = ["curl"]
        // Without this option, curl expands brackets and braces in a URL.
        if url.utf8.contains(where: "[]{}".utf8.contains) { words.append("--globoff") }
        switch method {
        case .get where body.isNone: break
        case .head where body.isNone: words.append("--head")
        default: words += ["--request", ShellWord.quoted(method.rawValue)]
        }
        let form = formWords(redaction)
        for field in header.list.joiningCookies where form == nil || field.name != .contentType {
            let value = redaction.value(of: field)
            // curl removes a field that is spelled "Name:"; it sends "Name;" with an empty value.
            words += ["--header", ShellWord.quoted(field.name.rawValue + (value.isEmpty ? ";" : ": \(value)"))]
        }
        // Without this option, curl adds its own Content-Type to a body.
        if form == nil, !body.isNone, !header.contains(.contentType) { words += ["--header", "Content-Type:"] }
        switch body {
        case _ where form != nil: words += form ?? []
        case .none:
            if framing(ofLength: 0) == .length(0) { words += ["--header", "'Content-Length: 0'"] }
        case .bytes(let data) where data.count <= 1_024 && !redaction.hidesBodies:
            let data = Data(redaction.body(Array(data), header))
            if let text = ShellWord.text(of: data) {
                words += ["--data-raw", ShellWord.quoted(text)]
            } else {
                input = "printf %b \(ShellWord.escaped(data)) | "
                words += ["--data-binary", "@-"]
            }
        // A path that ends in a line end cannot be written: the shell removes line ends at the end of printf's output.
        case .file(let path, nil) where !path.hasByteSuffix("\n"):
            words += ["--data-binary", ShellWord.quoted("@" + path)]
        case .bytes, .file, .stream: words += ["--data-binary", "@-"]
        }
        return input + (words + [ShellWord.quoted(url)]).joined(separator: " ")
    }
}

/// Words of a POSIX shell command (POSIX.1 §2.2).
enum ShellWord {
    /// Returns `text` as one word.
    ///
    /// Text with control characters is written as a call of `printf`; it loses its trailing line ends.
    static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
        guard hasControl(text) else {
            // A combining mark after the byte does not keep the shell from ending the quotes (decision 0023).
            return "'" + text.replacingBytes { $0 == UInt8(ascii: "'") ? #"'\''"# : nil } + "'"
        }
        return "\"$(printf %b \(escaped(Data(text.utf8))))\""
    }

    /// Returns the text of `data`; nil if it is not UTF-8 or contains control characters that a terminal would obey.
    static func text(of data: Data) -> String? {
        String(validating: data, as: UTF8.self).flatMap { hasControl($0) ? nil : $0 }
    }

    /// Returns the argument from which `printf %b` writes `data`: printable ASCII as it is, other bytes in octal.
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

/// A body that the curl command of a request writes as options, such as a multipart form.
protocol CurlDescribable: Sendable {
    /// Returns the options of curl that send the body; nil if curl cannot express a part of it.
    ///
    /// - Parameter redaction: The redaction of the parts.
    /// - Returns: The words of the command.
    func curlWords(_ redaction: ExchangeRedaction) -> [String]?
}

extension PreparedRequest {
    /// Returns the curl options that send this request's form; nil if it has none, or curl cannot express it.
    private func formWords(_ redaction: ExchangeRedaction) -> [String]? {
        guard let form = parts.settings.form, !body.isNone, header.contentType?.subtype == .formData else { return nil }
        return form.curlWords(redaction)
    }
}
