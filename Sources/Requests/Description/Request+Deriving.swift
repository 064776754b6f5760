extension Request {
    /// Returns a request to `endpoint` below the endpoint of this request.
    ///
    /// It has everything that this request has except its method, body and decoder.
    ///
    /// The header, query, time limits, credentials, validator, redirect policy, options and attributes are kept, except
    /// for ``isIdempotent``, which the new method determines. Values that the new request sets replace them, and query
    /// items that it adds follow. An empty `endpoint` keeps the endpoint of this request. One slash is inserted between
    /// two endpoints that have none between them.
    public func deriving(to endpoint: RequestPath = .empty, using method: HTTPMethod = .get) -> Request<API, Void> {
        var derived = receiving(ResponseDecoder<Void>.none)
        derived.endpoint = self.endpoint.appending(endpoint)
        derived.method = method
        derived.bodyProvider = .none
        derived.resetIdempotence()
        return derived
    }

    /// Returns this request with its options replaced by `options`.
    public consuming func with(options: RequestOptions) -> Self {
        attributes[RequestOptions.self] = options
        return self
    }
}

extension PreparedRequest {
    /// The media type of the body; nil when there is no body or its type is not set.
    public var contentType: MediaType? { header.contentType }

    /// The options of the request.
    public var options: RequestOptions {
        (hasOwnAttributes ? attributes[RequestOptions.self] : nil) ?? RequestOptions()
    }
}
