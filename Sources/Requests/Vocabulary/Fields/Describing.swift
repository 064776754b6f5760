// What is printed of a field's value is what the field says.

extension CacheControl: CustomStringConvertible {
    /// The directives as a field's value.
    public var description: String { fieldValue }
}

extension ContentDisposition: CustomStringConvertible {
    /// The disposition as a field's value.
    public var description: String { fieldValue }
}

extension ContentRange: CustomStringConvertible {
    /// The range as a field's value.
    public var description: String { fieldValue }
}

extension EntityTag: CustomStringConvertible {
    /// The tag as a field's value.
    public var description: String { fieldValue }
}

extension EntityTagCondition: CustomStringConvertible {
    /// The condition as a field's value.
    public var description: String { fieldValue }
}

extension RetryAfter: CustomStringConvertible {
    /// The delay or the date as a field's value.
    public var description: String { fieldValue }
}

extension WebLink: CustomStringConvertible {
    /// The link as a field's value.
    public var description: String { fieldValue }
}
