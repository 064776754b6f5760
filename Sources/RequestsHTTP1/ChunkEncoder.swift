package import Requests

/// An encoder of the chunk framing around body data (RFC 9112 §7.1); the data itself is never copied.
///
/// ```swift
/// encoder.begin(data.count, in: &buffer)     // then send `buffer` and `data`
/// try encoder.end(trailers: .empty, in: &buffer)
/// ```
package struct ChunkEncoder: Sendable {
    /// Whether the end of the last chunk remains to be appended.
    private var isOpen = false

    package init() {}

    /// Appends the end of the preceding chunk and the size of the next, at most 20 bytes.
    ///
    /// Appends nothing if `count` is 0, because a chunk of size 0 ends the body.
    package mutating func begin(_ count: Int, in buffer: inout [UInt8]) {
        guard count > 0 else { return }
        endChunk(in: &buffer)
        isOpen = true
        // Hexadecimal digits from the highest nibble that is not zero, without leading zeros.
        var shift = (Int.bitWidth - 1 - count.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift & 0xF)
            buffer.append(digit < 10 ? Octet.zero + digit : 0x61 + digit - 10)
            shift -= 4
        }
        FieldLines.endLine(in: &buffer)
    }

    /// Appends the last chunk, the trailer section and an empty line.
    ///
    /// - Throws: A violation, with nothing appended, if a field is malformed or not allowed in trailers (RFC 9110
    ///   §6.5.1).
    package mutating func end(trailers: Header = .empty, in buffer: inout [UInt8]) throws(WireError) {
        for field in trailers { try FieldLines.check(field) }
        guard trailers.allSatisfy(\.name.isAllowedInTrailers) else { throw .violation(.trailer) }
        endChunk(in: &buffer)
        buffer.append(Octet.zero)
        FieldLines.endLine(in: &buffer)
        for field in trailers { try FieldLines.append(field, to: &buffer) }
        FieldLines.endLine(in: &buffer)
    }

    /// Appends the end of the last chunk, unless that was done.
    ///
    /// It is for a pause before the next chunk.
    package mutating func endChunk(in buffer: inout [UInt8]) {
        if isOpen { FieldLines.endLine(in: &buffer) }
        isOpen = false
    }
}
