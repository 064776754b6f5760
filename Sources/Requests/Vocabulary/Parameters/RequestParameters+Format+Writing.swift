extension RequestParameters.Format {
    /// Returns `parameters` as flat items, not yet percent-encoded, with names such as `foo[bar]` for nested values.
    ///
    /// - Parameter parameters: The parameters.
    /// - Returns: The items.
    /// - Throws: ``RequestParameters/ParameterError``, or the error of a custom date function.
    package func items(of parameters: RequestParameters) throws -> QueryItems {
        QueryItems(
            try scalars(of: parameters).map { name, scalar in
                QueryItems.Item(name: name, value: try text(of: scalar) ?? (nulls == .emptyValue ? "" : nil))
            })
    }

    /// Returns the scalars of `parameters` with their expanded names, without nulls if the format omits them.
    func scalars(of parameters: RequestParameters) throws -> [(name: String, value: RequestParameters.Value)] {
        var expansion = ParameterExpansion(format: self)
        try expansion.expand(parameters, below: nil)
        return expansion.scalars
    }

    /// Returns the text of a scalar, or nil for null.
    func text(of scalar: RequestParameters.Value) throws -> String? {
        switch scalar.content {
        case .null, .array, .set, .nested: nil
        case .bool(let value): booleans == .words ? String(value) : value ? "1" : "0"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): value.description
        case .decimal(let value): value.description
        case .string(let value): value
        case .data(let value): value.base64EncodedString()
        case .date(let value): try text(of: value)
        }
    }

    private func text(of date: Date) throws -> String {
        if case .custom(let text) = dates { return try text(date) }
        guard ISO8601Text.canExpress(date) else { throw RequestParameters.ParameterError.dateOutOfRange }
        let seconds = date.timeIntervalSince1970
        switch dates {
        case .millisecondsSince1970: return String(Int((seconds * 1_000).rounded()))
        case .secondsSince1970 where seconds == seconds.rounded(): return String(Int(seconds))
        case .secondsSince1970: return seconds.description
        case .iso8601, .custom: return date.formatted(.iso8601)
        }
    }

    /// Returns `parameters` as the query of a URL, without a question mark; empty if there are none.
    ///
    /// - Parameter parameters: The parameters.
    /// - Returns: The query, percent-encoded.
    /// - Throws: ``RequestParameters/ParameterError``, or the error of ``serialize`` or a custom date function.
    package func query(of parameters: RequestParameters) throws -> String {
        guard let serialize else { return try items(of: parameters).encoded(with: escaping) }
        let text = try serialize(parameters)
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw RequestParameters.ParameterError.controlCharacterInQuery
        }
        return PercentEncoding.query.encodeKeepingEscapes(text)
    }

    /// Returns `parameters` as the bytes of a form (`application/x-www-form-urlencoded`); empty if there are none.
    ///
    /// - Parameter parameters: The parameters.
    /// - Returns: The bytes of the form.
    /// - Throws: ``RequestParameters/ParameterError``, or the error of ``serialize`` or a custom date function.
    package func form(of parameters: RequestParameters) throws -> Data {
        if let serialize { return Data(try serialize(parameters).utf8) }
        return Data(try items(of: parameters).encodedBytes(with: escaping, spacesAsPlus: spaces == .plusInForms))
    }
}

/// An expansion of nested parameters into scalars with flat names.
private struct ParameterExpansion {
    let format: RequestParameters.Format
    var scalars: [(name: String, value: RequestParameters.Value)] = []
    private var depth = 0
    /// The total length of the scalars' names, in bytes.
    private var length = 0
    private static let maximumLength = 256 << 20

    init(format: RequestParameters.Format) {
        self.format = format
    }

    /// Appends the scalars of `parameters`; their names are nested in `prefix`, which is nil at the top level.
    mutating func expand(_ parameters: RequestParameters, below prefix: String?) throws {
        for (name, value) in format.order == .sorted ? parameters.sorted() : parameters {
            try expand(value, named: prefix.map { nested(name, in: $0) } ?? name)
        }
    }

    /// Returns `name` nested in `prefix`; the brackets of a repeated name stay at the end, where servers expect them.
    private func nested(_ name: String, in prefix: String) -> String {
        guard format.arrays == .repeated, name.hasByteSuffix("[]") else { return "\(prefix)[\(name)]" }
        return "\(prefix)[\(name.droppingLastBytes(2))][]"
    }

    private mutating func expand(_ value: RequestParameters.Value, named name: String) throws {
        depth += 1
        defer { depth -= 1 }
        if let problem = value.problem { throw problem }
        guard depth <= RequestParameters.Value.maximumDepth else {
            throw RequestParameters.ParameterError.tooDeeplyNested
        }
        switch value.content {
        case .nested(let parameters): try expand(parameters, below: name)
        case .array(let values): try expand(elements: values, named: name)
        case .set(let values): try expand(members: values, named: name)
        case .null where format.nulls == .dropped: break
        default: try append(name, value)
        }
    }

    private mutating func append(_ name: String, _ value: RequestParameters.Value) throws {
        // Each scalar has the names of all levels, so the names can be much longer than the values.
        length += name.utf8.count
        guard scalars.count < RequestParameters.Value.maximumCount, length <= Self.maximumLength else {
            throw RequestParameters.ParameterError.tooManyValues
        }
        scalars.append((name, value))
    }

    private mutating func expand(elements: [RequestParameters.Value], named name: String) throws {
        switch format.arrays {
        case .joined(let separator) where elements.allSatisfy(\.isScalar):
            guard !elements.isEmpty else { return }
            let texts = try elements.map { try format.text(of: $0) ?? "" }
            try append(name, .string(texts.joined(separator: separator)))
        case .repeated, .joined:
            for element in elements { try expand(element, named: name) }
        case .brackets:
            for element in elements { try expand(element, named: name + "[]") }
        case .indexed:
            for (index, element) in elements.enumerated() { try expand(element, named: "\(name)[\(index)]") }
        }
    }

    /// Appends the members of a set: scalars sorted by their text, then the others in their order.
    private mutating func expand(members: [RequestParameters.Value], named name: String) throws {
        let texts = try members.filter(\.isScalar).map { (value: $0, text: try format.text(of: $0) ?? "") }
        for member in texts.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }) {
            try expand(member.value, named: name)
        }
        for member in members where !member.isScalar { try expand(member, named: name) }
    }
}
