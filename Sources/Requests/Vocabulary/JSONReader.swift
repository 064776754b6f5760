/// Reads one JSON text, without recursion.
struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    private var builder = JSONBuilder()

    init(bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    func error(_ problem: JSONSyntaxError.Problem) -> JSONSyntaxError {
        JSONSyntaxError(problem: problem, offset: min(position, bytes.count))
    }

    /// The error of a byte that cannot stand here, or of a missing one.
    var unexpected: JSONSyntaxError { error(byte == nil ? .endsEarly : .unexpectedByte) }

    mutating func text() throws(JSONSyntaxError) -> JSONValue {
        while true {
            try value()
            skipWhitespace()
            while try !proceed() { skipWhitespace() }
            if let value = builder.value {
                guard byte == nil else { throw unexpected }
                return value
            }
        }
    }

    /// Reads what is behind a value; true when a value comes next or the text is complete, false behind a container.
    private mutating func proceed() throws(JSONSyntaxError) -> Bool {
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

    mutating func skip(_ expected: UInt8) -> Bool {
        guard byte == expected else { return false }
        position += 1
        return true
    }

    /// Reads a value, of containers that are not empty what comes before the first scalar.
    private mutating func value() throws(JSONSyntaxError) {
        while true {
            skipWhitespace()
            switch byte {
            case UInt8(ascii: "{")?: if try !begin(isObject: true) { return }
            case UInt8(ascii: "[")?: if try !begin(isObject: false) { return }
            default: return builder.append(try scalar())
            }
        }
    }

    /// Begins a container; false when it is empty, and so complete.
    private mutating func begin(isObject: Bool) throws(JSONSyntaxError) -> Bool {
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

    /// Reads the name of a member and the colon behind it.
    private mutating func name() throws(JSONSyntaxError) {
        skipWhitespace()
        guard byte == UInt8(ascii: "\"") else { throw unexpected }
        let start = position
        let name = try string()
        guard Self.hasFewMarks(name) else { throw JSONSyntaxError(problem: .combiningMarks, offset: start) }
        builder.name(name, at: start)
        skipWhitespace()
        guard skip(UInt8(ascii: ":")) else { throw unexpected }
    }

    /// Whether `name` has at most 30 combining marks in a row; the time to hash it grows with the square of their number.
    private static func hasFewMarks(_ name: String) -> Bool {
        // 31 marks take 62 bytes at least.
        guard name.utf8.count > 61 else { return true }
        var marks = 0
        for scalar in name.unicodeScalars {
            switch scalar.value {
            case ..<0x300: marks = 0
            // Starters that decompose into two marks.
            case 0x0F73, 0x0F75, 0x0F81: marks += 2
            default: marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
            }
            if marks > 30 { return false }
        }
        return true
    }
}
