/// A client that performs the requests of an API with an executor.
///
/// ```swift
/// let github = Client(GitHub.production, executor: SocketExecutor())
/// let user = try await github.perform(Users.named("octocat"))
/// ```
///
/// You can perform an ``Endpoint``, a ``Call``, a ``Request``, or a function from the API to a request. Preparing, I/O,
/// validation and decoding never run on the actor of the caller. To change the environment of an app, replace its
/// client.
public struct Client<API: RequestProviding>: Sendable {
    /// The API, in the environment of the client.
    public let api: API

    /// The executor that performs the requests.
    public let executor: any RequestExecutor

    /// Creates a client that performs the requests of `api` with `executor`.
    public init(_ api: API, executor: any RequestExecutor) {
        self.api = api
        self.executor = executor
    }
}

extension Client {
    /// Performs `endpoint` and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @concurrent
    public func perform<E: Endpoint>(_ endpoint: E) async throws(RequestError) -> E.Resource where E.API == API {
        try await endpoint.identifiedRequest(from: api).value(from: executor)
    }

    /// Performs `call` and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @concurrent
    public func perform<Resource>(_ call: Call<API, Resource>) async throws(RequestError) -> Resource {
        try await call.request(from: api).value(from: executor)
    }

    /// Performs the request that `make` describes and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    public func perform<Resource>(
        _ make: (API) -> Request<API, Resource>
    ) async throws(RequestError) -> Resource {
        // This function is not `@concurrent`: `make` runs on the caller and need not be `Sendable`.
        try await perform(make(api))
    }
}

extension Client {
    /// Performs `endpoint` and returns the value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @concurrent
    public func response<E: Endpoint>(
        for endpoint: E
    ) async throws(RequestError) -> TypedResponse<E.Resource> where E.API == API {
        try await endpoint.identifiedRequest(from: api).typedResponse(from: executor)
    }

    /// Performs `call` and returns the value with the status, header, metrics and history of the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @concurrent
    public func response<Resource>(
        for call: Call<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        try await call.request(from: api).typedResponse(from: executor)
    }

    /// Performs the request that `make` describes and returns the value with the status, header, metrics and history of
    /// the response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    public func response<Resource>(
        for make: (API) -> Request<API, Resource>
    ) async throws(RequestError) -> TypedResponse<Resource> {
        // This function is not `@concurrent`: `make` runs on the caller and need not be `Sendable`.
        try await response(for: make(api))
    }
}

extension Client {
    /// Returns the request for `endpoint` without sending it.
    ///
    /// - Throws: ``RequestError`` with the reason why the request cannot be sent.
    public func preparedRequest<E: Endpoint>(
        for endpoint: E
    ) throws(RequestError) -> PreparedRequest where E.API == API {
        try endpoint.identifiedRequest(from: api).prepared()
    }

    /// Returns the request for `call` without sending it.
    ///
    /// - Throws: ``RequestError`` with the reason why the request cannot be sent.
    public func preparedRequest<Resource>(for call: Call<API, Resource>) throws(RequestError) -> PreparedRequest {
        try call.request(from: api).prepared()
    }

    /// Returns the request that `make` describes without sending it.
    ///
    /// - Throws: ``RequestError`` with the reason why the request cannot be sent.
    public func preparedRequest<Resource>(
        for make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> PreparedRequest {
        try make(api).prepared()
    }
}

extension Client: CustomStringConvertible, CustomReflectable {
    /// The types of the client, its executor and its middleware, and the base URL without secrets.
    ///
    /// For example: `Client<GitHub> for https://api.github.com: SocketExecutor with Retrying`.
    public var description: String {
        let url = Redaction.standard.redacted(reference: api.baseURL.absoluteString)
        let chain = (executor as? Intercepted)?.description ?? "\(type(of: executor))"
        return "\(Self.self) for \(url): \(chain)"
    }

    /// The mirror that `dump` prints: the type of the executor.
    public var customMirror: Mirror { Mirror(self, children: ["executor": "\(type(of: executor))"]) }
}
