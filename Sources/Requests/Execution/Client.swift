/// An API and the executor that performs its requests: the one value that an environment swaps.
///
/// ```swift
/// let github = Client(GitHub.production, executor: SocketExecutor())
/// let user = try await github.perform(Users.named("octocat"))
/// ```
///
/// What is performed may be an ``Endpoint`` of the API, a ``Call``, a ``Request``, or a function from the API to a
/// request. Preparing, I/O, validation and decoding never run on the caller's actor.
public struct Client<API: RequestProviding>: Sendable {
    /// The API, in the environment the client was made for.
    public let api: API

    /// Performs the requests.
    public let executor: any RequestExecutor

    /// A client of `api` that sends through `executor`.
    @inlinable
    public init(_ api: API, executor: any RequestExecutor) {
        self.api = api
        self.executor = executor
    }
}

extension Client {
    /// Performs `endpoint` and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func perform<E: Endpoint>(_ endpoint: E) async throws(RequestError) -> E.Resource where E.API == API {
        try await endpoint.request(from: api).value(from: executor)
    }

    /// Performs `call` and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func perform<Resource>(_ call: Call<API, Resource>) async throws(RequestError) -> Resource {
        try await call.request(from: api).value(from: executor)
    }

    /// Performs `request` and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func perform<Resource>(_ request: Request<API, Resource>) async throws(RequestError) -> Resource {
        try await request.value(from: executor)
    }

    /// Performs the request that `make` describes and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func perform<Resource>(
        _ make: @Sendable (API) -> Request<API, Resource>
    ) async throws(RequestError) -> Resource {
        try await make(api).value(from: executor)
    }
}

extension Client {
    /// Performs `endpoint` and gives its value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func response<E: Endpoint>(
        for endpoint: E
    ) async throws(RequestError) -> TypedResponse<E.Resource> where E.API == API {
        try await endpoint.request(from: api).typedResponse(from: executor)
    }

    /// Performs `call` and gives its value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func response<Resource>(
        for call: Call<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await call.request(from: api).typedResponse(from: executor)
    }

    /// Performs `request` and gives its value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func response<Resource>(
        for request: Request<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await request.typedResponse(from: executor)
    }

    /// Performs the request that `make` describes and gives its value with what surrounds it.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func response<Resource>(
        for make: @Sendable (API) -> Request<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await make(api).typedResponse(from: executor)
    }
}

extension Client {
    /// The request that performing `endpoint` would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    @inlinable
    public func prepared<E: Endpoint>(_ endpoint: E) throws(RequestError) -> PreparedRequest where E.API == API {
        try endpoint.request(from: api).prepared()
    }

    /// The request that performing `call` would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    @inlinable
    public func prepared<Resource>(_ call: Call<API, Resource>) throws(RequestError) -> PreparedRequest {
        try call.request(from: api).prepared()
    }

    /// The request that performing `request` would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    @inlinable
    public func prepared<Resource>(_ request: Request<API, Resource>) throws(RequestError) -> PreparedRequest {
        try request.prepared()
    }

    /// The request that performing what `make` describes would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    @inlinable
    public func prepared<Resource>(
        _ make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> PreparedRequest {
        try make(api).prepared()
    }
}
