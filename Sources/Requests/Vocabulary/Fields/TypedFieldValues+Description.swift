// The description of a typed field value is the text of the field.

extension AuthenticationChallenge: CustomStringConvertible {
    /// The challenge as a field value.
    public var description: String { fieldValue }
}

extension CacheControl: CustomStringConvertible {
    /// The directives as a field value.
    public var description: String { fieldValue }
}

extension ContentDisposition: CustomStringConvertible {
    /// The disposition as a field value.
    public var description: String { fieldValue }
}

extension ContentRange: CustomStringConvertible {
    /// The range as a field value.
    public var description: String { fieldValue }
}

extension EntityTag: CustomStringConvertible {
    /// The tag as a field value.
    public var description: String { fieldValue }
}

extension EntityTag.Condition: CustomStringConvertible {
    /// The condition as a field value.
    public var description: String { fieldValue }
}

extension RetryAfter: CustomStringConvertible {
    /// The delay or the date as a field value.
    public var description: String { fieldValue }
}

extension WebLink: CustomStringConvertible {
    /// The link as a field value.
    public var description: String { fieldValue }
}
