/// Finds the place in a JSON text (RFC 8259) that a decoding error speaks of.
///
/// It reads no values; it only walks to one. Texts nested deeper than 200 levels are not walked.
package struct JSONLocator {
    /// One step from a value to one within it.
    package enum Step: Hashable, Sendable {
        /// The member of an object, by name; `_` and case do not count, because decoders convert names.
        case key(String)
        /// The element of an array.
        case index(Int)
    }

    private struct Malformed: Error {}

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private var isTooDeep = false

    private init(_ data: Data) {
        bytes = Array(data)
    }

    /// The offset of the value at `path`; an empty path is the whole text.
    ///
    /// When that value is missing it is the last one on the way there, when the text is no JSON the first byte that
    /// cannot be read; nil when there is nothing to show.
    package static func offset(of path: [Step], in data: Data) -> Int? {
        var locator = JSONLocator(data)
        do {
            if let found = try locator.value(path[...]) { return found }
            return path.isEmpty ? locator.trailing ?? 0 : nil
        } catch {
            return locator.isTooDeep ? nil : min(locator.position, data.count)
        }
    }

    /// Where something follows the value, if anything does.
    private var trailing: Int? {
        var copy = self
        copy.skipWhitespace()
        return copy.position < bytes.count ? copy.position : nil
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipWhitespace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func expect(_ expected: UInt8) throws(Malformed) {
        guard byte == expected else { throw Malformed() }
        position += 1
    }

    /// Walks over one value; gives the offset of what is at `path` within it, nil when the path is empty.
    private mutating func value(_ path: ArraySlice<Step>) throws(Malformed) -> Int? {
        skipWhitespace()
        depth += 1
        defer { depth -= 1 }
        isTooDeep = isTooDeep || depth > 200
        guard !isTooDeep, let byte else { throw Malformed() }
        switch byte {
        case UInt8(ascii: "{"): return try container(path, until: UInt8(ascii: "}"))
        case UInt8(ascii: "["): return try container(path, until: UInt8(ascii: "]"))
        case UInt8(ascii: "\""): _ = try string()
        default: try scalar()
        }
        return nil
    }

    /// Walks over the members of an object or the elements of an array.
    private mutating func container(_ path: ArraySlice<Step>, until end: UInt8) throws(Malformed) -> Int? {
        let start = position
        var index = 0
        position += 1
        skipWhitespace()
        if byte != end {
            while true {
                var step = Step.index(index)
                if end == UInt8(ascii: "}") {
                    step = .key(try name())
                }
                skipWhitespace()
                let valueStart = position
                if let first = path.first, first.matches(step) {
                    return path.count == 1 ? valueStart : try value(path.dropFirst()) ?? valueStart
                }
                _ = try value([])
                skipWhitespace()
                if byte == end { break }
                try expect(UInt8(ascii: ","))
                index += 1
            }
        }
        position += 1
        return path.isEmpty ? nil : start
    }

    private mutating func name() throws(Malformed) -> String {
        skipWhitespace()
        let name = try string()
        skipWhitespace()
        try expect(UInt8(ascii: ":"))
        return name
    }

    /// The text between quotation marks, escapes as they stand.
    private mutating func string() throws(Malformed) -> String {
        try expect(UInt8(ascii: "\""))
        let start = position
        while let byte, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Malformed() }
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = min(position, bytes.count)
        try expect(UInt8(ascii: "\""))
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func scalar() throws(Malformed) {
        for literal in ["true", "false", "null"] where bytes[position...].starts(with: literal.utf8) {
            position += literal.utf8.count
            return
        }
        let start = position
        while let byte, byte &- 0x30 < 10 || "+-.eE".utf8.contains(byte) { position += 1 }
        guard position > start else { throw Malformed() }
    }
}

extension JSONLocator.Step {
    fileprivate func matches(_ other: Self) -> Bool {
        guard case .key(let left) = self, case .key(let right) = other else { return self == other }
        let underscore = UInt8(ascii: "_")
        return left.utf8.lazy.filter { $0 != underscore }.map(ASCIIFolding.folded)
            .elementsEqual(right.utf8.lazy.filter { $0 != underscore }.map(ASCIIFolding.folded))
    }
}
