extension Request {
    /// A request to `endpoint` below this one's, with what this one has but its method, body and decoder.
    ///
    /// The header, the query, timeouts, credentials, validator, redirects, options and attributes are kept; what the new
    /// request sets takes their place, what it adds to the query comes after. An empty endpoint is this one's; between
    /// two that have no slash between them one is put.
    public func deriving(_ method: HTTPMethod = .get, _ endpoint: RequestPath = .empty) -> Request<API, Void> {
        var derived = receiving(ResponseDecoder<Void>.none)
        derived.endpoint = self.endpoint.appending(endpoint)
        derived.method = method
        derived.bodyProvider = .none
        return derived
    }

    /// This request treated as `options` says.
    public consuming func with(options: RequestOptions) -> Self {
        attributes[RequestOptions.self] = options
        return self
    }
}

extension PreparedRequest {
    /// The media type of the body that will be sent; nil when there is none or it has no type.
    public var contentType: MediaType? { header.contentType }

    /// How the request is to be treated.
    public var options: RequestOptions { attributes[RequestOptions.self] ?? RequestOptions() }
}
