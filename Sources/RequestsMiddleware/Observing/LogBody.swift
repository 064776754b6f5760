import Requests

/// The beginning of a body as log lines.
struct LogBody {
    let redaction: ExchangeRedaction
    /// The maximum number of bytes that are shown.
    let limit: Int

    /// Returns the number of bytes that must be available to find every secret in the bytes that are shown.
    static func needed(for limit: Int) -> Int { limit > 0 ? limit + (4 << 10) : 0 }

    /// Returns the lines of a body without secrets.
    ///
    /// Text is shown in lines, other content as its size.
    ///
    /// - Parameters:
    ///   - beginning: The body, or its beginning.
    ///   - count: The number of bytes of the whole body; nil if it is unknown.
    ///   - header: The header that describes it.
    /// - Returns: The lines; none for an empty body.
    func lines(of beginning: Data, count: Int?, _ header: Header) -> [String] {
        let size = count.map(ErrorText.bytes) ?? "unknown size"
        guard limit > 0, !beginning.isEmpty else { return count == 0 ? [] : ["<\(size)>"] }
        if redaction.hidesBodies { return ["<\(size)>"] }
        let type = header[.contentType].flatMap(MediaType.init)
        guard !header.contains(.contentEncoding), type?.type != "multipart", let text = text(of: beginning) else {
            return ["<binary data, \(size)>"]
        }
        var bytes = redaction.body(text, header)
        let isCut = bytes.count > limit || count.map { $0 > beginning.count } == true
        // A scalar that the limit cuts is left out.
        if bytes.count > limit { bytes = Array(Self.wholeScalars(bytes[..<limit])) }
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            LogText.escaped(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
        }
        if lines.last?.isEmpty == true, lines.count > 1 { lines.removeLast() }
        return isCut ? lines + ["… (\(size))"] : lines
    }

    /// Returns the bytes of `data` if they are text without NUL, except for a Unicode scalar that the end cuts.
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
}
