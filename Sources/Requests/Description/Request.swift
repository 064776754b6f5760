/// A request to `API` whose response is decoded to `Resource`.
///
/// Create requests with the functions of ``RequestProviding``, such as ``RequestProviding/get(_:from:)``. The methods
/// of a request return changed copies. The properties that do not depend on `Resource` are stored as one value, so
/// ``receiving(_:)`` keeps all of them.
public struct Request<API: RequestProviding, Resource>: RequestConvertible {
    /// The API, whose ``RequestProviding/baseURL`` is read when the request is prepared.
    public let api: API

    /// The decoder that makes the resource from the response.
    public var responseDecoder: ResponseDecoder<Resource>

    var parts: RequestParts

    /// Creates a request from its parts; missing parts have the values of ``DefaultValue``.
    public init(
        api: API, endpoint: RequestPath, responseDecoder: ResponseDecoder<Resource>,
        method: HTTPMethod = DefaultValue.method, header: Header = DefaultValue.header,
        queryItems: QueryItems = DefaultValue.queryItems,
        cachePolicy: PreparedRequest.CachePolicy = DefaultValue.cachePolicy, timeouts: Timeouts = DefaultValue.timeouts,
        bodyProvider: BodyProvider = DefaultValue.bodyProvider,
        authenticationProvider: AuthenticationProvider = DefaultValue.authenticationProvider
    ) {
        self.api = api
        self.responseDecoder = responseDecoder
        parts = RequestParts(
            endpoint: endpoint, method: method, header: header, queryItems: queryItems, cachePolicy: cachePolicy,
            timeouts: timeouts, bodyProvider: bodyProvider, authenticationProvider: authenticationProvider)
    }

    /// Creates a request to a path known only at run time, which is trusted like a literal.
    @_disfavoredOverload
    public init<Path: StringProtocol>(
        api: API, endpoint: Path, responseDecoder: ResponseDecoder<Resource>, method: HTTPMethod = DefaultValue.method
    ) {
        self.init(
            api: api, responseDecoder: responseDecoder,
            parts: RequestParts(endpoint: RequestPath(endpoint), method: method))
    }

    init(api: API, responseDecoder: ResponseDecoder<Resource>, parts: RequestParts) {
        self.api = api
        self.responseDecoder = responseDecoder
        self.parts = parts
    }

    /// Returns this request with its response decoded by `decoder`.
    public consuming func receiving<Other>(_ decoder: ResponseDecoder<Other>) -> Request<API, Other> {
        Request<API, Other>(api: api, responseDecoder: decoder, parts: parts)
    }
}

extension Request {
    /// The base URL of the API.
    public var baseURL: URL { api.baseURL }

    /// The path below the base URL.
    public var endpoint: RequestPath {
        get { parts.endpoint }
        set { parts.endpoint = newValue }
    }

    /// The HTTP method.
    public var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }

    /// The header fields, before the body and the authentication provider change them.
    public var header: Header {
        get { parts.header }
        set { parts.header = newValue }
    }

    /// The query items, appended to the query of the base URL.
    public var queryItems: QueryItems {
        get { parts.queryItems }
        set { parts.queryItems = newValue }
    }

    /// The parameters and their destinations.
    public var parameterSets: [ParameterSet] {
        get { parts.parameterSets }
        set { parts.parameterSets = newValue }
    }

    /// The policy for responses from a cache.
    public var cachePolicy: PreparedRequest.CachePolicy {
        get { parts.cachePolicy }
        set { parts.cachePolicy = newValue }
    }

    /// The time limits of the exchange.
    public var timeouts: Timeouts {
        get { parts.settings.timeouts }
        set { parts.settings.timeouts = newValue }
    }

    /// The longer of the limits for the first byte and between bytes, in seconds; infinite if either is nil.
    ///
    /// Setting it sets both; infinity, NaN and magnitudes of 1e15 or more mean no limit.
    public var timeoutInterval: Double {
        get { timeouts.interval }
        set { self = timeout(after: newValue) }
    }

    /// The provider of the body.
    public var bodyProvider: BodyProvider {
        get { parts.bodyProvider }
        set { parts.bodyProvider = newValue }
    }

    /// The provider of the credentials.
    public var authenticationProvider: AuthenticationProvider {
        get { parts.authenticationProvider }
        set { parts.authenticationProvider = newValue }
    }

    /// The validator that accepts or rejects the response.
    public var validator: ResponseValidator {
        get { parts.settings.validator }
        set { parts.settings.validator = newValue }
    }

    /// The rules for following redirects.
    public var redirectPolicy: RedirectPolicy {
        get { parts.settings.redirectPolicy }
        set { parts.settings.redirectPolicy = newValue }
    }

    /// Values for middleware and executors.
    public var attributes: RequestAttributes {
        get { parts.settings.attributes }
        set { parts.settings.attributes = newValue }
    }

    /// A function that receives the progress of the exchange.
    public var progressHandler: (@Sendable (TransferProgress) -> Void)? {
        get { parts.settings.progressHandler }
        set { parts.settings.progressHandler = newValue }
    }
}

extension Request: CustomReflectable {
    /// A mirror for `dump` with the description and the header, whose secrets are redacted.
    public var customMirror: Mirror { Mirror(self, children: ["request": description, "header": header]) }
}
