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

    /// The number of fields.
    static let count = 61

    /// The fields; the position of each is one less than its index.
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
    /// Returns the index of the first field whose name is that of the field at `position` of `other`, or nil.
    static func index(ofNameOf position: Int, in other: FieldQueue) -> Int? {
        indices[other.withField(at: position) { name, _ in key(name) }].first {
            fields.hasName(of: position, in: other, at: $0 - 1)
        }
    }

    /// Returns the index of the field that equals the one at `position` of `other`, or nil.
    ///
    /// - Parameters:
    ///   - position: The position of the field in `other`.
    ///   - other: The fields.
    ///   - first: The index of the first field with the same name; all others follow it.
    /// - Returns: The index.
    static func index(of position: Int, in other: FieldQueue, from first: Int) -> Int? {
        var index = first
        while index <= count, fields.hasName(of: position, in: other, at: index - 1) {
            if fields.hasValue(of: position, in: other, at: index - 1) { return index }
            index += 1
        }
        return nil
    }

    /// Returns the key of a name: five bits each of its length and its first byte, which distinguish most names.
    private static func key(_ name: Span<UInt8>) -> Int {
        name.isEmpty ? 0 : (name.count & 0x1F) << 5 | Int(name[0] & 0x1F)
    }

    /// The indices of the names with a key, by the key; of each name that of its first field.
    private static let indices: [[Int]] = {
        var indices = [[Int]](repeating: [], count: 1 << 10)
        for index in 1...count where index == 1 || !fields.hasName(of: index - 2, in: fields, at: index - 1) {
            indices[fields.withField(at: index - 1) { name, _ in key(name) }].append(index)
        }
        return indices
    }()
}
