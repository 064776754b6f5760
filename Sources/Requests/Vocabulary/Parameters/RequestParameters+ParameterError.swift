extension RequestParameters {
    /// The error of parameters that cannot be written.
    @nonexhaustive
    public enum ParameterError: Error, Hashable, Sendable {
        /// Values are nested more than 512 levels deep.
        case tooDeeplyNested
        /// There are more than 4,194,304 values, or their names in a query or form are longer than 256 MiB.
        case tooManyValues
        /// A date is not finite, or its year is before 1 or after 9999.
        case dateOutOfRange
        /// A value encodes as a scalar or an array, which have no names.
        case withoutNames
        /// The keys of a dictionary are neither strings nor integers, and their type is not `CodingKeyRepresentable`.
        case keysWithoutNames
        /// A `Duration` was given, which encodes two halves in attoseconds; encode a number of seconds instead.
        case durationWithoutUnit
        /// A null value was given, which a property list cannot contain.
        case nullInPropertyList
        /// The text of a custom function contains a control character.
        case controlCharacterInQuery
    }
}

extension RequestParameters.ParameterError: CustomStringConvertible {
    /// The error in one line.
    public var description: String {
        switch self {
        case .tooDeeplyNested: "the parameters are nested more than 512 levels deep"
        case .tooManyValues: "the parameters contain more than 4,194,304 values, or their names are longer than 256 MiB"
        case .dateOutOfRange: "a date is not finite, or its year is not within 1 to 9999"
        case .withoutNames: "the value encodes as a scalar or an array; parameters need names"
        case .keysWithoutNames:
            "the keys of a dictionary are not names; use strings or integers, or conform their type to "
                + "CodingKeyRepresentable"
        case .durationWithoutUnit: "a Duration has no unit in parameters; encode a number of seconds or milliseconds"
        case .nullInPropertyList: "a property list cannot contain null"
        case .controlCharacterInQuery: "the query contains a control character"
        }
    }
}
