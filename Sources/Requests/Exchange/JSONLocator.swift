/// A search for the value that a decoding error refers to in a JSON text (RFC 8259).
///
/// It skips values without decoding them. Texts nested deeper than 200 levels are not searched.
package struct JSONLocator {
    /// A step on the path from a value to a value inside it.
    package enum PathComponent: Hashable, Sendable {
        /// The member with this name in an object; `_` and ASCII case are ignored, because decoders convert names.
        case key(String)
        /// The element at this index in an array.
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

    /// Returns the byte offset of the value at `path` in `data`; an empty path refers to the whole text.
    ///
    /// - If the value is missing, the result is the offset of the innermost value that exists on the path.
    /// - If the text is not JSON, the result is the offset of the first invalid byte.
    /// - If the path is empty, the result is the offset of the first byte after the value, or 0 if there is none.
    /// - If the text is nested too deeply, or is not a container although there is a path, the result is nil.
    package static func offset(of path: [PathComponent], in data: Data) -> Int? {
        var locator = JSONLocator(data)
        do {
            if let found = try locator.value(path[...]) { return found }
            return path.isEmpty ? locator.trailing ?? 0 : nil
        } catch {
            return locator.isTooDeep ? nil : min(locator.position, data.count)
        }
    }

    /// The offset of the first byte after the value and any white space; nil if there is none.
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

    /// Skips one value, and returns the offset of the value at `path` within it; nil for an empty path or a scalar.
    private mutating func value(_ path: ArraySlice<PathComponent>) throws(Malformed) -> Int? {
        skipWhitespace()
        depth += 1
        defer { depth -= 1 }
        // The search is recursive: the limit bounds the stack that a peer's text can use.
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

    /// Skips an object or an array.
    ///
    /// Returns the offset of the value at `path`, or of the container if that value is missing; nil for an empty path.
    private mutating func container(_ path: ArraySlice<PathComponent>, until end: UInt8) throws(Malformed) -> Int? {
        let start = position
        var index = 0
        position += 1
        skipWhitespace()
        if byte != end {
            while true {
                var component = PathComponent.index(index)
                if end == UInt8(ascii: "}") {
                    component = .key(try name())
                }
                skipWhitespace()
                let valueStart = position
                if let first = path.first, first.matches(component) {
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

    /// Returns the text between quotation marks without decoding its escapes.
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

extension JSONLocator.PathComponent {
    fileprivate func matches(_ other: Self) -> Bool {
        guard case .key(let left) = self, case .key(let right) = other else { return self == other }
        let underscore = UInt8(ascii: "_")
        return left.utf8.lazy.filter { $0 != underscore }.map(ASCIIFolding.folded)
            .elementsEqual(right.utf8.lazy.filter { $0 != underscore }.map(ASCIIFolding.folded))
    }
}
