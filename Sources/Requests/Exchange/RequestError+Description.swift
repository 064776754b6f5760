extension RequestError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// One line: method, URL, status and what was wrong; never a secret.
    public var description: String { line(clearedBy: secrets) }

    private var secrets: SecretFinder { request?.secrets() ?? SecretFinder([]) }

    private func line(clearedBy secrets: SecretFinder) -> String {
        var parts: [String] = []
        if let request { parts.append("\(request.method) \(request.target)") }
        if let status { parts.append("\(status)") }
        parts.append(detail.map { "\(reason) (\($0))" } ?? "\(reason)")
        return Self.visible(secrets.redacted(parts.joined(separator: ": ")))
    }

    /// A block of lines: what ``description`` says and the evidence; never a secret.
    ///
    /// The response's content type and size, the beginning of the body, the coding path of a decoding error with the
    /// line of JSON it speaks of and a caret, how many requests were sent, and a curl command that sends this one.
    public var debugDescription: String {
        let secrets = secrets
        var lines = [line(clearedBy: secrets)]
        if let response {
            let type = response.header[.contentType].map { Self.visible(secrets.redacted($0)) }
            lines.append("response: \(response.status), \(type ?? "no content type")")
        }
        if let body { lines.append("body: \(body.count) bytes: \(Self.excerpt(of: body, clearedBy: secrets))") }
        if let underlying {
            // It quotes text from outside, such as the names of JSON members.
            lines.append("underlying: \(Self.visible(secrets.redacted(Self.explanation(of: underlying))))")
        }
        lines += offendingLine(clearedBy: secrets)
        if attempts > 1 { lines.append("requests sent: \(attempts)") }
        if let request { lines.append(request.curl()) }
        return lines.joined(separator: "\n  ")
    }

    /// What `dump` sees: the lines of the description, never a secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": debugDescription]) }

    /// The line of the body that a decoding error speaks of, and a caret below the place; none when it holds a secret.
    private func offendingLine(clearedBy secrets: SecretFinder) -> [String] {
        guard let body, let offset = offendingOffset(in: body) else { return [] }
        let (before, after) = (body.prefix(offset), body.dropFirst(offset))
        let number = before.count { $0 == 0x0A } + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? before.startIndex
        let label = "line \(number): "
        let (left, right) = (before[start...].suffix(60), after.prefix { $0 != 0x0A }.prefix(60))
        // A secret that is only partly within what is shown is looked for too.
        let around = Array(before.suffix(left.count + secrets.reach) + after.prefix(right.count + secrets.reach))
        let shownStart = before.suffix(left.count + secrets.reach).count - left.count
        let shown = shownStart..<shownStart + left.count + right.count
        guard !secrets.ranges(in: around).contains(where: shown.overlaps) else { return [] }
        let (leftText, rightText) = (Self.visible(left), Self.visible(right))
        return [label + leftText + rightText, String(repeating: " ", count: label.count + leftText.count) + "^"]
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

    /// `bytes` as text in which nothing breaks the line; of a scalar that is cut at either end nothing is shown.
    private static func visible(_ bytes: Data) -> String {
        let isContinuation = { (byte: UInt8) in byte & 0xC0 == 0x80 }
        let start = bytes.drop(while: isContinuation)
        return visible(String(decoding: start.prefix(wholeScalars(in: start)), as: UTF8.self))
    }

    /// How many bytes are left of `bytes` without a scalar that is cut at the end.
    private static func wholeScalars(in bytes: some BidirectionalCollection<UInt8>) -> Int {
        guard let lead = bytes.suffix(4).lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return bytes.count }
        let length = bytes[lead] >= 0xF0 ? 4 : bytes[lead] >= 0xE0 ? 3 : bytes[lead] >= 0xC0 ? 2 : 1
        let present = bytes[lead...].count
        return present < length ? bytes.count - present : bytes.count
    }

    /// `text` with a space for all that breaks a line or steers a terminal.
    private static func visible(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: scalars.append(" ")
            case .format where scalar.properties.isBidiControl: scalars.append(" ")
            default: scalars.append(scalar)
            }
        }
        return String(scalars)
    }

    /// The first 200 bytes as text without secrets, or a word for bytes that are not text.
    private static func excerpt(of body: Data, clearedBy secrets: SecretFinder) -> String {
        let limit = 200
        let whole = wholeScalars(in: body.prefix(limit))
        let shown = body.count > limit ? whole : min(body.count, limit)
        guard String(validating: body.prefix(shown), as: UTF8.self) != nil else { return "not text" }
        // A secret that begins within what is shown is found, however far it goes.
        let cleared = secrets.redacted(Array(body.prefix(limit + secrets.reach)), upTo: shown)
        return visible(String(decoding: cleared, as: UTF8.self)) + (body.count > limit ? "…" : "")
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
