/// Why parameters cannot be written.
@nonexhaustive
public enum InvalidParameters: Error, Hashable, Sendable {
    /// Values are nested more than 512 levels deep.
    case tooDeeplyNested
    /// A date is not finite, or its year is beyond 9999.
    case dateOutOfRange
    /// A value that was to give parameters encodes as something without names: a scalar or an array.
    case withoutNames
    /// A property list has no null.
    case nullInPropertyList
    /// The text that a function of one's own has given holds a control byte.
    case controlByteInQuery
}

extension InvalidParameters: CustomStringConvertible {
    /// What is wrong, in one line.
    public var description: String {
        switch self {
        case .tooDeeplyNested: "the parameters are nested more than 512 levels deep"
        case .dateOutOfRange: "a date is not finite, or its year is beyond 9999"
        case .withoutNames: "the value encodes as a scalar or an array, which have no names"
        case .nullInPropertyList: "a property list has no null"
        case .controlByteInQuery: "the query holds a control byte"
        }
    }
}
