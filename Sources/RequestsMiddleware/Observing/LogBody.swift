import Requests

/// The beginning of a body as log lines.
struct LogBody {
    let redaction: Redaction
    /// The finder of the secrets of the request and the response.
    let secrets: [SecretFinder]
    /// The maximum number of bytes that are shown.
    let limit: Int

    /// The number of bytes that must be available to find every secret in those that are shown.
    static func needed(for limit: Int) -> Int { limit > 0 ? limit + (4 << 10) : 0 }

    /// Returns the lines of a body, without secrets; text on lines, other content as its size.
    ///
    /// - Parameters:
    ///   - beginning: The body, or its beginning.
    ///   - count: The number of bytes of the whole body; nil if it is unknown.
    ///   - header: The header that describes it.
    ///   - isSecret: Whether only its size may be shown.
    /// - Returns: The lines; none for an empty body.
    func lines(of beginning: Data, count: Int?, _ header: Header, isSecret: Bool) -> [String] {
        let size = count.map(ErrorText.bytes) ?? "unknown size"
        guard limit > 0, !beginning.isEmpty else { return count == 0 ? [] : ["<\(size)>"] }
        if isSecret { return ["<\(size)>"] }
        let type = header[.contentType].flatMap(MediaType.init)
        guard !header.contains(.contentEncoding), type?.type != "multipart", let text = text(of: beginning) else {
            return ["<binary data, \(size)>"]
        }
        var bytes = hidingSecrets(in: text, type)
        let isCut = bytes.count > limit || count.map { $0 > beginning.count } == true
        // A scalar that the limit cuts is left out.
        if bytes.count > limit { bytes = Array(Self.wholeScalars(bytes[..<limit])) }
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            LogText.escaped(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
        }
        if lines.last?.isEmpty == true, lines.count > 1 { lines.removeLast() }
        return isCut ? lines + ["… (\(size))"] : lines
    }

    /// Returns the bytes of `data`, without a scalar that its end cuts, if they are text without NUL.
    private func text(of data: Data) -> [UInt8]? {
        let bytes = Array(Self.wholeScalars(Array(data)[...]))
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { return nil }
        return bytes
    }

    /// Returns `bytes` without an incomplete UTF-8 sequence at its end (RFC 3629 §3).
    private static func wholeScalars(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let lead = bytes.suffix(4).lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return bytes }
        let length = bytes[lead] >= 0xF0 ? 4 : bytes[lead] >= 0xE0 ? 3 : bytes[lead] >= 0xC0 ? 2 : 1
        return bytes.endIndex - lead < length ? bytes[..<lead] : bytes
    }

    private func hidingSecrets(in text: [UInt8], _ type: MediaType?) -> [UInt8] {
        var bytes = text
        for finder in secrets where !finder.isEmpty { bytes = finder.redacted(bytes) }
        if type?.subtype == "x-www-form-urlencoded" {
            // As the query of a path, in which an at sign is not the end of userinfo.
            let form = "/?" + String(decoding: bytes, as: UTF8.self)
            return Array(redaction.redacted(reference: form).utf8.dropFirst(2))
        }
        return JSONSecrets(redaction).redacted(bytes)
    }
}

/// A search for the values of JSON members with secret names, in text that may be malformed or truncated.
struct JSONSecrets {
    private let redaction: Redaction

    init(_ redaction: Redaction) {
        self.redaction = redaction
    }

    /// Returns `text` with the values of secret members replaced by a string with ``Redaction/placeholder``.
    ///
    /// The time is linear in the length of the text.
    func redacted(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var (copied, index) = (0, 0)
        while let quote = text[index...].firstIndex(of: UInt8(ascii: "\"")) {
            let end = Self.endOfString(text, from: quote)
            index = end
            let colon = Self.skippingSpace(text, from: end)
            guard colon < text.count, text[colon] == UInt8(ascii: ":"), isSecret(text[quote..<end]) else { continue }
            let value = Self.skippingSpace(text, from: colon + 1)
            guard value < text.count else { break }
            result += text[copied..<value]
            result += "\"\(Redaction.placeholder)\"".utf8
            index = Self.endOfValue(text, from: value)
            copied = index
        }
        return copied == 0 ? text : result + text[copied...]
    }

    /// Whether the member with the quoted name `quoted` is secret.
    private func isSecret(_ quoted: ArraySlice<UInt8>) -> Bool {
        // Every secret name is shorter, even with every character escaped twice.
        guard quoted.count < 1 << 10 else { return false }
        var name = String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        if quoted.contains(UInt8(ascii: "\\")), case .string(let text)? = try? JSONValue(parsing: Data(quoted)) {
            name = text
        }
        return redaction.queryItemNames.contains(CaseInsensitiveString(name))
            || redaction.isSecret(Field.Name(name))
    }

    /// Returns the index after the string that begins at `start`, or the end of the text.
    private static func endOfString(_ text: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "\""): return index + 1
            default: index += 1
            }
        }
        return text.count
    }

    /// Returns the index after the value that begins at `start`: a string, an array, an object, or a word.
    private static func endOfValue(_ text: [UInt8], from start: Int) -> Int {
        var (index, depth) = (start, 0)
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""):
                index = endOfString(text, from: index)
                if depth == 0 { return index }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index }
                depth -= 1
                if depth == 0 { return index + 1 }
            case UInt8(ascii: ","), 0x0A:
                if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return text.count
    }

    private static func skippingSpace(_ text: [UInt8], from start: Int) -> Int {
        text[start...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? text.count
    }
}
