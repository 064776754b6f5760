extension ResponseDecoder where Response == Void {
    /// A decoder that ignores the body.
    ///
    /// The body is read to its end, so that its connection can be reused. A body of more than 64 MiB fails with
    /// ``RequestError/Reason/tooLarge(limit:)``.
    public static var none: ResponseDecoder {
        ResponseDecoder { _, _ in }
    }
}

extension ResponseDecoder where Response == Data {
    /// A decoder that returns the body unchanged; empty when there is none.
    public static var data: ResponseDecoder { ResponseDecoder { _, data in data } }
}

extension ResponseDecoder where Response: Decodable & SendableMetatype {
    /// Returns a decoder of a JSON body.
    ///
    /// The standard validator accepts `application/json`, `text/json`, `text/javascript` and subtypes that end in
    /// `+json`. `makeDecoder` is called for each response, because decoders are not safe to share; without it, the
    /// decoder of the API is used (``RequestProviding/makeJSONDecoder()``). An empty body fails with
    /// ``RequestError/Reason/unexpectedNoContent``. A ``JSONValue`` is parsed strictly, as by
    /// ``JSONValue/init(parsing:)``; for every other type, `JSONDecoder` determines the syntax: it accepts a comma
    /// after the last element.
    public static func json(
        _ type: Response.Type = Response.self, using makeDecoder: (@Sendable () -> JSONDecoder)? = nil
    ) -> ResponseDecoder {
        // Two closures, because the one for the API's decoder then captures nothing.
        guard let makeDecoder else {
            return ResponseDecoder(acceptingJSON: MediaType.ofJSON) { data, makeDecoder in
                guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
                return try makeDecoder().value(Response.self, from: data)
            }
        }
        return ResponseDecoder(accepting: MediaType.ofJSON) { _, data in
            guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
            return try makeDecoder().value(Response.self, from: data)
        }
    }

    /// Returns a decoder of a JSON body, in the form of Requests 0.3.2.
    public static func json(
        encoded type: Response.Type, decoder makeDecoder: (@Sendable () -> JSONDecoder)? = nil
    ) -> ResponseDecoder {
        json(type, using: makeDecoder)
    }
}

extension MediaType {
    /// The media types that a decoder of JSON reads.
    static let ofJSON: [MediaType] = [.json]
}
