// Interpolations for frequent mistakes. They cannot be called: the compiler shows their message.

extension RequestPath.StringInterpolation {
    /// Unavailable, because a missing value would change which resource the path identifies.
    @available(*, unavailable, message: "a path has no place for a missing value; unwrap the Optional first")
    @_disfavoredOverload
    public mutating func appendInterpolation<Value>(_ value: Value?) {}

    /// Unavailable, because services write dates in paths in several forms.
    @available(
        *, unavailable, message: "a date has several forms in a path; write its text, as in date.formatted(.iso8601)"
    )
    @_disfavoredOverload
    public mutating func appendInterpolation(_ date: Date) {}

    /// Unavailable, because services write lists in paths in several forms.
    @available(
        *, unavailable,
        message: "a list has several forms in a path; write names.joined(separator: \",\") or segments: path"
    )
    @_disfavoredOverload
    public mutating func appendInterpolation<Element>(_ values: [Element]) {}

    /// Unavailable, because the text of other values in a path is unknown.
    @available(
        *, unavailable,
        message: "a value in a path is a String, an integer, a Bool, a UUID or a PathValue; write the text of others"
    )
    @_disfavoredOverload
    public mutating func appendInterpolation<Value>(_ value: Value) {}
}
