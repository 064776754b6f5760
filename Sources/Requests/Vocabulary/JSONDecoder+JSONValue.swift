extension JSONDecoder {
    /// Decodes a value from a JSON text; a ``JSONValue`` as ``JSONValue/init(parsing:)`` reads it.
    @inlinable
    package func value<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        if type == JSONValue.self, let value = try jsonValue(from: data) as? Value { return value }
        return try decode(type, from: data)
    }

    /// Reads a JSON text with our own reader, which is strict and faster than this decoder (decision 0024).
    ///
    /// With options that change names or numbers the text is checked by that reader and decoded by this decoder; with
    /// options that change what JSON is, it is this decoder's alone.
    @usableFromInline
    package func jsonValue(from data: Data) throws -> JSONValue {
        guard !allowsJSON5, !assumesTopLevelDictionary else { return try decode(JSONValue.self, from: data) }
        let value = try JSONValue(parsing: data)
        if case .useDefaultKeys = keyDecodingStrategy, case .throw = nonConformingFloatDecodingStrategy { return value }
        return try decode(JSONValue.self, from: data)
    }
}
