extension RequestExecutor {
    /// Unavailable.
    ///
    /// Use `intercepting(_:)`.
    @available(*, unavailable, renamed: "intercepting(_:)")
    @_disfavoredOverload
    public func intercepted(
        _ function:
            @escaping @Sendable (_ request: PreparedRequest, _ next: any RequestExecutor) async throws -> RawResponse
    ) -> any RequestExecutor { self }
}

extension Client {
    /// Unavailable, because the API creates the requests of a client.
    @available(
        *, unavailable, message: "the API creates requests, as in client.perform { $0.get(.json(), from: \"/path\") }"
    )
    public func get<Resource>(_ decoder: ResponseDecoder<Resource>, from endpoint: RequestPath) async throws -> Resource
    {
        try await perform { $0.get(decoder, from: endpoint) }
    }

    /// Unavailable, because the API creates the requests of a client.
    @available(
        *, unavailable,
        message: "the API creates requests, as in client.perform { $0.post(.json(value), to: \"/path\") }"
    )
    public func post(_ body: BodyProvider, to endpoint: RequestPath) async throws {
        try await perform { $0.post(body, to: endpoint) }
    }
}
