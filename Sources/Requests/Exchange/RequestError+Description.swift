extension RequestError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// One line: method, URL, status and what was wrong; never a secret.
    public var description: String {
        var parts: [String] = []
        if let request { parts.append("\(request.method) \(request.target)") }
        if let status { parts.append("\(status)") }
        parts.append(detail.map { "\(reason) (\($0))" } ?? "\(reason)")
        return parts.joined(separator: ": ")
    }

    /// A block of lines: what ``description`` says and the evidence; never a secret.
    ///
    /// The response's content type and size, the beginning of the body, the coding path of a decoding error with the
    /// line of JSON it speaks of and a caret, how many requests were sent, and a curl command that sends this one.
    public var debugDescription: String {
        var lines = [description]
        if let response {
            lines.append("response: \(response.status), \(response.header[.contentType] ?? "no content type")")
        }
        if let body { lines.append("body: \(body.count) bytes: \(withoutSecrets(Self.excerpt(of: body)))") }
        if let underlying {
            // Names of others stand in it: those of JSON members, for one.
            lines.append("underlying: \(withoutSecrets(Self.visible(Self.explanation(of: underlying))))")
        }
        lines += offendingLine
        if attempts > 1 { lines.append("requests sent: \(attempts)") }
        if let request { lines.append(request.curl()) }
        return lines.joined(separator: "\n  ")
    }

    /// What `dump` sees: the lines of the description, never a secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": debugDescription]) }

    /// `text` of others, such as a body or an error, with the secrets of the request replaced by a mark.
    private func withoutSecrets(_ text: String) -> String {
        request?.secrets().reduce(text) { $0.replacing($1, with: Redaction.mark) } ?? text
    }

    /// The line of the body that a decoding error speaks of, and a caret below the place.
    private var offendingLine: [String] {
        guard let body, let offset = offendingOffset(in: body) else { return [] }
        let (before, after) = (body.prefix(offset), body.dropFirst(offset))
        let number = before.count { $0 == 0x0A } + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? before.startIndex
        let label = "line \(number): "
        let left = Self.visible(before[start...].suffix(60))
        let line = left + Self.visible(after.prefix { $0 != 0x0A }.prefix(60))
        guard withoutSecrets(line) == line else { return [] }
        return [label + line, String(repeating: " ", count: label.count + left.count) + "^"]
    }

    /// The place in `body` that a decoding error speaks of; nil when there is nothing to show.
    private func offendingOffset(in body: Data) -> Int? {
        if let error = underlying as? JSONSyntaxError { return min(error.offset, body.count) }
        guard let error = underlying as? DecodingError else { return nil }
        let path = Self.problem(of: error).1.codingPath.map { key in
            key.intValue.map { JSONLocator.Step.index($0) } ?? .key(key.stringValue)
        }
        return JSONLocator.offset(of: path, in: body)
    }

    /// `bytes` as text in which nothing breaks the line.
    private static func visible(_ bytes: Data) -> String {
        visible(String(decoding: bytes, as: UTF8.self))
    }

    /// `text` with a space for all that breaks a line or steers a terminal.
    private static func visible(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: " "
            default: String(scalar)
            }
        }.joined()
    }

    /// The first 200 bytes as text, or a word for bytes that are none.
    private static func excerpt(of body: Data) -> String {
        guard
            let text = String(validating: body.prefix(200), as: UTF8.self)
                ?? String(
                    validating: body.prefix(197), as: UTF8.self)
        else { return "not text" }
        return visible(text) + (body.count > 200 ? "…" : "")
    }

    private static func explanation(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let (problem, context) = problem(of: error)
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return "\(problem) at \(path.isEmpty ? "the top level" : path): \(context.debugDescription)"
    }

    private static func problem(of error: DecodingError) -> (String, DecodingError.Context) {
        switch error {
        case .typeMismatch(let type, let context): ("expected \(type)", context)
        case .valueNotFound(let type, let context): ("expected \(type), found null", context)
        case .keyNotFound(let key, let context): ("no value for “\(key.stringValue)”", context)
        case .dataCorrupted(let context): ("malformed", context)
        @unknown default: ("not decoded", DecodingError.Context(codingPath: [], debugDescription: "\(error)"))
        }
    }
}
