// Builders consume the request, so that each step of a chain changes it in place.
extension Request {
    /// Returns this request with its endpoint replaced by `endpoint`.
    public consuming func with(endpoint: RequestPath) -> Self {
        parts.endpoint = endpoint
        return self
    }

    /// Returns this request with its method replaced by `method`.
    public consuming func using(method: HTTPMethod) -> Self {
        parts.method = method
        return self
    }

    /// Returns this request with its header replaced by `header`.
    public consuming func with(header: Header) -> Self {
        parts.header = header
        return self
    }

    /// Returns this request with `headerField` added; fields of the same name stay.
    public consuming func adding(headerField: Field) -> Self {
        parts.header.add(headerField)
        return self
    }

    /// Returns this request with `headerFields` added; fields of the same names stay.
    public consuming func adding(headerFields: [Field]) -> Self {
        parts.header.add(headerFields)
        return self
    }

    /// Returns this request with `headerFields` added; fields of the same names stay.
    public consuming func adding(headerFields: Field...) -> Self { adding(headerFields: headerFields) }

    /// Returns this request with `headerField`, replacing all fields of that name.
    public consuming func setting(headerField: Field) -> Self {
        parts.header.set(headerField)
        return self
    }

    /// Returns this request with `cookie` added to its cookies, replacing a cookie of the same name.
    public consuming func setting(cookie: Cookie) -> Self {
        parts.header.set(cookie: cookie)
        return self
    }

    /// Returns this request with a cookie added to its cookies, replacing a cookie of the same name.
    ///
    /// - Parameters:
    ///   - name: The name, which must be a token.
    ///   - value: The value, as ``Cookie/init(name:value:)`` allows it. If the name or the value is invalid, preparing
    ///     the request throws ``RequestError/InvalidRequest/invalidCookie``.
    /// - Returns: The request.
    public consuming func setting(cookie name: String, to value: String) -> Self {
        do throws(RequestError.InvalidRequest) {
            parts.header.set(cookie: try Cookie(name: name, value: value))
        } catch {
            parts.settings.values.problem = error
        }
        return self
    }

    /// Returns this request with `cookies` added to its cookies, each replacing a cookie of the same name.
    ///
    /// An empty list changes nothing.
    public consuming func setting(cookies: [Cookie]) -> Self {
        for cookie in cookies { parts.header.set(cookie: cookie) }
        return self
    }

    /// Returns this request with its query items replaced by `query`.
    ///
    /// An item whose value is nil is sent as a bare name, `?name`; `with(query:nulls:)` can leave it out.
    public consuming func with(query: QueryItems) -> Self {
        parts.replaceQuery(with: query)
        return self
    }

    /// Returns this request with its query items replaced by `query`, in which items without a value are written in the
    /// style `nulls`.
    ///
    /// ```swift
    /// // Leaves out “page” if it is nil:
    /// request.with(query: ["q": text, "page": page], nulls: .dropped)
    /// ```
    public consuming func with(query: QueryItems, nulls: RequestParameters.Format.NullStyle) -> Self {
        parts.replaceQuery(with: query.with(nulls: nulls))
        return self
    }

    /// Returns this request with a name and a value added to its query.
    public consuming func adding<Value: QueryValue>(queryItem: (name: String, value: Value)) -> Self {
        parts.queryItems.add(name: queryItem.name, value: queryItem.value)
        return self
    }

    /// Returns this request with a name and a value added to its query; a nil value adds the name alone, without “=”.
    public consuming func adding<Value: QueryValue>(queryItem: (name: String, value: Value?)) -> Self {
        parts.queryItems.add(name: queryItem.name, value: queryItem.value)
        return self
    }

    /// Returns this request with a name and a value added to its query; a nil value is written as `nulls` determines.
    public consuming func adding<Value: QueryValue>(
        queryItem: (name: String, value: Value?), nulls: RequestParameters.Format.NullStyle
    ) -> Self {
        var items = QueryItems.empty
        items.add(name: queryItem.name, value: queryItem.value)
        return adding(queryItems: items, nulls: nulls)
    }

    /// Returns this request with a name and a text added to its query; nil adds the name alone, without “=”.
    @_disfavoredOverload
    public consuming func adding(queryItem: (name: String, value: String?)) -> Self {
        parts.queryItems.add(name: queryItem.name, value: queryItem.value)
        return self
    }

    /// Returns this request with one of Foundation's query items added.
    public consuming func adding(queryItem: URLQueryItem) -> Self { adding(queryItems: [queryItem]) }

    /// Returns this request with `queryItems` added to its query, in their order.
    public consuming func adding(queryItems: QueryItems) -> Self {
        parts.queryItems.add(queryItems)
        return self
    }

    /// Returns this request with `queryItems` added to its query, in which items without a value are written in the
    /// style `nulls`.
    public consuming func adding(queryItems: QueryItems, nulls: RequestParameters.Format.NullStyle) -> Self {
        parts.queryItems.add(queryItems.with(nulls: nulls))
        return self
    }

    /// Returns this request with Foundation's query items added, in their order.
    public consuming func adding(queryItems: URLQueryItem...) -> Self { adding(queryItems: QueryItems(queryItems)) }

    /// Returns this request with its body provided by `body`.
    public consuming func sending(_ body: BodyProvider) -> Self {
        parts.bodyProvider = body
        return self
    }

    /// Returns this request with its credentials provided by `provider`.
    public consuming func authenticated(with provider: AuthenticationProvider) -> Self {
        parts.authenticationProvider = provider
        return self
    }

    /// Limits each wait for the server to `duration`: for the first byte of the response, and between bytes.
    ///
    /// The call as a whole may take longer: ``Timeouts/total`` limits it, as in `with(timeouts: Timeouts(total:))`.
    public consuming func timeout(after duration: Duration) -> Self {
        var timeouts = parts.settings.timeouts
        timeouts.firstByte = duration
        timeouts.betweenBytes = duration
        parts.settings.timeouts = timeouts
        return self
    }

    /// Limits each wait for the server to `seconds`: for the first byte of the response, and between bytes.
    ///
    /// The call as a whole may take longer: ``Timeouts/total`` limits it, as in `with(timeouts: Timeouts(total:))`.
    /// Infinity, NaN and magnitudes of 1e15 or more mean no limit.
    public consuming func timeout(after seconds: Double) -> Self {
        parts.settings.timeouts = parts.settings.timeouts.with(interval: seconds)
        return self
    }

    /// Returns this request with its time limits replaced by `timeouts`.
    public consuming func with(timeouts: Timeouts) -> Self {
        parts.settings.timeouts = timeouts
        return self
    }

    /// Returns this request with its cache policy replaced by `cachePolicy`.
    public consuming func with(cachePolicy: PreparedRequest.CachePolicy) -> Self {
        parts.cachePolicy = cachePolicy
        return self
    }

    /// Returns this request with its responses validated by `validator`.
    public consuming func validating(_ validator: ResponseValidator) -> Self {
        parts.settings.validator = validator
        return self
    }

    /// Returns this request with its redirect policy replaced by `policy`.
    public consuming func with(redirectPolicy policy: RedirectPolicy) -> Self {
        parts.settings.redirectPolicy = policy
        return self
    }

    /// Returns this request with its attribute `key` set to `value`; nil removes the attribute.
    public consuming func setting<Key: RequestAttributes.Key>(attribute key: Key.Type, to value: Key.Value?) -> Self {
        parts.settings.attributes[key] = value
        return self
    }

    /// Returns this request with its progress reported to `observer`, at most every 64 KiB or 50 ms.
    public consuming func onProgress(_ observer: @escaping @Sendable (TransferProgress) -> Void) -> Self {
        parts.settings.progressHandler = observer
        return self
    }
}

extension Request where API == AnonymousRequestProvider, Resource == Void {
    /// Creates a one-off request with `method` to `endpoint` below `baseURL`.
    public init(method: HTTPMethod, baseURL: URL, endpoint: RequestPath = .empty) {
        self.init(
            api: AnonymousRequestProvider(baseURL: baseURL), endpoint: endpoint, responseDecoder: .none, method: method)
    }
}
