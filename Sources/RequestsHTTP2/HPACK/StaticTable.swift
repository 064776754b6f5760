import Requests

/// The fields to which every header block can refer, with the indices 1 to 61 (RFC 7541 §2.3.1, Appendix A).
enum StaticTable {
    private static let literals: [(name: StaticString, value: StaticString)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
        ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
        ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
        ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]

    static let count = 61

    /// The name of a pseudo-header field; the raw value is the index of the first field with this name.
    enum PseudoName: Int {
        case authority = 1
        case method = 2
        case path = 4
        case scheme = 6
        case status = 8
    }

    /// The fields; the position of a field is one less than its index.
    static let fields = literals.reduce(into: FieldQueue()) { fields, literal in
        fields.append(nameCount: literal.name.utf8CodeUnitCount) { text in
            for part in [literal.name, literal.value] {
                text.append(contentsOf: UnsafeBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount))
            }
        }
    }
}

// MARK: Finding

extension StaticTable {
    /// Returns the index of the first field with the same name as the field at `position` in `other`; nil if there is
    /// none.
    static func index(ofNameOf position: Int, in other: FieldQueue) -> Int? {
        var index = names.first[key(ofNameOf: position, in: other)]
        while index > 0, !fields.hasName(of: position, in: other, at: index - 1) { index = names.next[index] }
        return index > 0 ? index : nil
    }

    /// Returns the index of the field that equals the one at `position` of `other`, or nil.
    ///
    /// - Parameters:
    ///   - position: The position of the field in `other`.
    ///   - other: The fields.
    ///   - first: The index of the first field with the same name; all others follow it.
    /// - Returns: The index.
    static func index(of position: Int, in other: FieldQueue, from first: Int) -> Int? {
        (first..<first + names.repetitions[first]).first { fields.hasValue(of: position, in: other, at: $0 - 1) }
    }

    /// Returns the key of a name: five bits each of its length and its first byte, which distinguish most names.
    private static func key(ofNameOf position: Int, in fields: FieldQueue) -> Int {
        fields.withField(at: position) { name, _ in
            name.isEmpty ? 0 : (name.count & 0x1F) << 5 | Int(name[0] & 0x1F)
        }
    }

    /// The different names.
    private struct Names {
        /// By the key, the index of a name that has it, or 0.
        var first = [Int](repeating: 0, count: 1 << 10)
        /// By the index of a name, the index of another name with the same key, or 0.
        var next = [Int](repeating: 0, count: StaticTable.count + 1)
        /// By the index of a name, the number of fields that have it.
        var repetitions = [Int](repeating: 0, count: StaticTable.count + 1)
    }

    private static let names: Names = {
        var names = Names()
        var index = 1
        while index <= count {
            var end = index + 1
            while end <= count, fields.hasName(of: index - 1, in: fields, at: end - 1) { end += 1 }
            let key = key(ofNameOf: index - 1, in: fields)
            names.repetitions[index] = end - index
            names.next[index] = names.first[key]
            names.first[key] = index
            index = end
        }
        return names
    }()
}
