/// Why bytes are no JSON text (RFC 8259).
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Problem: Hashable, Sendable {
        /// The text ends in the middle of a value: it was cut short, or is empty.
        case endsEarly
        /// A byte that cannot stand there.
        case unexpectedByte
        /// A string that is no UTF-8, or escapes half of a surrogate pair.
        case invalidString
        /// Values nested deeper than ``JSONValue/maximumDepth``.
        case tooDeep
    }

    /// What is wrong.
    public let problem: Problem

    /// Where, in bytes from the beginning.
    public let offset: Int

    /// What is wrong and where, in one line.
    public var description: String {
        let text =
            switch problem {
            case .endsEarly: "the JSON text ends early"
            case .unexpectedByte: "no JSON text"
            case .invalidString: "no UTF-8 in a JSON string"
            case .tooDeep: "JSON nested deeper than \(JSONValue.maximumDepth) levels"
            }
        return "\(text) at byte \(offset)"
    }

    /// What is wrong with `data` as a JSON text; nil when nothing is.
    ///
    /// Tells JSON cut short, which asking again may mend, from JSON that is wrong.
    public static func check(_ data: Data) -> JSONSyntaxError? {
        do {
            _ = try JSONValue(parsing: data)
            return nil
        } catch {
            return error
        }
    }
}

extension JSONValue {
    /// Reads a JSON text in UTF-8, a byte order mark before it ignored.
    ///
    /// - Throws: `JSONSyntaxError`, with where the text stops being JSON.
    public init(parsing data: Data) throws(JSONSyntaxError) {
        var reader = JSONReader(bytes: Array(data))
        self = try reader.text()
    }
}

/// Reads one JSON text; only as many calls deep as values may be nested.
private struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    var depth = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func error(_ problem: JSONSyntaxError.Problem) -> JSONSyntaxError {
        JSONSyntaxError(problem: problem, offset: min(position, bytes.count))
    }

    /// The error of a byte that cannot stand here, or of a missing one.
    private var unexpected: JSONSyntaxError { error(byte == nil ? .endsEarly : .unexpectedByte) }

    mutating func text() throws(JSONSyntaxError) -> JSONValue {
        let value = try value()
        skipWhitespace()
        guard byte == nil else { throw unexpected }
        return value
    }

    private mutating func skipWhitespace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func skip(_ expected: UInt8) -> Bool {
        guard byte == expected else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONValue {
        skipWhitespace()
        switch byte {
        case UInt8(ascii: "{")?: return try object()
        case UInt8(ascii: "[")?: return try array()
        case UInt8(ascii: "\"")?: return .string(try string())
        case UInt8(ascii: "t")?: return try literal("true", .bool(true))
        case UInt8(ascii: "f")?: return try literal("false", .bool(false))
        case UInt8(ascii: "n")?: return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func enter() throws(JSONSyntaxError) {
        depth += 1
        guard depth <= JSONValue.maximumDepth else { throw error(.tooDeep) }
        position += 1
        skipWhitespace()
    }

    private mutating func array() throws(JSONSyntaxError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        if skip(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value())
            skipWhitespace()
            if skip(UInt8(ascii: "]")) { return .array(elements) }
            guard skip(UInt8(ascii: ",")) else { throw unexpected }
        }
    }

    private mutating func object() throws(JSONSyntaxError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members: [String: JSONValue] = [:]
        if skip(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipWhitespace()
            guard byte == UInt8(ascii: "\"") else { throw unexpected }
            let name = try string()
            skipWhitespace()
            guard skip(UInt8(ascii: ":")) else { throw unexpected }
            members[name] = try value()
            skipWhitespace()
            if skip(UInt8(ascii: "}")) { return .object(members) }
            guard skip(UInt8(ascii: ",")) else { throw unexpected }
        }
    }

    private mutating func literal(_ text: String, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        for expected in text.utf8 {
            guard skip(expected) else { throw unexpected }
        }
        return value
    }

    private mutating func digits() throws(JSONSyntaxError) {
        guard let first = byte, first &- 0x30 < 10 else { throw unexpected }
        while let byte, byte &- 0x30 < 10 { position += 1 }
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        let wholeEnd = position
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if position == wholeEnd, let integer = Int(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else {
            position = start
            throw error(.unexpectedByte)
        }
        return .number(number)
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while let byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        var text = Array(bytes[start..<position])
        while let byte, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw unexpected }
            position += 1
            if byte == UInt8(ascii: "\\") { try escape(&text) } else { text.append(byte) }
        }
        guard skip(UInt8(ascii: "\"")) else { throw unexpected }
        guard let string = String(validating: text, as: UTF8.self) else { throw error(.invalidString) }
        return string
    }

    private mutating func escape(_ text: inout [UInt8]) throws(JSONSyntaxError) {
        guard let byte else { throw unexpected }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            text.append(contentsOf: String(try scalar()).utf8)
            return
        default: throw unexpected
        }
        position += 1
    }

    /// The scalar that `\u` names, with the second half of a surrogate pair read too.
    private mutating func scalar() throws(JSONSyntaxError) -> Unicode.Scalar {
        let unit = try hexadecimal()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00 else { throw error(.invalidString) }
        guard skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else {
            throw error(byte == nil ? .endsEarly : .invalidString)
        }
        let low = try hexadecimal()
        guard low &- 0xDC00 < 0x400, let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw error(.invalidString) }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = byte.flatMap(Hex.value) else { throw unexpected }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }
}
