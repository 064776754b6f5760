// Overloads for frequent mistakes. They cannot be called: the compiler shows their message instead of an error about
// types. They are disfavored, so that a correct call never selects one of them.

extension RequestProviding {
    /// Unavailable, because a GET request needs a decoder.
    @available(*, unavailable, message: "a GET request needs a decoder, as in api.get(.json(), from: \"/path\")")
    @_disfavoredOverload
    public func get<Resource>(_ endpoint: RequestPath) -> Request<Self, Resource> {
        request(to: endpoint, using: .get).receiving(.unavailable)
    }

    /// Unavailable, because a GET request needs a decoder.
    @available(*, unavailable, message: "a GET request needs a decoder, as in api.get(.json(), from: \"/path\")")
    @_disfavoredOverload
    public func get(_ endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .get)
    }

    /// Unavailable, because the query is added to the request.
    @available(
        *, unavailable, message: "add the query to the request: api.get(.json(), from: \"/path\").with(query: query)"
    )
    public func get<Resource>(
        _ decoder: ResponseDecoder<Resource>, from endpoint: RequestPath, query: QueryItems
    ) -> Request<Self, Resource> {
        get(decoder, from: endpoint)
    }

    /// Unavailable, because a path that is known only at run time is a ``RequestPath``.
    @available(
        *, unavailable,
        message:
            "use RequestPath(path), which escapes nothing, or a literal, which escapes its values: \"/users/\\(name)\""
    )
    @_disfavoredOverload
    public func get<Resource>(
        _ decoder: ResponseDecoder<Resource>, from endpoint: String
    ) -> Request<Self, Resource> {
        get(decoder, from: RequestPath(endpoint))
    }

    /// Unavailable, because a response with a value needs a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.post(.json(value), to: \"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func post<Resource>(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Resource> {
        post(body, to: endpoint).receiving(.unavailable)
    }

    /// Unavailable, because the body of a POST request needs an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.post(.json(value), to: \"/path\")")
    @_disfavoredOverload
    public func post(_ body: some Encodable, to endpoint: RequestPath) -> Request<Self, Void> {
        post(.none, to: endpoint)
    }

    /// Unavailable, because the body of a POST request needs an encoding.
    @available(
        *, unavailable,
        message: "the body needs an encoding, as in api.post(.json(value), to: \"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func post<Resource>(
        _ body: some Encodable, to endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        post(.none, to: endpoint, receiving: decoder)
    }

    /// Unavailable, because a response with a value needs a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.put(.json(value), to: \"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func put<Resource>(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Resource> {
        put(body, to: endpoint).receiving(.unavailable)
    }

    /// Unavailable, because the body of a PUT request needs an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.put(.json(value), to: \"/path\")")
    @_disfavoredOverload
    public func put(_ body: some Encodable, to endpoint: RequestPath) -> Request<Self, Void> {
        put(.none, to: endpoint)
    }

    /// Unavailable, because a response with a value needs a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.patch(\"/path\", with: .json(value), receiving: .json())"
    )
    @_disfavoredOverload
    public func patch<Resource>(_ endpoint: RequestPath, with body: BodyProvider) -> Request<Self, Resource> {
        patch(endpoint, with: body).receiving(.unavailable)
    }

    /// Unavailable, because a response with a value needs a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.patch(.json(value), to: \"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func patch<Resource>(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Resource> {
        patch(body, to: endpoint).receiving(.unavailable)
    }

    /// Unavailable, because the body of a PATCH request needs an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.patch(.json(value), to: \"/path\")")
    @_disfavoredOverload
    public func patch(_ body: some Encodable, to endpoint: RequestPath) -> Request<Self, Void> {
        patch(.none, to: endpoint)
    }

    /// Unavailable, because the body of a PATCH request needs an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.patch(\"/path\", with: .json(value))")
    @_disfavoredOverload
    public func patch(_ endpoint: RequestPath, with body: some Encodable) -> Request<Self, Void> {
        patch(endpoint, with: .none)
    }

    /// Unavailable, because a response with a value needs a decoder.
    @available(
        *, unavailable, message: "the response needs a decoder, as in api.delete(\"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func delete<Resource>(_ endpoint: RequestPath) -> Request<Self, Resource> {
        delete(endpoint).receiving(.unavailable)
    }

    /// Unavailable, because the response to HEAD has no content.
    @available(
        *, unavailable,
        message: "the response to HEAD has no content; read its header with api.head(\"/path\").receiving(.header)"
    )
    @_disfavoredOverload
    public func head<Resource>(_ endpoint: RequestPath) -> Request<Self, Resource> {
        head(endpoint).receiving(.unavailable)
    }
}

extension ResponseDecoder {
    /// The decoder of the unavailable overloads, which never runs.
    fileprivate static var unavailable: ResponseDecoder {
        ResponseDecoder { _, _ in throw RequestError(.decodingFailed) }
    }

    /// Unavailable, because the type of a received JSON value must be `Decodable`.
    @available(
        *, unavailable,
        message: "the type must be Decodable; for any JSON, use .jsonValue, and to ignore the body, use .none"
    )
    @_disfavoredOverload
    public static func json(_ type: Response.Type = Response.self) -> ResponseDecoder { .unavailable }
}

extension ResponseDecoder {
    /// Unavailable, because a chain begins with the type of its first decoder, unless that is `.text`, `.data`,
    /// `.jsonValue`, `.json(_:)` or `.xml`.
    @available(
        *, unavailable, message: "a decoder with another value begins with its type, as in ResponseDecoder.header.map"
    )
    @_disfavoredOverload
    public func map<New>(_ transform: @escaping @Sendable (Response) async throws -> New) -> ResponseDecoder {
        .unavailable
    }
}

extension BodyProvider {
    /// Unavailable, because the type of a sent JSON value must be `Encodable` and `Sendable`.
    @available(
        *, unavailable,
        message:
            "the type must be Encodable and Sendable, or use .json(encoded:); in mixed literals, write .string(name)"
    )
    @_disfavoredOverload
    public static func json<Value>(_ value: Value) -> BodyProvider { .none }

    /// Unavailable, because bytes, text and files have their own providers.
    @available(*, unavailable, message: "use .raw(data: data, contentType: type), .text(text) or .file(at: url)")
    @_disfavoredOverload
    public static func data(_ data: Data) -> BodyProvider { .none }
}

extension ResponseDecoder where Response == Never {
    /// Unavailable, because the type of the value must be known.
    @available(*, unavailable, message: "the type of the value is unknown; specify it, as in .json(User.self)")
    @_disfavoredOverload
    public static func json() -> ResponseDecoder { .unavailable }
}
