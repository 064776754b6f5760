extension JSONValue {
    /// Creates a value by parsing a JSON text in UTF-8; a byte order mark before it is ignored (RFC 8259 §8.1).
    ///
    /// - Parameter data: The JSON text.
    /// - Throws: ``JSONValue/SyntaxError`` with the position of the problem.
    public init(parsing data: Data) throws(JSONValue.SyntaxError) {
        var reader = JSONReader(bytes: Array(data))
        self = try reader.text()
    }
}
