package import Requests

/// The content codings of a body, in the order in which they were applied (RFC 9110 §8.4).
package struct ContentCodingList: Sendable {
    /// Names that mean no coding.
    ///
    /// “none” is not registered, but servers send it.
    private static let none = ["identity", "none"]

    /// The default for the maximum number of codings that are applied to one body in succession.
    package static let maximumCount = 5

    /// The names as the server wrote them; empty if there is nothing to decode.
    package let names: [String]

    /// Creates the list of the codings that Content-Encoding names in `header`.
    package init(_ header: Header) {
        names = header.values(of: .contentEncoding).flatMap { value in
            // By bytes, because a combining mark after a comma forms another `Character` with it.
            value.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0.trimmingBlanks)) }.filter { name in
                !name.isEmpty && !Self.none.contains { ASCIIFolding.areEqual($0, name) }
            }
        }
    }
}

extension ContentCodingList {
    /// Returns the bytes of a whole body without its codings.
    ///
    /// - Parameters:
    ///   - body: The body with all its codings; without codings it is returned unchanged.
    ///   - limit: The maximum number of bytes after each coding.
    ///   - mayBeCut: Whether the body may end before the end of its codings.
    /// - Returns: The decoded bytes.
    /// - Throws: `CodingFault` if a coding is unknown or has no library on this system, if there are more than
    ///   ``maximumCount``, if the bytes are damaged or truncated, or if there are more than `limit`.
    package func decode(_ body: Data, limit: Int, mayBeCut: Bool) throws(CodingFault) -> Data {
        guard names.count <= Self.maximumCount else {
            throw CodingFault(read: 0, problem: "more than \(Self.maximumCount) content codings")
        }
        var body = body
        for name in names.reversed() {
            guard let decoder = ContentCoding(named: name)?.makeDecoder() else {
                throw CodingFault(read: 0, problem: "unsupported content coding \(ErrorText.quoted(name))")
            }
            body = try decoder.decode(whole: body, limit: limit)
            guard mayBeCut || decoder.isAtEnd else {
                throw CodingFault(read: body.count, problem: "\(name) data is truncated")
            }
        }
        return body
    }
}

extension CodingDecoder {
    /// Returns the decoded bytes of a whole body; more than `limit` are an error.
    fileprivate func decode(whole body: Data, limit: Int) throws(CodingFault) -> Data {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var decoded = Data()
        var remaining = body
        while true {
            let (read, written) = try remaining.withUnsafeBytes { bytes in
                Result { () throws(CodingFault) in try decode(bytes, into: buffer) }
            }.get()
            remaining = remaining.dropFirst(read)
            decoded.append(contentsOf: buffer[..<written])
            let position = body.count - remaining.count
            guard decoded.count <= limit else {
                throw CodingFault(read: position, problem: "it decodes to more than \(ErrorText.bytes(limit))")
            }
            if remaining.isEmpty, written < buffer.count { return decoded }
            guard read > 0 || written > 0 else {
                throw CodingFault(read: position, problem: "the decoder made no progress")
            }
        }
    }
}
