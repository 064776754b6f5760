// The builders consume the request they are called on: in a chain each step changes the one before it in place.
extension Request {
    /// This request to `endpoint`.
    @inlinable
    public consuming func to(_ endpoint: RequestPath) -> Self {
        parts.endpoint = endpoint
        return self
    }

    /// This request with `method`.
    @inlinable
    public consuming func using(method: HTTPMethod) -> Self {
        parts.method = method
        return self
    }

    /// This request with `header` in the place of the one it has.
    @inlinable
    public consuming func with(header: Header) -> Self {
        parts.header = header
        return self
    }

    /// This request with `headerField` added; fields of the same name stay.
    @inlinable
    public consuming func adding(headerField: Field) -> Self {
        parts.header.add(headerField)
        return self
    }

    /// This request with `headerFields` added; fields of the same names stay.
    @inlinable
    public consuming func adding(headerFields: [Field]) -> Self {
        parts.header.add(headerFields)
        return self
    }

    /// This request with `headerFields` added; fields of the same names stay.
    @inlinable
    public consuming func adding(headerFields: Field...) -> Self { adding(headerFields: headerFields) }

    /// This request with `headerField` as the only one of its name.
    @inlinable
    public consuming func setting(headerField: Field) -> Self {
        parts.header.set(headerField)
        return self
    }

    /// This request with `cookie` among its cookies, in the place of one of the same name.
    public consuming func with(cookie: Cookie) -> Self {
        parts.header.set(cookie: cookie)
        return self
    }

    /// This request with `cookies` among its cookies, each in the place of one of the same name; an empty list changes
    /// nothing.
    public consuming func with(cookies: [Cookie]) -> Self {
        for cookie in cookies { parts.header.set(cookie: cookie) }
        return self
    }

    /// This request with `query` in the place of the one it has.
    @inlinable
    public consuming func with(query: QueryItems) -> Self {
        parts.replaceQuery(with: query)
        return self
    }

    /// This request with a name and a value added to its query.
    @inlinable
    public consuming func adding<Value: QueryValue>(queryItem: (name: String, value: Value)) -> Self {
        parts.queryItems.add(queryItem.name, queryItem.value)
        return self
    }

    /// This request with a name and a value added to its query; nil gives a bare name.
    @inlinable
    public consuming func adding<Value: QueryValue>(queryItem: (name: String, value: Value?)) -> Self {
        parts.queryItems.add(queryItem.name, queryItem.value)
        return self
    }

    /// This request with one of Foundation's items added to its query.
    @inlinable
    public consuming func adding(queryItem: URLQueryItem) -> Self { adding(queryItems: [queryItem]) }

    /// This request with `queryItems` added to its query, in their order.
    @inlinable
    public consuming func adding(queryItems: QueryItems) -> Self {
        parts.queryItems.add(queryItems)
        return self
    }

    /// This request with Foundation's items added to its query, in their order.
    @inlinable
    public consuming func adding(queryItems: URLQueryItem...) -> Self { adding(queryItems: QueryItems(queryItems)) }

    /// This request with the body that `body` makes.
    @inlinable
    public consuming func sending(_ body: BodyProvider) -> Self {
        parts.bodyProvider = body
        return self
    }

    /// This request with the credentials that `provider` adds.
    @inlinable
    public consuming func authenticated(with provider: AuthenticationProvider) -> Self {
        parts.authenticationProvider = provider
        return self
    }

    /// This request waiting at most `duration` for the first byte of the response, and between bytes.
    @inlinable
    public consuming func timeout(after duration: Duration) -> Self {
        var timeouts = parts.timeout
        timeouts.firstByte = duration
        timeouts.betweenBytes = duration
        parts.timeout = timeouts
        return self
    }

    /// This request waiting at most `seconds` for the first byte of the response, and between bytes.
    ///
    /// Values that no duration can hold, infinity and NaN among them, mean no limit.
    @inlinable
    public consuming func timeout(after seconds: Double) -> Self {
        let limit: Duration? = seconds.isFinite && abs(seconds) < 1e15 ? .seconds(seconds) : nil
        var timeouts = parts.timeout
        timeouts.firstByte = limit
        timeouts.betweenBytes = limit
        parts.timeout = timeouts
        return self
    }

    /// This request with `timeouts` in the place of those it has.
    @inlinable
    public consuming func with(timeouts: Timeouts) -> Self {
        parts.timeout = timeouts
        return self
    }

    /// This request with `cachePolicy`.
    @inlinable
    public consuming func with(cachePolicy: RequestCachePolicy) -> Self {
        parts.cachePolicy = cachePolicy
        return self
    }

    /// This request, its responses judged by `validator`.
    @inlinable
    public consuming func validating(_ validator: Validator) -> Self {
        parts.validator = validator
        return self
    }

    /// This request following redirects by `policy`.
    @inlinable
    public consuming func redirecting(_ policy: RedirectPolicy) -> Self {
        parts.redirects = policy
        return self
    }

    /// This request with `value` as its attribute `key`; nil removes it.
    @inlinable
    public consuming func with<Key: RequestAttributeKey>(attribute key: Key.Type, _ value: Key.Value?) -> Self {
        parts.attributes[key] = value
        return self
    }

    /// This request telling `observer` how far its exchange has come, at most every 64 KiB or 50 ms.
    @inlinable
    public consuming func onProgress(_ observer: @escaping @Sendable (TransferProgress) -> Void) -> Self {
        parts.onProgress = observer
        return self
    }
}

extension Request where API == AnonymousRequestProvider, Resource == Void {
    /// A one-off request of `method` to `endpoint` below `baseURL`.
    @inlinable
    public init(method: HTTPMethod, baseURL: URL, endpoint: RequestPath = .empty) {
        self.init(
            api: AnonymousRequestProvider(baseURL: baseURL), endpoint: endpoint, responseDecoder: .none, method: method)
    }
}
