extension [MediaType] {
    /// The value of an Accept field that lists these types in order of preference (RFC 9110 §12.5.1).
    ///
    /// The first type has no quality; the next ones have `q=0.9`, `q=0.8` and so on, down to `q=0.1`. A type with its
    /// own `q` parameter keeps it and does not lower the next quality.
    package var acceptValue: String {
        // The most frequent case, without building a list.
        if let only = first, count == 1, only.parameters.isEmpty { return only.rawValue }
        var quality = 10
        return enumerated().map { index, type in
            defer { if index == 0 || type.parameters["q"] == nil { quality = Swift.max(quality - 1, 1) } }
            return index == 0 || type.parameters["q"] != nil ? type.compact : "\(type.compact);q=0.\(quality)"
        }.joined(separator: ", ")
    }
}

extension MediaType {
    /// The type and its parameters without spaces, as usual in a list, with `q` last.
    fileprivate var compact: String {
        let parameters = parameters.filter { !ASCIIFolding.areEqual($0.name, "q") }
        let quality = self.parameters["q"].map { ";q=\($0)" } ?? ""
        return parameters.reduce(into: "\(type.rawValue)/\(subtype.rawValue)") { text, parameter in
            text += ";\(parameter.name)=\(FieldValueWriter.tokenOrQuoted(parameter.value))"
        } + quality
    }
}

extension Field {
    /// Returns an Accept field that lists `types` in order of preference, with decreasing qualities (RFC 9110 §12.5.1).
    public static func accept(_ types: [MediaType]) -> Field {
        Field(name: .accept, value: types.acceptValue)
    }

    /// Returns an Accept-Language field that lists `languages` in order of preference (RFC 9110 §12.5.4).
    ///
    /// The first language has no quality; the next ones have `q=0.9` down to `q=0.5`.
    ///
    /// - Parameter languages: Language tags, such as `Locale.preferredLanguages`; only the first six are used.
    /// - Returns: The field.
    public static func acceptLanguages(_ languages: [String]) -> Field {
        let values = languages.prefix(6).enumerated().map { index, language in
            index == 0 ? language : "\(language);q=0.\(10 - index)"
        }
        return Field(name: .acceptLanguage, value: values.joined(separator: ", "))
    }
}
