// Overloads for frequent mistakes. None can be called: the compiler shows the sentence in place of an error about types.
// They are disfavored, so that a correct call never selects one of them.

extension RequestProviding {
    /// A GET request has a decoder.
    @available(*, unavailable, message: "a GET request needs a decoder, as in api.get(.json(), from: \"/path\")")
    @_disfavoredOverload
    public func get<Resource>(_ endpoint: RequestPath) -> Request<Self, Resource> {
        request(to: endpoint, using: .get).receiving(.unavailable)
    }

    /// A GET request has a decoder.
    @available(*, unavailable, message: "a GET request needs a decoder, as in api.get(.json(), from: \"/path\")")
    @_disfavoredOverload
    public func get(_ endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .get)
    }

    /// A path known only at run time is a `RequestPath`.
    @available(
        *, unavailable,
        message:
            "use RequestPath(path), which escapes nothing, or a literal, which escapes its parts: \"/users/\\(name)\""
    )
    @_disfavoredOverload
    public func get<Resource>(
        _ decoder: ResponseDecoder<Resource>, from endpoint: String
    ) -> Request<Self, Resource> {
        get(decoder, from: RequestPath(endpoint))
    }

    /// A POST request whose response has a value has a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.post(.json(value), to: \"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func post<Resource>(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Resource> {
        post(body, to: endpoint).receiving(.unavailable)
    }

    /// The body of a POST request has an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.post(.json(value), to: \"/path\")")
    @_disfavoredOverload
    public func post(_ body: some Encodable, to endpoint: RequestPath) -> Request<Self, Void> {
        post(.none, to: endpoint)
    }

    /// The body of a POST request has an encoding.
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

    /// A PUT request whose response has a value has a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.put(.json(value), to: \"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func put<Resource>(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Resource> {
        put(body, to: endpoint).receiving(.unavailable)
    }

    /// The body of a PUT request has an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.put(.json(value), to: \"/path\")")
    @_disfavoredOverload
    public func put(_ body: some Encodable, to endpoint: RequestPath) -> Request<Self, Void> {
        put(.none, to: endpoint)
    }

    /// A PATCH request whose response has a value has a decoder.
    @available(
        *, unavailable,
        message: "the response needs a decoder, as in api.patch(\"/path\", with: .json(value), receiving: .json())"
    )
    @_disfavoredOverload
    public func patch<Resource>(_ endpoint: RequestPath, with body: BodyProvider) -> Request<Self, Resource> {
        patch(endpoint, with: body).receiving(.unavailable)
    }

    /// The body of a PATCH request has an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in api.patch(\"/path\", with: .json(value))")
    @_disfavoredOverload
    public func patch(_ endpoint: RequestPath, with body: some Encodable) -> Request<Self, Void> {
        patch(endpoint, with: .none)
    }

    /// A DELETE request whose response has a value has a decoder.
    @available(
        *, unavailable, message: "the response needs a decoder, as in api.delete(\"/path\", receiving: .json())"
    )
    @_disfavoredOverload
    public func delete<Resource>(_ endpoint: RequestPath) -> Request<Self, Resource> {
        delete(endpoint).receiving(.unavailable)
    }

    /// The response to HEAD has only a status and a header.
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
    /// The decoder of the overloads that cannot be called.
    fileprivate static var unavailable: ResponseDecoder {
        ResponseDecoder { _, _ in throw RequestError(.decodingFailed) }
    }

    /// The type of a JSON value is `Decodable`.
    @available(
        *, unavailable,
        message: "the type is not Decodable: declare it, or use .none to ignore the body, .jsonValue for any JSON"
    )
    @_disfavoredOverload
    public static func json(_ type: Response.Type = Response.self) -> ResponseDecoder { .unavailable }
}

extension BodyProvider {
    /// The type of a JSON value is `Encodable` and `Sendable`.
    @available(
        *, unavailable,
        message: "the type is not Encodable and Sendable: declare both, or use .json(encoded:) if not Sendable"
    )
    @_disfavoredOverload
    public static func json<Value>(_ value: Value) -> BodyProvider { .none }

    /// Bytes, text and files have providers of their own.
    @available(*, unavailable, message: "use .raw(data: data, contentType: type), .text(text) or .file(at: url)")
    @_disfavoredOverload
    public static func data(_ data: Data) -> BodyProvider { .none }
}

extension ResponseDecoder where Response == Never {
    /// The type of a value is known.
    @available(*, unavailable, message: "the type of the value is unknown: name it, as in .json(User.self)")
    @_disfavoredOverload
    public static func json() -> ResponseDecoder { .unavailable }
}
