/// Why a body cannot be made as described.
@nonexhaustive
public enum InvalidBody: Error, Hashable, Sendable {
    /// The text holds a character that its charset has not.
    case textNotEncodable(TextCharset)
    /// The URL that was to name a file has another scheme.
    case notAFileURL(scheme: String?)
    /// The body can be compressed or collected only when it is in memory or shorter than the limit.
    case notInMemory
    /// The boundary is empty, longer than 70 characters, ends in a space or holds what none may (RFC 2046 §5.1.1).
    case invalidBoundary
    /// The content of a part holds the boundary, and no other could be drawn.
    case boundaryInContent
    /// The name of a part's field is not a token, or its value holds a control byte.
    case invalidPartField
    /// A part, or a file, has not as many bytes as it was said to have.
    case wrongLength(expected: Int, found: Int)
}

extension InvalidBody: CustomStringConvertible {
    /// What is wrong, in one line.
    public var description: String {
        switch self {
        case .textNotEncodable(let charset): "the text holds a character that \(charset.name) has not"
        case .notAFileURL(let scheme): "the URL names no file: its scheme is \(scheme ?? "missing")"
        case .notInMemory: "the body is not in memory, or longer than the limit"
        case .invalidBoundary: "the boundary is empty, too long, ends in a space or holds what none may"
        case .boundaryInContent: "the content of a part holds the boundary"
        case .invalidPartField: "a part's field has an invalid name or a control byte in its value"
        case .wrongLength(let expected, let found): "\(found) bytes were found where there should be \(expected)"
        }
    }
}
