import Requests

/// A reader of the representations in a header block (RFC 7541 §5, §6), which may be incomplete.
struct BlockReader {
    /// A field, or a change of the table.
    enum Representation {
        case indexed(Int)
        /// A field with a literal value; its name is an index or a literal.
        case literal(name: Name, value: StringLiteral, isInserted: Bool)
        case tableSize(Int)
    }

    enum Name {
        case indexed(Int)
        case literal(StringLiteral)
    }

    /// The location of a string.
    struct StringLiteral {
        var range: Range<Int>
        var isHuffmanCoded: Bool
    }

    /// The position after the last representation that was read.
    private(set) var position = 0

    /// Reads the next representation; returns nil if the bytes end before it does.
    mutating func next(in bytes: Span<UInt8>) throws(HPACKError) -> Representation? {
        guard position < bytes.count else { return nil }
        let start = position
        guard let representation = try read(in: bytes, first: bytes[start]) else {
            position = start
            return nil
        }
        return representation
    }

    private mutating func read(in bytes: Span<UInt8>, first: UInt8) throws(HPACKError) -> Representation? {
        if first & 0x80 != 0 { return try integer(in: bytes, prefix: 7).map { .indexed($0) } }
        if first & 0xE0 == 0x20 { return try integer(in: bytes, prefix: 5).map { .tableSize($0) } }
        let isInserted = first & 0x40 != 0
        guard let index = try integer(in: bytes, prefix: isInserted ? 6 : 4) else { return nil }
        var name = Name.indexed(index)
        if index == 0 {
            guard let literal = try string(in: bytes) else { return nil }
            name = .literal(literal)
        }
        return try string(in: bytes).map { .literal(name: name, value: $0, isInserted: isInserted) }
    }

    private mutating func string(in bytes: Span<UInt8>) throws(HPACKError) -> StringLiteral? {
        guard position < bytes.count else { return nil }
        let isHuffmanCoded = bytes[position] & 0x80 != 0
        guard let count = try integer(in: bytes, prefix: 7), count <= bytes.count - position else { return nil }
        defer { position += count }
        return StringLiteral(range: position..<position + count, isHuffmanCoded: isHuffmanCoded)
    }

    /// Reads an integer that begins with the last `prefix` bits of the first byte (RFC 7541 §5.1).
    private mutating func integer(in bytes: Span<UInt8>, prefix: Int) throws(HPACKError) -> Int? {
        let mask = 1 << prefix - 1
        var value = Int(bytes[position]) & mask
        position += 1
        guard value == mask else { return value }
        // Five more bytes are sufficient for 31 bits; a longer number would only cost time.
        for shift in stride(from: 0, through: 28, by: 7) {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            value += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 {
                guard value <= Int32.max else { throw .malformed(.integer) }
                return value
            }
        }
        throw .malformed(.integer)
    }
}
