/// One request to `API` whose response is decoded to `Resource`: a value, changed by making changed copies.
///
/// Made by the verbs of ``RequestProviding``. All that does not depend on `Resource` is carried as one value, so that
/// ``receiving(_:)`` can lose nothing.
public struct Request<API: RequestProviding, Resource>: RequestConvertible {
    /// The API, whose ``RequestProviding/baseURL`` is read when the request is prepared.
    public let api: API

    /// Makes the resource of the response.
    public var responseDecoder: ResponseDecoder<Resource>

    private var parts: RequestParts

    /// A request of the parts given and the defaults of the rest.
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
    public init<Path: StringProtocol>(
        api: API, endpoint: Path, responseDecoder: ResponseDecoder<Resource>, method: HTTPMethod = DefaultValue.method
    ) {
        self.init(api: api, endpoint: RequestPath(endpoint), responseDecoder: responseDecoder, method: method)
    }

    private init(api: API, responseDecoder: ResponseDecoder<Resource>, parts: RequestParts) {
        self.api = api
        self.responseDecoder = responseDecoder
        self.parts = parts
    }

    /// The same request, read by `decoder`.
    public consuming func receiving<Other>(_ decoder: ResponseDecoder<Other>) -> Request<API, Other> {
        Request<API, Other>(api: api, responseDecoder: decoder, parts: parts)
    }
}

extension Request {
    /// The URL of the API.
    public var baseURL: URL { api.baseURL }

    /// The path below the base URL.
    public var endpoint: RequestPath {
        get { parts.endpoint }
        set { parts.endpoint = newValue }
    }

    /// The method.
    public var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }

    /// The fields the body and the authentication start from.
    public var header: Header {
        get { parts.header }
        set { parts.header = newValue }
    }

    /// The query, appended to the one the base URL has.
    public var queryItems: QueryItems {
        get { parts.queryItems }
        set { parts.queryItems = newValue }
    }

    /// Parameters, and where they go.
    public var parameterSets: [ParameterSet] {
        get { parts.parameterSets }
        set { parts.parameterSets = newValue }
    }

    /// Whether a cache may answer.
    public var cachePolicy: RequestCachePolicy {
        get { parts.cachePolicy }
        set { parts.cachePolicy = newValue }
    }

    /// How long the stages may wait.
    public var timeout: Timeouts {
        get { parts.timeout }
        set { parts.timeout = newValue }
    }

    /// Makes the body.
    public var bodyProvider: BodyProvider {
        get { parts.bodyProvider }
        set { parts.bodyProvider = newValue }
    }

    /// Adds credentials.
    public var authenticationProvider: AuthenticationProvider {
        get { parts.authenticationProvider }
        set { parts.authenticationProvider = newValue }
    }

    /// What makes a response acceptable.
    public var validator: Validator {
        get { parts.validator }
        set { parts.validator = newValue }
    }

    /// Which redirects are followed.
    public var redirects: RedirectPolicy {
        get { parts.redirects }
        set { parts.redirects = newValue }
    }

    /// Values for middleware and executors.
    public var attributes: RequestAttributes {
        get { parts.attributes }
        set { parts.attributes = newValue }
    }

    /// Told how far the exchange has come.
    public var onProgress: (@Sendable (TransferProgress) -> Void)? {
        get { parts.onProgress }
        set { parts.onProgress = newValue }
    }
}

extension Request: CustomReflectable {
    /// What `dump` sees: the description, and the header with its secrets redacted.
    public var customMirror: Mirror { Mirror(self, children: ["request": description, "header": header]) }
}

/// What a request is besides its API and its decoder.
private struct RequestParts: Sendable {
    var endpoint: RequestPath
    var method: HTTPMethod
    var header: Header
    var queryItems: QueryItems
    var cachePolicy: RequestCachePolicy
    var timeout: Timeouts
    var bodyProvider: BodyProvider
    var authenticationProvider: AuthenticationProvider
    var parameterSets: [ParameterSet] = []
    var validator = Validator.standard
    var redirects = RedirectPolicy.standard
    var attributes = RequestAttributes()
    var onProgress: (@Sendable (TransferProgress) -> Void)?
}
