extension ParameterFormat {
    /// The flat items that `parameters` become, not yet escaped: `foo[bar]` for what is nested.
    ///
    /// - Throws: ``InvalidParameters``, or what a date function throws.
    public func items(of parameters: RequestParameters) throws -> QueryItems {
        QueryItems(
            try scalars(of: parameters).map { name, scalar in
                QueryItems.Item(name: name, value: try text(of: scalar) ?? (nulls == .emptyValue ? "" : nil))
            })
    }

    /// The scalars among `parameters` with the names they get, nulls that are to be dropped left out.
    func scalars(of parameters: RequestParameters) throws -> [(name: String, value: ParameterValue)] {
        var expansion = ParameterExpansion(format: self)
        try expansion.expand(parameters, below: nil)
        return expansion.scalars
    }

    /// The text of a scalar; nil for null.
    func text(of scalar: ParameterValue) throws -> String? {
        switch scalar {
        case .null, .array, .set, .nested: nil
        case .bool(let value): booleans == .words ? String(value) : value ? "1" : "0"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): value.description
        case .string(let value): value
        case .data(let value): value.base64EncodedString()
        case .date(let value): try text(of: value)
        }
    }

    private func text(of date: Date) throws -> String {
        if case .custom(let text) = dates { return try text(date) }
        let seconds = date.timeIntervalSince1970
        guard seconds.isFinite, seconds >= -62_135_596_800, seconds < 253_402_300_800 else {
            throw InvalidParameters.dateOutOfRange
        }
        switch dates {
        case .millisecondsSince1970: return String(Int((seconds * 1_000).rounded()))
        case .secondsSince1970 where seconds == seconds.rounded(): return String(Int(seconds))
        case .secondsSince1970: return seconds.description
        case .iso8601, .custom: return date.formatted(.iso8601)
        }
    }

    /// The text of `parameters` as the query of a URL, without a question mark; empty when there are none.
    ///
    /// - Throws: ``InvalidParameters``, or what ``serialize`` or a date function throws.
    public func query(of parameters: RequestParameters) throws -> String {
        guard let serialize else { return try items(of: parameters).encoded(with: escaping) }
        let text = try serialize(parameters)
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw InvalidParameters.controlByteInQuery
        }
        return PercentEncoding.query.encodeKeepingEscapes(text)
    }

    /// The bytes of `parameters` as a form (`application/x-www-form-urlencoded`); empty when there are none.
    ///
    /// - Throws: ``InvalidParameters``, or what ``serialize`` or a date function throws.
    public func form(of parameters: RequestParameters) throws -> Data {
        if let serialize { return Data(try serialize(parameters).utf8) }
        return Data(try items(of: parameters).encodedBytes(with: escaping, spacesAsPlus: spaces == .plusInForms))
    }
}

/// Walks through nested parameters and notes the scalars they become.
private struct ParameterExpansion {
    private static let deepest = 512
    let format: ParameterFormat
    var scalars: [(name: String, value: ParameterValue)] = []
    private var depth = 0

    init(format: ParameterFormat) {
        self.format = format
    }

    mutating func expand(_ parameters: RequestParameters, below prefix: String?) throws {
        for (name, value) in format.order == .sorted ? parameters.sorted() : parameters {
            try expand(value, named: prefix.map { nested(name, in: $0) } ?? name)
        }
    }

    /// `name` within `prefix`; brackets at its end stay outside where they are how an array is told.
    private func nested(_ name: String, in prefix: String) -> String {
        guard format.arrays == .repeated, name.hasByteSuffix("[]") else { return "\(prefix)[\(name)]" }
        return "\(prefix)[\(name.droppingLastBytes(2))][]"
    }

    private mutating func expand(_ value: ParameterValue, named name: String) throws {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw InvalidParameters.tooDeeplyNested }
        switch value {
        case .nested(let parameters): try expand(parameters, below: name)
        case .array(let values): try expand(elements: values, named: name)
        case .set(let values): try expand(members: values, named: name)
        case .null where format.nulls == .dropped: break
        default: scalars.append((name, value))
        }
    }

    private mutating func expand(elements: [ParameterValue], named name: String) throws {
        switch format.arrays {
        case .joined(let separator) where elements.allSatisfy(\.isScalar):
            guard !elements.isEmpty else { return }
            let texts = try elements.map { try format.text(of: $0) ?? "" }
            scalars.append((name, .string(texts.joined(separator: separator))))
        case .repeated, .joined:
            for element in elements { try expand(element, named: name) }
        case .brackets:
            for element in elements { try expand(element, named: name + "[]") }
        case .indexed:
            for (index, element) in elements.enumerated() { try expand(element, named: "\(name)[\(index)]") }
        }
    }

    /// Sorts scalars by their text; what is no scalar follows in the order given.
    private mutating func expand(members: [ParameterValue], named name: String) throws {
        let texts = try members.filter(\.isScalar).map { (value: $0, text: try format.text(of: $0) ?? "") }
        for member in texts.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }) {
            try expand(member.value, named: name)
        }
        for member in members where !member.isScalar { try expand(member, named: name) }
    }
}
