extension ResponseDecoder where Response == Void {
    /// Ignores the body, which is read to its end so that its connection can be used again.
    ///
    /// One of more than 64 MiB is ``RequestError/Reason/tooLarge(limit:)``.
    @inlinable public static var none: ResponseDecoder {
        ResponseDecoder { _, _ in }
    }
}

extension ResponseDecoder where Response == Data {
    /// The body as it is; empty when there is none.
    @inlinable public static var data: ResponseDecoder { ResponseDecoder { _, data in data } }
}

extension ResponseDecoder where Response == String {
    /// The body as UTF-8; ill-formed bytes become U+FFFD.
    ///
    /// A response that cannot have a body (204, 304) is ``RequestError/Reason/unexpectedNoContent``.
    public static var text: ResponseDecoder {
        ResponseDecoder { head, data in
            if head.status.forbidsBody { throw RequestError(.unexpectedNoContent) }
            return String(decoding: data, as: UTF8.self)
        }
    }
}

extension ResponseDecoder where Response: Decodable & SendableMetatype {
    /// The body as JSON, `application/json` or `text/json`.
    ///
    /// The decoder is made for each use, because decoders are not safe to share. An empty body is
    /// ``RequestError/Reason/unexpectedNoContent``. A ``JSONValue`` is read as ``JSONValue/init(parsing:)`` reads it,
    /// strictly; with any other type `JSONDecoder` decides, which accepts a comma behind the last element.
    @inlinable
    public static func json(
        _ type: Response.Type = Response.self,
        using makeDecoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: MediaType.ofJSON) { _, data in
            guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
            return try makeDecoder().value(Response.self, from: data)
        }
    }

    /// The body as JSON, spelled as Requests 0.3.2 spelled it.
    @inlinable
    public static func json(
        encoded type: Response.Type, decoder makeDecoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
    ) -> ResponseDecoder {
        json(type, using: makeDecoder)
    }
}

extension MediaType {
    /// What a decoder of JSON reads.
    @usableFromInline static let ofJSON: [MediaType] = [.json]
}
