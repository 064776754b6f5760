/// The errors of a body that cannot be read as XML.
@nonexhaustive
public enum InvalidXML: Error, Hashable, Sendable {
    /// The text is not well-formed XML from this place on; lines, and code points in the line, are counted from 1.
    case malformed(line: Int, column: Int)
    /// The document has a document type declaration, which is where entities and references to other files come from.
    case documentType
    /// Elements are nested deeper than the limit.
    case tooDeep(limit: Int)
    /// The text is in a charset that is not read: UTF-8, UTF-16, US-ASCII, ISO-8859-1 and windows-1252 are.
    case unsupportedCharset(String)
}

extension InvalidXML: CustomStringConvertible {
    /// What is wrong, in one line.
    public var description: String {
        switch self {
        case .malformed(let line, let column): "malformed XML at line \(line), column \(column)"
        case .documentType: "the document has a document type declaration, which is refused"
        case .tooDeep(let limit): "elements are nested deeper than \(limit) levels"
        case .unsupportedCharset(let name): "the charset “\(name)” is not read"
        }
    }
}
