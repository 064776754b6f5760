/// A reader for values in the Distinguished Encoding Rules of ASN.1 (X.690 §10), which moves forward.
///
/// The bytes come from a peer and are not trusted: a value that is incomplete ends the reading.
struct DERReader {
    /// A value whose tag has one byte.
    struct Value {
        let tag: UInt8
        /// The tag, the length and the content.
        let encoded: ArraySlice<UInt8>
        let content: ArraySlice<UInt8>

        /// A reader of the values in the content.
        var reader: DERReader { DERReader(content) }
    }

    /// The bytes that have not been read.
    private(set) var remaining: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        remaining = bytes
    }

    /// Returns the next value; nil at the end, or if it is incomplete.
    mutating func next() -> Value? {
        let start = remaining.startIndex
        var bytes = remaining
        guard let tag = bytes.popFirst(), let length = Self.length(&bytes), length <= bytes.count else { return nil }
        let content = bytes.prefix(length)
        let encoded = remaining[start..<content.endIndex]
        remaining = bytes.dropFirst(length)
        return Value(tag: tag, encoded: encoded, content: content)
    }

    /// Returns the next value if it has `tag`.
    mutating func next(_ tag: UInt8) -> Value? {
        guard remaining.first == tag else { return nil }
        return next()
    }

    /// Returns a length of at most 2 GiB; nil if it is greater or incomplete.
    private static func length(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        let count = Int(first & 0x7F)
        guard (1...4).contains(count), bytes.count >= count else { return nil }
        let length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        bytes = bytes.dropFirst(count)
        return length <= Int(Int32.max) ? length : nil
    }
}
