// The builders consume the request they are called on: in a chain each step changes the one before it in place.
extension Request {
    private consuming func with(_ change: (inout Self) -> Void) -> Self {
        change(&self)
        return self
    }

    /// This request to `endpoint`.
    public consuming func to(_ endpoint: RequestPath) -> Self { with { $0.endpoint = endpoint } }

    /// This request with `method`.
    public consuming func using(method: HTTPMethod) -> Self { with { $0.method = method } }

    /// This request with `header` in the place of the one it has.
    public consuming func with(header: Header) -> Self { with { $0.header = header } }

    /// This request with `headerField` added; fields of the same name stay.
    public consuming func adding(headerField: Field) -> Self { with { $0.header.add(headerField) } }

    /// This request with `headerFields` added; fields of the same names stay.
    public consuming func adding(headerFields: [Field]) -> Self { with { $0.header.add(headerFields) } }

    /// This request with `headerFields` added; fields of the same names stay.
    public consuming func adding(headerFields: Field...) -> Self { adding(headerFields: headerFields) }

    /// This request with `headerField` as the only one of its name.
    public consuming func setting(headerField: Field) -> Self { with { $0.header.set(headerField) } }

    /// This request with `query` in the place of the one it has.
    public consuming func with(query: QueryItems) -> Self { with { $0.queryItems = query } }

    /// This request with a name and a value added to its query.
    public consuming func adding<Value: QueryValue>(queryItem: (name: String, value: Value)) -> Self {
        with { $0.queryItems.add(queryItem.name, queryItem.value) }
    }

    /// This request with a name and a value added to its query; nil gives a bare name.
    public consuming func adding<Value: QueryValue>(queryItem: (name: String, value: Value?)) -> Self {
        with { $0.queryItems.add(queryItem.name, queryItem.value) }
    }

    /// This request with one of Foundation's items added to its query.
    public consuming func adding(queryItem: URLQueryItem) -> Self { adding(queryItems: [queryItem]) }

    /// This request with `queryItems` added to its query, in their order.
    public consuming func adding(queryItems: QueryItems) -> Self { with { $0.queryItems.add(queryItems) } }

    /// This request with Foundation's items added to its query, in their order.
    public consuming func adding(queryItems: URLQueryItem...) -> Self { adding(queryItems: QueryItems(queryItems)) }

    /// This request with the body that `body` makes.
    public consuming func sending(_ body: BodyProvider) -> Self { with { $0.bodyProvider = body } }

    /// This request with the credentials that `provider` adds.
    public consuming func authenticated(with provider: AuthenticationProvider) -> Self {
        with { $0.authenticationProvider = provider }
    }

    /// This request waiting at most `duration` for the first byte of the response, and between bytes.
    public consuming func timeout(after duration: Duration) -> Self {
        with {
            $0.timeout.firstByte = duration
            $0.timeout.betweenBytes = duration
        }
    }

    /// This request waiting at most `seconds` for the first byte of the response, and between bytes.
    ///
    /// Values that no duration can hold, infinity and NaN among them, mean no limit.
    public consuming func timeout(after seconds: Double) -> Self {
        with {
            let limit: Duration? = seconds.isFinite && abs(seconds) < 1e15 ? .seconds(seconds) : nil
            $0.timeout.firstByte = limit
            $0.timeout.betweenBytes = limit
        }
    }

    /// This request with `timeouts` in the place of those it has.
    public consuming func with(timeouts: Timeouts) -> Self { with { $0.timeout = timeouts } }

    /// This request with `cachePolicy`.
    public consuming func with(cachePolicy: RequestCachePolicy) -> Self { with { $0.cachePolicy = cachePolicy } }

    /// This request, its responses judged by `validator`.
    public consuming func validating(_ validator: Validator) -> Self { with { $0.validator = validator } }

    /// This request following redirects by `policy`.
    public consuming func redirecting(_ policy: RedirectPolicy) -> Self { with { $0.redirects = policy } }

    /// This request with `value` as its attribute `key`; nil removes it.
    public consuming func with<Key: RequestAttributeKey>(attribute key: Key.Type, _ value: Key.Value?) -> Self {
        with { $0.attributes[key] = value }
    }

    /// This request telling `observer` how far its exchange has come, at most every 64 KiB or 50 ms.
    public consuming func onProgress(_ observer: @escaping @Sendable (TransferProgress) -> Void) -> Self {
        with { $0.onProgress = observer }
    }
}

extension Request where API == AnonymousRequestProvider, Resource == Void {
    /// A one-off request of `method` to `endpoint` below `baseURL`.
    public init(method: HTTPMethod, baseURL: URL, endpoint: RequestPath = .empty) {
        self.init(
            api: AnonymousRequestProvider(baseURL: baseURL), endpoint: endpoint, responseDecoder: .none, method: method)
    }
}
