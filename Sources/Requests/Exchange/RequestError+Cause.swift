extension RequestError {
    /// Returns the method, the URL, the status, the reason, the cause and the server's message in one line, without
    /// secrets.
    func line(redactedBy redaction: ExchangeRedaction) -> String {
        var parts: [String] = []
        if let request { parts.append("\(request.method) \(redaction.url(request.target))") }
        if let status { parts.append("\(status)") }
        parts.append(reasonText)
        parts += causes(redactedBy: redaction)
        return Self.singleLine(redaction.text(parts.joined(separator: ": ")))
    }

    private var reasonText: String {
        guard reason == .decodingFailed, let decodedType else { return "\(reason)" }
        return "could not decode \(Self.shortened(decodedType))"
    }

    /// Returns the detail, or else the cause.
    ///
    /// Both for a body that could not be decoded, because then the detail is only the place.
    private func causes(redactedBy redaction: ExchangeRedaction) -> [String] {
        let cause = reason == .decodingFailed || detail == nil ? causeText(redactedBy: redaction) : nil
        // An error that repeats the detail adds nothing.
        let distinct = cause.flatMap { $0.hasSameBytes(as: detail ?? "") ? nil : $0 }
        return [
            detail, distinct, offeredSchemes, remainingCoding, serverMessage(redactedBy: redaction),
            retryRefusal?.note(after: retries),
        ].compactMap { $0 }
    }

    /// Returns a short description of the underlying error; nil if it says no more than the reason.
    private func causeText(redactedBy redaction: ExchangeRedaction) -> String? {
        switch underlying {
        case nil: return nil
        case let error as DecodingError:
            let (problem, context) = Self.problem(of: error)
            // Redacted before it is cut, because part of a secret would not be found.
            return "\(problem) at \(Self.shortened(redaction.text(Self.text(of: context.codingPath))))"
        case is RequestError, is CancellationError: return nil
        case let error?: return Self.shortened(redaction.text("\(error)"), to: 2 * ErrorText.peerTextLimit)
        }
    }

    /// The schemes of the challenges in a 401 or 407 response (RFC 9110 §11.6.1, §11.7.1); nil if there are none.
    private var offeredSchemes: String? {
        guard reason == .unacceptableStatus, let response, response.status == 401 || response.status == 407 else {
            return nil
        }
        let name: Field.Name = response.status == 401 ? .wwwAuthenticate : .proxyAuthenticate
        let schemes = response.header.values(of: name).flatMap(AuthenticationChallenge.challenges(in:)).map(\.scheme)
        if schemes.isEmpty { return nil }
        // Five, because a peer can offer any number.
        let shown = schemes.prefix(5).map { Self.shortened($0) } + (schemes.count > 5 ? ["…"] : [])
        return "\(name) offers \(shown.joined(separator: ", "))"
    }

    /// The content coding that no middleware has removed from a body that could not be decoded; nil if there is none.
    private var remainingCoding: String? {
        guard reason == .decodingFailed, let value = response?.header[.contentEncoding] else { return nil }
        let isCoded = value.utf8.split(separator: UInt8(ascii: ",")).contains { coding in
            let name = String(decoding: coding.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
            return !name.isEmpty && !ASCIIFolding.areEqual(name, "identity")
        }
        guard isCoded else { return nil }
        return "the body has the content coding \(ErrorText.quoted(value, limit: ErrorText.peerTextLimit)); add "
            + "decodingContent() of RequestsMiddleware to the executor"
    }

    static func shortened(_ text: String, to limit: Int = ErrorText.peerTextLimit) -> String {
        text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "…" : text
    }
}

extension RequestError {
    static func explanation(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let (problem, context) = problem(of: error)
        return "\(problem) at \(text(of: context.codingPath)): \(context.debugDescription)"
    }

    static func text(of path: [any CodingKey]) -> String {
        let text = path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return text.isEmpty ? "the top level" : text
    }

    static func problem(of error: DecodingError) -> (String, DecodingError.Context) {
        switch error {
        case .typeMismatch(let type, let context): ("expected \(type)", context)
        case .valueNotFound(let type, let context): ("expected \(type), found null", context)
        case .keyNotFound(let key, let context): ("no value for “\(key.stringValue)”", context)
        case .dataCorrupted(let context): ("malformed", context)
        @unknown default: ("could not decode", DecodingError.Context(codingPath: [], debugDescription: "\(error)"))
        }
    }
}
