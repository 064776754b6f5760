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
    public func perform<E: Endpoint>(_ endpoint: E) async throws(RequestError) -> E.Resource where E.API == API {
        try await executor.typedResponse(for: endpoint.request(from: api)).value
    }

    /// Performs `call` and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func perform<Resource>(_ call: Call<API, Resource>) async throws(RequestError) -> Resource {
        try await executor.typedResponse(for: call.request(from: api)).value
    }

    /// Performs `request` and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func perform<Resource>(_ request: Request<API, Resource>) async throws(RequestError) -> Resource {
        try await executor.typedResponse(for: request).value
    }

    /// Performs the request that `make` describes and gives its value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func perform<Resource>(
        _ make: @Sendable (API) -> Request<API, Resource>
    ) async throws(RequestError) -> Resource {
        try await executor.typedResponse(for: make(api)).value
    }
}

extension Client {
    /// Performs `endpoint` and gives its value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func response<E: Endpoint>(
        for endpoint: E
    ) async throws(RequestError) -> TypedResponse<E.Resource> where E.API == API {
        try await executor.typedResponse(for: endpoint.request(from: api))
    }

    /// Performs `call` and gives its value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func response<Resource>(
        for call: Call<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await executor.typedResponse(for: call.request(from: api))
    }

    /// Performs `request` and gives its value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func response<Resource>(
        for request: Request<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await executor.typedResponse(for: request)
    }

    /// Performs the request that `make` describes and gives its value with what surrounds it.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func response<Resource>(
        for make: @Sendable (API) -> Request<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await executor.typedResponse(for: make(api))
    }
}

extension Client {
    /// The request that performing `endpoint` would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    public func prepared<E: Endpoint>(_ endpoint: E) throws(RequestError) -> PreparedRequest where E.API == API {
        try endpoint.request(from: api).prepared()
    }

    /// The request that performing `call` would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    public func prepared<Resource>(_ call: Call<API, Resource>) throws(RequestError) -> PreparedRequest {
        try call.request(from: api).prepared()
    }

    /// The request that performing `request` would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    public func prepared<Resource>(_ request: Request<API, Resource>) throws(RequestError) -> PreparedRequest {
        try request.prepared()
    }

    /// The request that performing what `make` describes would send; nothing is sent.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    public func prepared<Resource>(
        _ make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> PreparedRequest {
        try make(api).prepared()
    }
}
