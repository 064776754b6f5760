extension ResponseDecoder where Response: Decodable & SendableMetatype {
    /// The body as JSON, with dates and keys read by a strategy.
    ///
    /// ```swift
    /// api.get(.json(dates: .flexibleISO8601, keys: .convertFromSnakeCase), from: "/user")
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

    /// The body as JSON, with keys read by a strategy.
    public static func json(
        _ type: Response.Type = Response.self, keys: JSONDecoder.KeyDecodingStrategy
    ) -> ResponseDecoder {
        json(type, dates: .deferredToDate, keys: keys)
    }

    /// The body as a property list, `application/x-plist`, in any of its formats.
    ///
    /// An empty body is ``RequestError/Reason/unexpectedNoContent``.
    public static func propertyList(
        _ type: Response.Type = Response.self,
        using makeDecoder: @escaping @Sendable () -> PropertyListDecoder = { PropertyListDecoder() }
    ) -> ResponseDecoder {
        let types = ["x-plist", "xml", "octet-stream"].map {
            MediaType(type: .application, subtype: MediaType.SubType($0))
        }
        return ResponseDecoder(accepting: types) { _, data in
            guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
            return try makeDecoder().decode(Response.self, from: data)
        }
    }
}

extension ResponseDecoder where Response == JSONValue {
    /// The body as JSON of any shape.
    ///
    /// An empty body is ``RequestError/Reason/unexpectedNoContent``.
    public static let jsonValue = ResponseDecoder(accepting: [.json]) { _, data in
        guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
        return try JSONValue(parsing: data)
    }
}

extension ResponseDecoder where Response == ResponseHead {
    /// Status and header; the body is not read, and a connection on which there is one is closed.
    ///
    /// For HEAD, and where only a field is wanted.
    public static let head = ResponseDecoder(streaming: { head, _ in head })
}

extension ResponseDecoder where Response == Header {
    /// The header; the body is not read, and a connection on which there is one is closed.
    ///
    /// For HEAD, and where only a field is wanted.
    public static let header = ResponseDecoder(streaming: { head, _ in head.header })
}
