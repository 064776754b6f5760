/// A part of a representation, in bytes, as a Range field asks for it (RFC 9110 §14.1.2).
public enum ByteRange: Hashable, Sendable {
    /// From `first` to `last`, both included.
    case bytes(ClosedRange<Int>)
    /// From this byte to the end.
    case from(Int)
    /// The last so many bytes.
    case suffix(Int)

    /// Reads the value of a Range field; nil when the unit is not bytes, a range is malformed or a number exceeds `Int.max`.
    public static func ranges(in fieldValue: String) -> [ByteRange]? {
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

    /// The value of a Range field that asks for `ranges`.
    public static func fieldValue(_ ranges: [ByteRange]) -> String {
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

/// Which part of a representation an answer holds (RFC 9110 §14.4).
public struct ContentRange: Hashable, Sendable {
    /// The bytes the answer holds, both ends included; nil when it holds none because the range was refused.
    public var bytes: ClosedRange<Int>?

    /// The length of the whole; nil when it is unknown.
    public var length: Int?

    /// A range of `bytes` out of `length`.
    public init(bytes: ClosedRange<Int>?, length: Int?) {
        self.bytes = bytes
        self.length = length
    }

    /// Reads `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`; nil for another unit or a malformed value.
    ///
    /// It is nil, too, when a number exceeds `Int.max` or the last byte is at `Int.max`: no length could count it.
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

    /// The range as a field's value.
    public var fieldValue: String {
        let range = bytes.map { "\($0.lowerBound)-\($0.upperBound)" } ?? "*"
        return "bytes \(range)/\(length.map(String.init) ?? "*")"
    }
}
