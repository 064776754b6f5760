/// The error of a text that is not JSON (RFC 8259), or that is and cannot be kept as a ``JSONValue``.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of problem.
    @nonexhaustive
    public enum Problem: Hashable, Sendable {
        /// The text ends in the middle of a value: it was cut short, or is empty.
        case endsEarly
        /// A byte that is not allowed there.
        case unexpectedByte
        /// A string that is not UTF-8, or escapes half of a surrogate pair.
        case invalidString
        /// Values nested deeper than ``JSONValue/maximumDepth``.
        case tooDeep
        /// A number whose magnitude is greater than the greatest finite `Double` (RFC 8259 §6).
        case numberOutOfRange
        /// Two different names in one object that Swift strings do not tell apart, because they are canonically
        /// equivalent: `é` as one code point and as two.
        case equivalentNames
        /// A name with more than 30 combining marks in a row (Unicode Standard Annex #15, Stream-Safe Text Format),
        /// which takes quadratic time to compare.
        case combiningMarks
    }

    /// The problem.
    public let problem: Problem

    /// The place of the problem, in bytes from the beginning of the text.
    public let offset: Int

    /// The problem and its place, in one line.
    public var description: String {
        let text =
            switch problem {
            case .endsEarly: "the JSON text ends early"
            case .unexpectedByte: "not JSON"
            case .invalidString: "a JSON string is not valid UTF-8"
            case .tooDeep: "JSON nested deeper than \(JSONValue.maximumDepth) levels"
            case .numberOutOfRange: "a JSON number out of the range of Double"
            case .equivalentNames: "two names of a JSON object differ only in their Unicode normalization"
            case .combiningMarks: "a name of a JSON object has more than 30 combining marks in a row"
            }
        return "\(text) at byte \(offset)"
    }

    /// The error that `data` causes as a JSON text; nil when it can be read.
    ///
    /// Tells JSON that was cut short, which another request may repair, from JSON that is wrong.
    public static func check(_ data: Data) -> JSONSyntaxError? {
        do {
            _ = try JSONValue(parsing: data)
            return nil
        } catch {
            return error
        }
    }
}
