/// One request to `API` whose response is decoded to `Resource`: a value, changed by making changed copies.
///
/// Made by the verbs of ``RequestProviding``. All that does not depend on `Resource` is carried as one value, so that
/// ``receiving(_:)`` can lose nothing.
public struct Request<API: RequestProviding, Resource>: RequestConvertible {
    /// The API, whose ``RequestProviding/baseURL`` is read when the request is prepared.
    public let api: API

    /// Makes the resource of the response.
    public var responseDecoder: ResponseDecoder<Resource>

    @usableFromInline var parts: RequestParts

    /// A request of the parts given and the defaults of the rest.
    @inlinable
    public init(
        api: API, endpoint: RequestPath, responseDecoder: ResponseDecoder<Resource>,
        method: HTTPMethod = DefaultValue.method, header: Header = DefaultValue.header,
        queryItems: QueryItems = DefaultValue.queryItems, cachePolicy: RequestCachePolicy = DefaultValue.cachePolicy,
        timeout: Timeouts = DefaultValue.timeout, bodyProvider: BodyProvider = DefaultValue.bodyProvider,
        authenticationProvider: AuthenticationProvider = DefaultValue.authenticationProvider
    ) {
        self.api = api
        self.responseDecoder = responseDecoder
        parts = RequestParts(
            endpoint: endpoint, method: method, header: header, queryItems: queryItems, cachePolicy: cachePolicy,
            timeout: timeout, bodyProvider: bodyProvider, authenticationProvider: authenticationProvider)
    }

    /// A request to a path known only at run time, which is trusted like a literal.
    @_disfavoredOverload
    @inlinable
    public init<Path: StringProtocol>(
        api: API, endpoint: Path, responseDecoder: ResponseDecoder<Resource>, method: HTTPMethod = DefaultValue.method
    ) {
        self.init(
            api: api, responseDecoder: responseDecoder,
            parts: RequestParts(endpoint: RequestPath(endpoint), method: method))
    }

    @inlinable
    init(api: API, responseDecoder: ResponseDecoder<Resource>, parts: RequestParts) {
        self.api = api
        self.responseDecoder = responseDecoder
        self.parts = parts
    }

    /// The same request, read by `decoder`.
    @inlinable
    public consuming func receiving<Other>(_ decoder: ResponseDecoder<Other>) -> Request<API, Other> {
        Request<API, Other>(api: api, responseDecoder: decoder, parts: parts)
    }
}

extension Request {
    /// The URL of the API.
    @inlinable public var baseURL: URL { api.baseURL }

    /// The path below the base URL.
    public var endpoint: RequestPath {
        @inlinable get { parts.endpoint }
        @inlinable set { parts.endpoint = newValue }
    }

    /// The method.
    public var method: HTTPMethod {
        @inlinable get { parts.method }
        @inlinable set { parts.method = newValue }
    }

    /// The fields the body and the authentication start from.
    public var header: Header {
        @inlinable get { parts.header }
        @inlinable set { parts.header = newValue }
    }

    /// The query, appended to the one the base URL has.
    public var queryItems: QueryItems {
        @inlinable get { parts.queryItems }
        @inlinable set { parts.queryItems = newValue }
    }

    /// Parameters, and where they go.
    public var parameterSets: [ParameterSet] {
        get { parts.parameterSets }
        set { parts.parameterSets = newValue }
    }

    /// Whether a cache may answer.
    public var cachePolicy: RequestCachePolicy {
        @inlinable get { parts.cachePolicy }
        @inlinable set { parts.cachePolicy = newValue }
    }

    /// How long the stages may wait.
    public var timeout: Timeouts {
        @inlinable get { parts.timeout }
        @inlinable set { parts.timeout = newValue }
    }

    /// Makes the body.
    public var bodyProvider: BodyProvider {
        @inlinable get { parts.bodyProvider }
        @inlinable set { parts.bodyProvider = newValue }
    }

    /// Adds credentials.
    public var authenticationProvider: AuthenticationProvider {
        @inlinable get { parts.authenticationProvider }
        @inlinable set { parts.authenticationProvider = newValue }
    }

    /// What makes a response acceptable.
    public var validator: Validator {
        @inlinable get { parts.validator }
        @inlinable set { parts.validator = newValue }
    }

    /// Which redirects are followed.
    public var redirects: RedirectPolicy {
        @inlinable get { parts.redirects }
        @inlinable set { parts.redirects = newValue }
    }

    /// Values for middleware and executors.
    public var attributes: RequestAttributes {
        @inlinable get { parts.attributes }
        @inlinable set { parts.attributes = newValue }
    }

    /// Told how far the exchange has come.
    public var onProgress: (@Sendable (TransferProgress) -> Void)? {
        @inlinable get { parts.onProgress }
        @inlinable set { parts.onProgress = newValue }
    }
}

extension Request: CustomReflectable {
    /// What `dump` sees: the description, and the header with its secrets redacted.
    public var customMirror: Mirror { Mirror(self, children: ["request": description, "header": header]) }
}
