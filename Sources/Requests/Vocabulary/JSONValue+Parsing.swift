extension JSONValue {
    /// Reads a JSON text in UTF-8; a byte order mark before it is ignored (RFC 8259 §8.1).
    ///
    /// - Throws: `JSONSyntaxError`, with the place where the text cannot be read.
    public init(parsing data: Data) throws(JSONSyntaxError) {
        var reader = JSONReader(bytes: Array(data))
        self = try reader.text()
    }
}
