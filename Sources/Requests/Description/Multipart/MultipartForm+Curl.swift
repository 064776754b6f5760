extension MultipartForm: CurlDescribable {
    func curlWords(_ redaction: Redaction?, _ finder: SecretFinder) -> [String]? {
        guard let parts = try? allParts(), !parts.isEmpty else { return nil }
        var words: [String] = []
        for part in parts {
            guard let word = part.curlWord(style, redaction, finder) else { return nil }
            words += ["--form", ShellWord.quoted(word)]
        }
        return words
    }
}

extension MultipartForm.Part {
    /// Returns the value of curl's option `--form` for this part; nil if curl cannot express it.
    fileprivate func curlWord(
        _ style: MultipartForm.Style, _ redaction: Redaction?, _ finder: SecretFinder
    ) -> String? {
        // curl ends the name at the first “=”, and sends no name if it is empty.
        guard let (name, filename) = disposition, !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")),
            Self.isPlain(name), Self.isPlain(filename ?? ""), let content = curlContent
        else { return nil }
        let isSecret = redaction?.queryItemNames.contains(CaseInsensitiveString(name)) ?? false
        var word = finder.redacted(name) + "="
        switch content {
        case .text(let text): word += (isSecret ? Redaction.placeholder : finder.redacted(text)).doubleQuoted
        case .file(let path): word += "@" + path.doubleQuoted
        }
        if let filename { word += ";filename=" + finder.redacted(filename).doubleQuoted }
        if let type = fields.contentType ?? contentType ?? style.textType {
            guard Self.isPlain(type) else { return nil }
            word += ";type=\(type.rawValue)"
        }
        for field in fields where field.name != .contentType {
            guard Self.isPlain(field.value) else { return nil }
            let isSecret = redaction?.isSecret(field.name) ?? false
            let value = isSecret ? Redaction.placeholder : finder.redacted(field.value)
            word += ";headers=" + "\(field.name.rawValue): \(value)".doubleQuoted
        }
        return word
    }

    private enum CurlContent {
        case text(String)
        case file(String)
    }

    /// The content, if it is a short text or a whole file.
    private var curlContent: CurlContent? {
        switch content {
        case .body(.bytes(let data)) where data.count <= 1_024:
            // The shell cannot pass NUL, and removes line ends at the end of printf's output.
            guard let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0), text.utf8.last != 0x0A
            else { return nil }
            return .text(text)
        case .body(.file(let path, nil)): return Self.file(path)
        case .file(let url, nil): return (try? LocalFile.path(of: url)).flatMap(Self.file)
        case .body, .file, .deferred: return nil
        }
    }

    private static func file(_ path: String) -> CurlContent? {
        guard isPlain(path) else { return nil }
        // curl reads standard input for “-”.
        return .file(path.utf8.first == UInt8(ascii: "-") ? "./" + path : path)
    }

    /// Returns whether curl reads `type` as it is: it ends a type at a comma, does not unquote it, and has options with
    /// the names of these parameters.
    private static func isPlain(_ type: MediaType) -> Bool {
        type.rawValue.utf8.allSatisfy { Token.isTokenByte($0) || "/; =".utf8.contains($0) }
            && !type.parameters.contains { parameter in
                ["encoder", "filename", "headers", "type"].contains { ASCIIFolding.areEqual(parameter.name, $0) }
            }
    }

    private static func isPlain(_ text: String) -> Bool { !text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }
}
