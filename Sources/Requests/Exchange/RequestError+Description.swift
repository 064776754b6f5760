extension RequestError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the URL, the status, the reason and its cause in one line, without secrets.
    ///
    /// For example: `GET https://e.com/repo: 200 OK: could not decode Repo: expected Int at .id`. If the status was
    /// rejected, the ``message-swift.property`` of the server follows, cut after 160 characters. The line ends with the
    /// ``retryRefusal``, unless the failure explains it. The lines of a mock's report follow, if there is one.
    public var description: String {
        let line = line(redactedBy: redaction)
        return report.map { "\(line)\n\($0)" } ?? line
    }

    /// The ``description``.
    ///
    /// Without RequestsFoundation, an `any Error` that stores this error has the platform's generic text instead.
    public var localizedDescription: String { description }

    /// The redaction for everything in this error, including what the server repeats.
    package var redaction: ExchangeRedaction {
        ExchangeRedaction(request, secretsOfExecutor: secretsOfExecutor, response: response, body: body)
    }

    /// The ``description`` and further details, one on each line, without secrets.
    ///
    /// The details are the status and the content type of the response, the size and the beginning of the body, the
    /// TLS connection, the coding path of a decoding error with the line of JSON it refers to and a caret, the number
    /// of requests sent, and a curl command that sends the request.
    public var debugDescription: String {
        let redaction = redaction
        var lines = [line(redactedBy: redaction)]
        if let response {
            let type = response.header[.contentType].map { Self.singleLine(redaction.text($0)) }
            lines.append("response: \(response.status), \(type ?? "no Content-Type")")
        }
        if let body {
            let excerpt = redaction.hidesBodies ? "" : ": \(excerpt(of: body, redactedBy: redaction))"
            lines.append("body: \(ErrorText.bytes(body.count))\(excerpt)")
        }
        // A report is the text of the underlying error.
        if let underlying, report == nil {
            // It may quote text of a peer, such as the names of JSON members.
            lines.append("underlying: \(Self.singleLine(redaction.text(Self.explanation(of: underlying))))")
        }
        lines += offendingLine(redactedBy: redaction)
        // The peer chose the names in its certificate.
        if let tls { lines.append("tls: \(Self.singleLine(redaction.text("\(tls)")))") }
        if attempts > 1 { lines.append("requests sent: \(attempts)") }
        // Five, because the number of retries is not limited.
        for (index, retry) in retries.enumerated() where index < 5 {
            lines.append("attempt \(index + 1): \(retry)")
        }
        if let request { lines.append(request.curlCommand()) }
        // Its lines have their own indentation.
        if let report { return lines.joined(separator: "\n  ") + "\n" + report }
        return lines.joined(separator: "\n  ")
    }

    /// The mirror that `dump` prints: the lines of ``debugDescription``.
    public var customMirror: Mirror { Mirror(self, children: ["error": debugDescription]) }

    /// Returns the line of the body that a decoding error refers to, with a caret below the place.
    ///
    /// If the line contains a secret, no lines are returned.
    private func offendingLine(redactedBy redaction: ExchangeRedaction) -> [String] {
        guard let body, !redaction.hidesBodies, let offset = offendingOffset(in: body) else { return [] }
        let (before, after) = (body.prefix(offset), body.dropFirst(offset))
        let number = before.count { $0 == 0x0A } + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? before.startIndex
        let label = "line \(number): "
        let (left, right) = (before[start...].suffix(60), after.prefix { $0 != 0x0A }.prefix(60))
        let shown = before.count - left.count..<before.count + right.count
        guard !redaction.hasSecret(in: shown, of: body, response?.header ?? .empty) else { return [] }
        let (leftText, rightText) = (Self.singleLine(left), Self.singleLine(right))
        return [label + leftText + rightText, String(repeating: " ", count: label.count + leftText.count) + "^"]
    }

    /// Returns the byte offset in `body` that a decoding error refers to; nil if there is none.
    private func offendingOffset(in body: Data) -> Int? {
        if let error = underlying as? JSONValue.SyntaxError { return min(error.offset, body.count) }
        guard let error = underlying as? DecodingError else { return nil }
        let path = Self.problem(of: error).1.codingPath.map { key in
            key.intValue.map { JSONLocator.PathComponent.index($0) } ?? .key(key.stringValue)
        }
        return JSONLocator.offset(of: path, in: body)
    }

    /// Returns the text of `bytes` on one line, without Unicode scalars that were cut at either end.
    private static func singleLine(_ bytes: Data) -> String {
        let isContinuation = { (byte: UInt8) in byte & 0xC0 == 0x80 }
        let start = bytes.drop(while: isContinuation)
        return singleLine(String(decoding: start.prefix(wholeScalars(in: start)), as: UTF8.self))
    }

    /// Returns the number of bytes up to a Unicode scalar that was cut at the end.
    private static func wholeScalars(in bytes: some BidirectionalCollection<UInt8>) -> Int {
        guard let lead = bytes.suffix(4).lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return bytes.count }
        // The first byte of a UTF-8 sequence determines its length (RFC 3629 §3).
        let length = bytes[lead] >= 0xF0 ? 4 : bytes[lead] >= 0xE0 ? 3 : bytes[lead] >= 0xC0 ? 2 : 1
        let present = bytes[lead...].count
        return present < length ? bytes.count - present : bytes.count
    }

    /// Returns `text` with spaces in place of scalars that break a line or control a terminal.
    package static func singleLine(_ text: String) -> String {
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

    /// Returns the first 200 bytes as text without secrets, or `binary data` if they are not text.
    private func excerpt(of body: Data, redactedBy redaction: ExchangeRedaction) -> String {
        let limit = 200
        let whole = Self.wholeScalars(in: body.prefix(limit))
        let shown = body.count > limit ? whole : min(body.count, limit)
        guard String(validating: body.prefix(shown), as: UTF8.self) != nil else { return "binary data" }
        // The search goes beyond the excerpt, because a secret that begins inside it must be found whole.
        let redacted = redaction.body(
            Array(body.prefix(limit + redaction.reach)), response?.header ?? .empty, upTo: shown)
        return Self.singleLine(String(decoding: redacted, as: UTF8.self)) + (body.count > limit ? "…" : "")
    }
}
