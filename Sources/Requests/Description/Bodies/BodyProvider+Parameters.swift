extension BodyProvider {
    /// Returns a provider of `parameters` as a form, `application/x-www-form-urlencoded`, written in `format`.
    ///
    /// Without parameters, the body is omitted, but Content-Type is still set.
    public static func form(
        parameters: RequestParameters, format: RequestParameters.Format = .standard
    ) -> BodyProvider {
        form { try format.form(of: parameters) }
    }

    /// Returns a provider of `items` as a form, `application/x-www-form-urlencoded`, in their order.
    ///
    /// Without items, the body is omitted, but Content-Type is still set. An item without a value is written as
    /// `nulls` determines; the default is a bare name.
    public static func form(
        _ items: QueryItems, escaping: PercentEncoding = .strict,
        nulls: RequestParameters.Format.NullStyle = .bareName
    ) -> BodyProvider {
        let items = items.with(nulls: nulls)
        return form { Data(items.encodedBytes(with: escaping)) }
    }

    /// Returns a provider of the parameters that `value` encodes to as a form, written in `format`.
    ///
    /// The value is encoded each time the request is prepared.
    @_disfavoredOverload
    public static func form(
        _ value: some Encodable & Sendable, format: RequestParameters.Format = .standard
    ) -> BodyProvider {
        form { try format.form(of: RequestParameters(encoding: value)) }
    }

    private static func form(_ encode: @escaping @Sendable () throws -> Data) -> BodyProvider {
        BodyProvider(kind: .other) { header, _ in
            let data = try encode()
            header.set(Field(name: .contentType, value: "application/x-www-form-urlencoded"))
            return data.isEmpty ? .none : .bytes(data)
        }
    }

    /// Returns a provider of `value` as a property list, `application/x-plist`, encoded each time the request is
    /// prepared.
    ///
    /// An error of the encoder becomes ``RequestError/Reason/bodyEncodingFailed``, with that error as
    /// ``RequestError/underlying``.
    public static func propertyList(
        _ value: some Encodable & Sendable, format: PropertyListDecoder.PropertyListFormat = .xml
    ) -> BodyProvider {
        BodyProvider(kind: .other) { header, _ in
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let data = try encoder.encode(value)
            header.set(Field(name: .contentType, value: "application/x-plist"))
            return .bytes(data)
        }
    }

    /// Returns a provider of `parameters` as a property list in XML, `application/x-plist`.
    ///
    /// A null value fails with ``RequestParameters/ParameterError/nullInPropertyList``, because property lists have no
    /// null.
    static func propertyList(_ parameters: RequestParameters) -> BodyProvider {
        BodyProvider(kind: .other) { header, _ in
            if let problem = parameters.lazy.compactMap(\.value.problem).first { throw problem }
            guard !parameters.containsNull else { throw RequestParameters.ParameterError.nullInPropertyList }
            return try propertyList(parameters.withoutDecimals, format: .xml).body(updating: &header)
        }
    }
}

extension RequestParameters {
    /// Whether any value, at any depth, is null.
    fileprivate var containsNull: Bool { contains { $0.value.containsNull } }

    /// The parameters with `Double` in place of `Decimal`, whose internal layout a property list would contain.
    fileprivate var withoutDecimals: RequestParameters {
        RequestParameters(map { ($0.name, $0.value.withoutDecimals) })
    }
}

extension RequestParameters.Value {
    fileprivate var containsNull: Bool {
        switch content {
        case .null: true
        case .array(let values), .set(let values): values.contains { $0.containsNull }
        case .nested(let parameters): parameters.containsNull
        default: false
        }
    }

    fileprivate var withoutDecimals: RequestParameters.Value {
        switch content {
        case .decimal(let value): .double(Double(value.description) ?? .nan)
        case .array(let values): .array(values.map(\.withoutDecimals))
        case .set(let values): .set(values.map(\.withoutDecimals))
        case .nested(let parameters): .nested(parameters.withoutDecimals)
        default: self
        }
    }
}
