extension PreparedRequest {
    /// The type of the endpoint from which a ``Client`` made the request, such as an app's enum of endpoints.
    ///
    /// It is nil for a request that was not made from an endpoint, or that is its own endpoint. Redirects keep it.
    /// Tests use it to recognize the requests of an endpoint.
    package var endpointType: (any Sendable.Type)? { typedEndpoint.map { type(of: $0) } }
}
