extension BodyProvider {
    /// `parameters` as a form, `application/x-www-form-urlencoded`, written as `format` says.
    ///
    /// Without parameters there is no body, and the content type is set all the same.
    public static func form(parameters: RequestParameters, format: ParameterFormat = .standard) -> BodyProvider {
        form { try format.form(of: parameters) }
    }

    /// `items` as a form, `application/x-www-form-urlencoded`, names and values in their order.
    ///
    /// Without items there is no body, and the content type is set all the same.
    public static func form(_ items: QueryItems, escaping: PercentEncoding = .strict) -> BodyProvider {
        form { Data(items.encodedBytes(with: escaping)) }
    }

    /// What `value` encodes as, each time the request is prepared, as a form written as `format` says.
    @_disfavoredOverload
    public static func form(
        _ value: some Encodable & Sendable, format: ParameterFormat = .standard
    ) -> BodyProvider {
        form { try format.form(of: RequestParameters(encoding: value)) }
    }

    private static func form(_ encode: @escaping @Sendable () throws -> Data) -> BodyProvider {
        BodyProvider { header in
            let data = try encode()
            header.set(Field(name: .contentType, value: "application/x-www-form-urlencoded"))
            return data.isEmpty ? .none : .bytes(data)
        }
    }

    /// `value` as a property list, `application/x-plist`, encoded each time the request is prepared.
    ///
    /// What the encoder throws becomes ``RequestError/Reason/bodyNotEncoded`` with the encoder's error underneath.
    public static func propertyList(
        _ value: some Encodable & Sendable, format: PropertyListDecoder.PropertyListFormat = .xml
    ) -> BodyProvider {
        BodyProvider { header in
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let data = try encoder.encode(value)
            header.set(Field(name: .contentType, value: "application/x-plist"))
            return .bytes(data)
        }
    }

    /// `parameters` as a property list in XML, `application/x-plist`.
    ///
    /// A null among them is refused with ``InvalidParameters/nullInPropertyList``: a property list has none.
    static func propertyList(_ parameters: RequestParameters) -> BodyProvider {
        BodyProvider { header in
            guard !parameters.holdsNull else { throw InvalidParameters.nullInPropertyList }
            return try propertyList(parameters, format: .xml).body(updating: &header)
        }
    }
}

extension RequestParameters {
    /// Whether a null stands anywhere among the values.
    fileprivate var holdsNull: Bool { contains { $0.value.holdsNull } }
}

extension ParameterValue {
    fileprivate var holdsNull: Bool {
        switch self {
        case .null: true
        case .array(let values), .set(let values): values.contains { $0.holdsNull }
        case .nested(let parameters): parameters.holdsNull
        default: false
        }
    }
}
