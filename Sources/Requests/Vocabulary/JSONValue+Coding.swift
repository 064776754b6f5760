extension JSONValue: Codable {
    /// The maximum nesting depth, 512 levels, as in Foundation's decoder.
    package static let maximumDepth = 512

    /// Creates a value by decoding from `decoder`.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` for a value that is not JSON, a number out of range, or a value nested deeper than 512
    ///   levels.
    public init(from decoder: any Decoder) throws {
        // The path is left out: it would have more than 512 components.
        guard decoder.codingPath.count <= Self.maximumDepth else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "nested deeper than \(Self.maximumDepth) levels"))
        }
        if let members = try? decoder.container(keyedBy: Name.self) {
            var object: [String: JSONValue] = [:]
            for key in members.allKeys { object[key.stringValue] = try members.decode(JSONValue.self, forKey: key) }
            self = .object(object)
        } else if var elements = try? decoder.unkeyedContainer() {
            var array: [JSONValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSONValue.self)) }
            self = .array(array)
        } else {
            self = try Self.scalar(in: decoder.singleValueContainer())
        }
    }

    private static func scalar(in container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(String.self) { return .string(value) }
        if let value = try? container.decode(Int.self) { return .integer(value) }
        // Last, because the error of `Double` describes a number that is out of range.
        return .number(try container.decode(Double.self))
    }

    /// Encodes the value as the JSON it represents.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: The error of the encoder, such as for infinity and NaN, which JSON cannot represent.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            // As a dictionary, because a keyed container would apply the key strategy of `JSONEncoder` to the names.
            var container = encoder.singleValueContainer()
            try container.encode(members)
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            default: try container.encodeNil()
            }
        }
    }

    /// The name of a member as a coding key.
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON on one line, with members sorted by name, and infinity and NaN as `null`.
    public var description: String {
        var text = ""
        for event in JSONWalk(self) {
            switch event {
            case .end(let isObject): text += isObject ? "}" : "]"
            case .begin(let value, let name, let isFirst):
                if !isFirst { text += "," }
                if let name {
                    Self.append(name, to: &text)
                    text += ":"
                }
                value.appendBeginning(to: &text)
            }
        }
        return text
    }

    /// Appends a scalar, or the bracket that begins a container.
    private func appendBeginning(to text: inout String) {
        switch self {
        case .array: text += "["
        case .object: text += "{"
        case .string(let value): Self.append(value, to: &text)
        case .number(let value) where !value.isFinite: text += "null"
        default: text += self.text ?? "null"
        }
    }

    /// Appends `string` as a JSON string, with quotation marks and escapes.
    private static func append(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20:
                text += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
