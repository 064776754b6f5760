extension XMLValue {
    /// The reason why a body could not be read as XML.
    @nonexhaustive
    public enum SyntaxError: Error, Hashable, Sendable {
        /// The text is not well-formed XML from this position on.
        ///
        /// Lines, and code points in the line, count from 1.
        case malformed(line: Int, column: Int)
        /// The document has a document type declaration, which can define entities and refer to other files.
        case documentType
        /// Elements are nested deeper than the limit.
        case tooDeep(limit: Int)
        /// The charset is not supported.
        ///
        /// The supported ones are UTF-8, UTF-16, US-ASCII, ISO-8859-1 and windows-1252.
        case unsupportedCharset(String)
    }
}

extension XMLValue.SyntaxError: CustomStringConvertible {
    /// One line with the problem and its position.
    public var description: String {
        switch self {
        case .malformed(let line, let column): "malformed XML at line \(line), column \(column)"
        case .documentType: "document type declarations are not allowed"
        case .tooDeep(let limit): "elements are nested deeper than \(limit) levels"
        case .unsupportedCharset(let name):
            "unsupported charset \(ErrorText.quoted(name, limit: ErrorText.peerTextLimit))"
        }
    }
}
