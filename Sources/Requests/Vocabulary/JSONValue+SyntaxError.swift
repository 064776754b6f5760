extension JSONValue {
    /// The error of a text that is not JSON (RFC 8259), or that a ``JSONValue`` cannot represent.
    public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of problem.
        @nonexhaustive
        public enum Problem: Hashable, Sendable {
            /// The text is empty or ends within a value.
            case truncated
            /// A byte that is not allowed at its position.
            case unexpectedByte
            /// A string that is not valid UTF-8 or contains half of a surrogate pair.
            case invalidString
            /// Values nested deeper than 512 levels.
            case tooDeep
            /// A number whose magnitude is greater than the greatest finite `Double` (RFC 8259 §6).
            case numberOutOfRange
            /// Two different names in one object that are equal as Swift strings, because they are canonically
            /// equivalent: `é` as one code point and as two.
            case equivalentNames
            /// A name with more than 30 combining marks in a row (Unicode Standard Annex #15, Stream-Safe Text Format),
            /// which takes quadratic time to compare.
            case combiningMarks
        }

        /// The problem.
        public let problem: Problem

        /// The position of the problem in the text, in bytes from the beginning.
        public let offset: Int

        /// The problem and its position, in one line.
        public var description: String {
            let text =
                switch problem {
                case .truncated: "truncated JSON"
                case .unexpectedByte: "invalid JSON"
                case .invalidString: "invalid string in JSON"
                case .tooDeep: "JSON nested deeper than \(JSONValue.maximumDepth) levels"
                case .numberOutOfRange: "JSON number does not fit in Double"
                case .equivalentNames: "two names in a JSON object differ only in their Unicode normalization"
                case .combiningMarks: "a name in a JSON object has more than 30 combining marks in a row"
                }
            return "\(text) at byte \(offset)"
        }

        /// Returns the error of parsing `data` as JSON, or nil if it is valid.
        ///
        /// Use it to distinguish truncated JSON, for which another request may help, from invalid JSON.
        package static func check(_ data: Data) -> JSONValue.SyntaxError? {
            do {
                _ = try JSONValue(parsing: data)
                return nil
            } catch {
                return error
            }
        }
    }
}
