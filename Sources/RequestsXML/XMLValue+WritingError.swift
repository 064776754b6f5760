extension XMLValue {
    /// The reason why an element cannot be written as XML.
    @nonexhaustive
    public enum WritingError: Error, Hashable, Sendable {
        /// The name of an element or an attribute is not a name with at most one prefix (Namespaces in XML 1.0 §4).
        case invalidName(String)
        /// No attribute and no namespace of an element declares the prefix.
        case undeclaredPrefix(String)
        /// The namespace cannot have its prefix, or an attribute gives the prefix of the element another namespace.
        case invalidNamespace(String)
        /// Two attributes of an element have the same name in the same namespace.
        case repeatedAttribute(String)
        /// XML cannot contain the character, even as a reference (XML 1.0 §2.2).
        case forbiddenCharacter(Unicode.Scalar)
        /// Elements are nested deeper than the limit.
        case tooDeep(limit: Int)
    }
}

extension XMLValue.WritingError: CustomStringConvertible {
    /// One line with the problem.
    public var description: String {
        func quoted(_ text: String) -> String { ErrorText.quoted(text, limit: ErrorText.peerTextLimit) }
        return switch self {
        case .invalidName(let name): "invalid name \(quoted(name)) of an element or an attribute"
        case .undeclaredPrefix(let prefix): "the prefix \(quoted(prefix)) has no namespace"
        case .invalidNamespace(let name): "the namespace \(quoted(name)) contradicts a declaration, or is reserved"
        case .repeatedAttribute(let name): "the attribute \(quoted(name)) occurs twice in its namespace"
        case .forbiddenCharacter(let scalar):
            "XML cannot contain the character U+\(String(scalar.value, radix: 16, uppercase: true))"
        case .tooDeep(let limit): "elements are nested deeper than \(limit) levels"
        }
    }
}
