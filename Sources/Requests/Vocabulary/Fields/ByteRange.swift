/// A byte range that a Range field requests (RFC 9110 §14.1.2).
public enum ByteRange: Hashable, Sendable {
    /// The bytes from the first to the last position, both included, counted from 0.
    case bytes(ClosedRange<Int>)
    /// The bytes from a position to the end.
    case from(Int)
    /// The given number of bytes at the end.
    case suffix(Int)

    /// Returns the ranges of a Range field, or nil if it is not a valid list of byte ranges.
    ///
    /// - Parameter fieldValue: The value, such as `bytes=0-499, -100`.
    /// - Returns: The ranges, or nil for another unit, a malformed or missing range, or a number above `Int.max`.
    package static func ranges(in fieldValue: String) -> [ByteRange]? {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        guard let unit = reader.token(), ASCIIFolding.areEqual(unit, "bytes"), reader.skip("=") else { return nil }
        var ranges: [ByteRange] = []
        reader.skipCommas()
        while !reader.isAtEnd {
            guard let range = ByteRange(&reader), reader.skipCommas() else { return nil }
            ranges.append(range)
        }
        return ranges.isEmpty ? nil : ranges
    }

    private init?(_ reader: inout FieldValueReader) {
        let first = reader.number()
        guard reader.skip("-") else { return nil }
        switch (first, reader.number()) {
        case (let first?, let last?) where first <= last: self = .bytes(first...last)
        case (let first?, nil): self = .from(first)
        case (nil, let length?): self = .suffix(length)
        default: return nil
        }
    }

    /// Returns the value of a Range field that requests `ranges`.
    package static func fieldValue(_ ranges: [ByteRange]) -> String {
        "bytes=" + ranges.map(\.text).joined(separator: ", ")
    }

    private var text: String {
        switch self {
        case .bytes(let range): "\(range.lowerBound)-\(range.upperBound)"
        case .from(let first): "\(first)-"
        case .suffix(let length): "-\(length)"
        }
    }
}

/// The part of a representation that a response contains (RFC 9110 §14.4).
public struct ContentRange: Hashable, Sendable {
    /// The range of bytes, both ends included; nil if the server could not satisfy the request.
    public var bytes: ClosedRange<Int>?

    /// The length of the whole representation in bytes; nil if it is unknown.
    public var length: Int?

    /// Creates a range of `bytes` within a representation of `length` bytes.
    public init(bytes: ClosedRange<Int>?, length: Int?) {
        self.bytes = bytes
        self.length = length
    }

    /// Creates a range from the value of a Content-Range field.
    ///
    /// - Parameter fieldValue: The value: `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`. The result is nil for
    ///   another unit, a malformed value and numbers above `Int.max`. The last position must be below `Int.max`,
    ///   because no length could include it.
    public init?(fieldValue: String) {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        guard let unit = reader.token(), ASCIIFolding.areEqual(unit, "bytes"), reader.skip(" ") else { return nil }
        if !reader.skip("*") {
            guard let first = reader.number(), reader.skip("-"), let last = reader.number(), first <= last, last < .max
            else { return nil }
            bytes = first...last
        }
        guard reader.skip("/") else { return nil }
        if !(bytes != nil && reader.skip("*")) {
            guard let length = reader.number(), bytes.map({ $0.upperBound < length }) ?? true else { return nil }
            self.length = length
        }
        reader.skipWhitespace()
        guard reader.isAtEnd else { return nil }
    }

    /// The range as a field value.
    public var fieldValue: String {
        let range = bytes.map { "\($0.lowerBound)-\($0.upperBound)" } ?? "*"
        return "bytes \(range)/\(length.map(String.init) ?? "*")"
    }
}
