extension MultipartForm: CurlDescribable {
    func curlWords(_ redaction: ExchangeRedaction) -> [String]? {
        guard let parts = try? allParts(), !parts.isEmpty else { return nil }
        var words: [String] = []
        for part in parts {
            guard let word = part.curlWord(style, redaction) else { return nil }
            words += ["--form", ShellWord.quoted(word)]
        }
        return words
    }
}

extension MultipartForm.Part {
    /// Returns the value of curl's option `--form` for this part; nil if curl cannot express it.
    fileprivate func curlWord(_ style: MultipartForm.Style, _ redaction: ExchangeRedaction) -> String? {
        // curl ends the name at the first “=”, and sends no name if it is empty.
        guard let (name, filename) = disposition, !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")),
            Self.isPlain(name), Self.isPlain(filename ?? ""), let content = curlContent
        else { return nil }
        let type = fields.contentType ?? contentType ?? style.textType
        let isSecret = redaction.isSecret(item: name)
        var word = redaction.text(name) + "="
        switch content {
        case .text(let text):
            word += (isSecret ? Redaction.placeholder : Self.shown(text, type, redaction)).doubleQuoted
        case .file(let path): word += "@" + path.doubleQuoted
        }
        if let filename { word += ";filename=" + redaction.text(filename).doubleQuoted }
        if let type {
            guard Self.isPlain(type) else { return nil }
            word += ";type=\(type.rawValue)"
        }
        for field in fields where field.name != .contentType {
            guard Self.isPlain(field.value) else { return nil }
            word += ";headers=" + "\(field.name.rawValue): \(redaction.value(of: field))".doubleQuoted
        }
        return word
    }

    /// Returns the text of a part without the secrets that its names identify.
    private static func shown(_ text: String, _ type: MediaType?, _ redaction: ExchangeRedaction) -> String {
        let header = Header(type.map { [.contentType($0)] } ?? [])
        return String(decoding: redaction.body(Array(text.utf8), header), as: UTF8.self)
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

    /// Returns whether curl passes `type` on unchanged.
    ///
    /// It ends a type at a comma, does not unquote it, and has options with the names of some parameters.
    private static func isPlain(_ type: MediaType) -> Bool {
        type.rawValue.utf8.allSatisfy { Token.isTokenByte($0) || "/; =".utf8.contains($0) }
            && !type.parameters.contains { parameter in
                ["encoder", "filename", "headers", "type"].contains { ASCIIFolding.areEqual(parameter.name, $0) }
            }
    }

    private static func isPlain(_ text: String) -> Bool { !text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }
}
