/// A value that can be interpolated into a ``RequestPath``.
///
/// Strings, integers, `Bool` and `UUID` conform; values whose raw value is one of these can be interpolated too.
/// Optionals do not conform, because a missing value would change which resource the path identifies. Neither do dates
/// and arrays, which services write in several forms.
public protocol PathValue {
    /// The value as text, not yet percent-encoded.
    var pathText: String { get }
}

extension String: PathValue {
    /// The string itself.
    public var pathText: String { self }
}

extension Substring: PathValue {
    /// The text as a string.
    public var pathText: String { String(self) }
}

extension UUID: PathValue {
    /// The identifier in its canonical form, in upper case.
    public var pathText: String { uuidString }
}

extension Bool: PathValue {
    /// `true` or `false`, as in a query.
    public var pathText: String { description }
}

extension PathValue where Self: BinaryInteger {
    /// The number in decimal digits, with a minus sign if it is negative.
    public var pathText: String { description }
}

extension Int: PathValue {}
extension Int8: PathValue {}
extension Int16: PathValue {}
extension Int32: PathValue {}
extension Int64: PathValue {}
extension UInt: PathValue {}
extension UInt8: PathValue {}
extension UInt16: PathValue {}
extension UInt32: PathValue {}
extension UInt64: PathValue {}
extension Int128: PathValue {}
extension UInt128: PathValue {}
