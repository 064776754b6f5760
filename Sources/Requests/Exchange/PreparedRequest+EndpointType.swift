extension PreparedRequest {
    /// The type of the endpoint from which a ``Client`` made the request, such as an enum of an app's endpoints.
    ///
    /// It is nil for a request that was not made from an endpoint, or that is its own endpoint. Redirects keep it. Tests
    /// use it to recognize the requests of an endpoint.
    public var endpointType: (any Sendable.Type)? { parts.typedEndpoint.map { type(of: $0) } }

    /// The endpoint from which a client made the request; nil if there is none.
    package var typedEndpoint: (any Sendable)? { parts.typedEndpoint }

    /// The API that the request was prepared for; nil for a request that is not a `Request`.
    package var api: (any Sendable)? { parts.api }
}
