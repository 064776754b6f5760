extension BodyProvider {
    /// The reason why a body cannot be produced as described.
    @nonexhaustive
    public enum BodyError: Error, Hashable, Sendable {
        /// The text contains a character that the charset cannot represent.
        case textNotEncodable(BodyProvider.Charset)
        /// The URL is not a file URL, because it has another scheme or none.
        case notAFileURL(scheme: String?)
        /// The body is not in memory and cannot be compressed, or it is longer than the limit and cannot be collected.
        case notInMemory
        /// The boundary is empty, longer than 70 characters, ends in a space or contains a forbidden character (RFC
        /// 2046 §5.1.1).
        case invalidBoundary
        /// The content of a part contains the boundary, and no other boundary could be generated.
        case boundaryInContent
        /// The name of a field in a part is not a token, or its value contains a control character.
        case invalidPartField
        /// The length of a part or file differs from its declared number of bytes.
        case wrongLength(expected: Int, found: Int)
    }
}

extension BodyProvider.BodyError: CustomStringConvertible {
    /// A description of the problem in one line.
    public var description: String {
        switch self {
        case .textNotEncodable(let charset):
            "the text contains a character that \(charset.name) cannot represent"
        case .notAFileURL(let scheme):
            "not a file URL: the scheme is \(scheme.map { "“\($0)”" } ?? "missing")"
        case .notInMemory: "the body is not in memory, or longer than the limit"
        case .invalidBoundary:
            "invalid boundary: empty, over 70 characters, ending in a space or with a character that is not allowed "
                + "(RFC 2046 §5.1.1)"
        case .boundaryInContent: "the content of a part contains the boundary"
        case .invalidPartField:
            "a part's field has an invalid name or a control character in its value"
        case .wrongLength(let expected, let found):
            "expected \(expected) byte\(expected == 1 ? "" : "s"), found \(found)"
        }
    }
}
