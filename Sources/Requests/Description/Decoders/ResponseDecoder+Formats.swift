extension ResponseDecoder where Response: Decodable & SendableMetatype {
    /// Returns a decoder of a JSON body with the given strategies for dates and keys.
    ///
    /// ```swift
    /// api.get(
    ///     .json(dates: .flexibleISO8601, keys: .convertFromSnakeCase), from: "/user")
    /// ```
    public static func json(
        _ type: Response.Type = Response.self, dates: JSONDecoder.DateDecodingStrategy,
        keys: JSONDecoder.KeyDecodingStrategy = .useDefaultKeys
    ) -> ResponseDecoder {
        json(type) {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = dates
            decoder.keyDecodingStrategy = keys
            return decoder
        }
    }

    /// Returns a decoder of a JSON body with the given strategy for keys.
    public static func json(
        _ type: Response.Type = Response.self, keys: JSONDecoder.KeyDecodingStrategy
    ) -> ResponseDecoder {
        json(type, dates: .deferredToDate, keys: keys)
    }

    /// Returns a decoder of a property list in any of its formats.
    ///
    /// The standard validator accepts `application/x-plist`, `application/xml` and `application/octet-stream`.
    /// `makeDecoder` is called for each response. An empty body fails with ``RequestError/Reason/unexpectedNoContent``.
    public static func propertyList(
        _ type: Response.Type = Response.self,
        using makeDecoder: @escaping @Sendable () -> PropertyListDecoder = { PropertyListDecoder() }
    ) -> ResponseDecoder {
        let types = ["x-plist", "xml", "octet-stream"].map {
            MediaType(type: .application, subtype: MediaType.Subtype($0))
        }
        return ResponseDecoder(accepting: types) { _, data in
            guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
            return try makeDecoder().decode(Response.self, from: data)
        }
    }
}

extension ResponseDecoder where Response == JSONValue {
    /// A decoder of JSON of any structure.
    ///
    /// An empty body fails with ``RequestError/Reason/unexpectedNoContent``.
    public static let jsonValue = ResponseDecoder(accepting: [.json]) { _, data in
        guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
        return try JSONValue(parsing: data)
    }
}

extension ResponseDecoder where Response == ResponseHead {
    /// A decoder that returns the status and header without reading the body.
    ///
    /// A connection on which a body follows is closed. Use this decoder for HEAD, or when only header fields are
    /// needed.
    public static let head = ResponseDecoder(streaming: { head, _ in head })
}

extension ResponseDecoder where Response == Header {
    /// A decoder that returns the header without reading the body.
    ///
    /// A connection on which a body follows is closed. Use this decoder for HEAD, or when only header fields are
    /// needed.
    public static let header = ResponseDecoder(streaming: { head, _ in head.header })
}
