extension JSONDecoder {
    /// Decodes a value from a JSON text; a ``JSONValue`` is parsed by ``JSONValue/init(parsing:)``.
    package func value<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        if type == JSONValue.self, let value = try jsonValue(from: data) as? Value { return value }
        return try decode(type, from: data)
    }

    /// Parses a JSON text with our own parser, which is strict and faster than this decoder (decision 0024).
    ///
    /// If this decoder has strategies for keys or non-conforming numbers, our parser checks the text and this decoder
    /// decodes it. If it allows JSON5 or assumes a top-level dictionary, only this decoder reads the text.
    package func jsonValue(from data: Data) throws -> JSONValue {
        guard !allowsJSON5, !assumesTopLevelDictionary else { return try decode(JSONValue.self, from: data) }
        let value = try JSONValue(parsing: data)
        if case .useDefaultKeys = keyDecodingStrategy, case .throw = nonConformingFloatDecodingStrategy { return value }
        return try decode(JSONValue.self, from: data)
    }
}
