/// A value that may be interpolated into a ``RequestPath``.
///
/// Strings, integers, `UUID` and raw-representable values of those conform or work; an optional never does, because a
/// missing value would change which resource is meant.
public protocol PathValue {
    /// The value as text, not yet percent-encoded.
    var pathText: String { get }
}

extension String: PathValue {
    /// The string itself.
    @inlinable public var pathText: String { self }
}

extension Substring: PathValue {
    /// The characters as a string.
    public var pathText: String { String(self) }
}

extension UUID: PathValue {
    /// The identifier in its canonical form, upper case.
    public var pathText: String { uuidString }
}

extension PathValue where Self: BinaryInteger {
    /// The number in decimal digits.
    @inlinable public var pathText: String { description }
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
