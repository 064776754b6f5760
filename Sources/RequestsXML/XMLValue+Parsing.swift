extension XMLValue {
    /// Parses a document as `.xml` does, and creates its root element.
    ///
    /// - Parameters:
    ///   - data: The document. Its byte order mark or its declaration names the charset, else it is UTF-8.
    ///   - depth: The maximum depth of elements, at most 512.
    /// - Throws: ``SyntaxError`` for a document that is not well-formed or nested deeper.
    public init(parsing data: Data, depth: Int = 100) throws(SyntaxError) {
        self = try XMLReader.read(XMLText(data, charset: nil), depth: depth).root
    }
}

extension RequestError {
    /// The body as XML; nil if its content type is not XML, or the body is not well-formed or nested more than 100
    /// deep.
    ///
    /// `error.bodyXML?["Message"]?.text`
    public var bodyXML: XMLValue? {
        guard let body, let type = response?.contentType, type.isXML else { return nil }
        return try? XMLReader.read(XMLText(body, charset: type.parameters["charset"]), depth: 100).root
    }
}
