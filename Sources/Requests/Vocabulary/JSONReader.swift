/// A strict parser of one JSON text, without recursion (decision 0024).
struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    private var builder = JSONBuilder()

    /// Creates a parser of `bytes` that skips a byte order mark at their beginning.
    init(bytes: [UInt8]) {
        self.bytes = bytes
        // The byte order mark in UTF-8; parsers may ignore it (RFC 8259 §8.1).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The next byte, or nil at the end.
    var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Returns an error at the current position.
    func error(_ problem: JSONValue.SyntaxError.Problem) -> JSONValue.SyntaxError {
        JSONValue.SyntaxError(problem: problem, offset: min(position, bytes.count))
    }

    /// The error for a byte that is not allowed here, or for the end of the text.
    var unexpected: JSONValue.SyntaxError { error(byte == nil ? .truncated : .unexpectedByte) }

    /// Reads the whole text and returns its value.
    mutating func text() throws(JSONValue.SyntaxError) -> JSONValue {
        while true {
            try value()
            skipWhitespace()
            while try !separator() { skipWhitespace() }
            if let value = builder.value {
                guard byte == nil else { throw unexpected }
                return value
            }
        }
    }

    /// Reads the comma or the closing bracket after a value.
    ///
    /// - Returns: True if another value follows or no container is open; false if a container was closed.
    private mutating func separator() throws(JSONValue.SyntaxError) -> Bool {
        guard let isInObject = builder.isInObject else { return true }
        if skip(UInt8(ascii: ",")) {
            if isInObject { try name() }
            return true
        }
        guard skip(isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw unexpected }
        if let error = builder.end() { throw error }
        return false
    }

    private mutating func skipWhitespace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// Skips `expected` if it is the next byte, and returns whether it was.
    mutating func skip(_ expected: UInt8) -> Bool {
        guard byte == expected else { return false }
        position += 1
        return true
    }

    /// Reads a scalar or an empty container, and begins any containers that enclose it.
    private mutating func value() throws(JSONValue.SyntaxError) {
        while true {
            skipWhitespace()
            switch byte {
            case UInt8(ascii: "{")?: if try !begin(isObject: true) { return }
            case UInt8(ascii: "[")?: if try !begin(isObject: false) { return }
            default: return builder.append(try scalar())
            }
        }
    }

    /// Begins a container, and completes it if it is empty.
    ///
    /// - Returns: Whether the container has content, whose first value follows.
    private mutating func begin(isObject: Bool) throws(JSONValue.SyntaxError) -> Bool {
        guard builder.depth < JSONValue.maximumDepth else { throw error(.tooDeep) }
        position += 1
        builder.begin(isObject: isObject)
        skipWhitespace()
        if skip(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            builder.end()
            return false
        }
        if isObject { try name() }
        return true
    }

    /// Reads the name of a member and the colon after it.
    private mutating func name() throws(JSONValue.SyntaxError) {
        skipWhitespace()
        guard byte == UInt8(ascii: "\"") else { throw unexpected }
        let start = position
        let name = try string()
        guard Self.hasFewMarks(name) else { throw JSONValue.SyntaxError(problem: .combiningMarks, offset: start) }
        builder.name(name, at: start)
        skipWhitespace()
        guard skip(UInt8(ascii: ":")) else { throw unexpected }
    }

    /// Returns whether `name` has at most 30 combining marks in a row.
    ///
    /// The time to hash a name grows with the square of that number (decision 0024).
    private static func hasFewMarks(_ name: String) -> Bool {
        // 31 marks have at least 62 bytes.
        guard name.utf8.count > 61 else { return true }
        var marks = 0
        for scalar in name.unicodeScalars {
            switch scalar.value {
            case ..<0x300: marks = 0
            // Scalars of combining class 0 that decompose into two marks.
            case 0x0F73, 0x0F75, 0x0F81: marks += 2
            default: marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
            }
            if marks > 30 { return false }
        }
        return true
    }
}
