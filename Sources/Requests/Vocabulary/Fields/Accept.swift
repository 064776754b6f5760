extension [MediaType] {
    /// The value of an Accept field that names these types in order of preference (RFC 9110 §12.5.1).
    ///
    /// The first as it is, those after it with `q=0.9`, `0.8` and so on, never less than `0.1`. A type that has a `q` of
    /// its own keeps it and does not count.
    public var acceptValue: String {
        if let only = first, count == 1, only.parameters.isEmpty { return only.rawValue }
        var quality = 10
        return enumerated().map { index, type in
            defer { if index == 0 || type.parameter("q") == nil { quality = Swift.max(quality - 1, 1) } }
            return index == 0 || type.parameter("q") != nil ? type.compact : "\(type.compact);q=0.\(quality)"
        }.joined(separator: ", ")
    }
}

extension MediaType {
    /// The type and its parameters without spaces, as members of a list are usually written; `q` comes last.
    fileprivate var compact: String {
        let parameters = parameters.filter { !ASCIIFolding.areEqual($0.name, "q") }
        let quality = parameter("q").map { ";q=\($0)" } ?? ""
        return parameters.reduce("\(type.rawValue)/\(subtype.rawValue)") { text, parameter in
            "\(text);\(parameter.name)=\(FieldValueWriter.tokenOrQuoted(parameter.value))"
        } + quality
    }
}

extension Field {
    /// Accept, naming `types` in order of preference, with falling qualities (RFC 9110 §12.5.1).
    public static func accept(_ types: [MediaType]) -> Field {
        Field(name: .accept, value: types.acceptValue)
    }

    /// Accept-Language, naming `languages` in order of preference (RFC 9110 §12.5.4).
    ///
    /// The first as it is, those after it with `q=0.9` down to `0.5`; more than six are not named. An app passes what
    /// the system prefers, such as `Locale.preferredLanguages`.
    public static func acceptLanguages(_ languages: [String]) -> Field {
        let values = languages.prefix(6).enumerated().map { index, language in
            index == 0 ? language : "\(language);q=0.\(10 - index)"
        }
        return Field(name: .acceptLanguage, value: values.joined(separator: ", "))
    }
}
