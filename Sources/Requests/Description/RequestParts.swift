/// What a request is besides its API and its decoder.
///
/// The bodies of ``Request`` are compiled in the modules that use it, so that nothing is looked up at run time of types
/// that are known there; what they call is here, and generic in nothing.
@usableFromInline
struct RequestParts: Sendable {
    @usableFromInline var endpoint: RequestPath
    @usableFromInline var method: HTTPMethod
    @usableFromInline var header: Header
    @usableFromInline var queryItems: QueryItems
    @usableFromInline var bodyProvider: BodyProvider
    @usableFromInline var authenticationProvider: AuthenticationProvider
    var parameterSets: [ParameterSet] = []
    /// How many of the items were there before the first parameters, and stand before those in the query; nil for all.
    private(set) var itemsBeforeParameters: Int?
    @usableFromInline var cachePolicy: RequestCachePolicy
    var handling = Handling()

    @usableFromInline
    init(
        endpoint: RequestPath, method: HTTPMethod, header: Header, queryItems: QueryItems,
        cachePolicy: RequestCachePolicy, timeout: Timeouts, bodyProvider: BodyProvider,
        authenticationProvider: AuthenticationProvider
    ) {
        self.endpoint = endpoint
        self.method = method
        self.header = header
        self.queryItems = queryItems
        self.bodyProvider = bodyProvider
        self.authenticationProvider = authenticationProvider
        self.cachePolicy = cachePolicy
        if timeout != .standard { handling.timeouts = timeout }
    }

    /// A request to `endpoint` that has nothing but what every request has.
    @usableFromInline
    init(endpoint: RequestPath, method: HTTPMethod) {
        self.endpoint = endpoint
        self.method = method
        header = .empty
        queryItems = .empty
        bodyProvider = .none
        authenticationProvider = .none
        cachePolicy = .useProtocolCachePolicy
    }

    /// What any kind of request says of itself.
    init(_ request: some RequestConvertible) {
        if let request = request as? any MadeOfParts {
            self = request.parts
            return
        }
        endpoint = request.endpoint
        method = request.method
        header = request.header
        queryItems = request.queryItems
        bodyProvider = request.bodyProvider
        authenticationProvider = request.authenticationProvider
        parameterSets = request.parameterSets
        cachePolicy = request.cachePolicy
        handling.values = Handling.Values(
            timeouts: request.timeout, validator: request.validator, redirects: request.redirects,
            attributes: request.attributes, onProgress: request.onProgress)
    }
}

/// A request that has its parts at hand, and in them the order in which its query was put together.
private protocol MadeOfParts {
    var parts: RequestParts { get }
}

extension Request: MadeOfParts {}

extension RequestParts {
    /// Adds `set`; the items that are here stand before all parameters of the query, those that come later behind them.
    mutating func add(_ set: ParameterSet) {
        if parameterSets.isEmpty { itemsBeforeParameters = queryItems.count }
        parameterSets.append(set)
    }

    /// Puts `items` in the place of those that are here, behind parameters that go to the query.
    @usableFromInline
    mutating func replaceQuery(with items: QueryItems) {
        queryItems = items
        if !parameterSets.isEmpty { itemsBeforeParameters = 0 }
    }

    /// Puts `set` in the place of the items; parameters that go to the query stay, and come after.
    mutating func replaceQuery(with set: ParameterSet) {
        queryItems = .empty
        parameterSets.insert(set, at: 0)
        itemsBeforeParameters = 0
    }

    @usableFromInline var timeout: Timeouts {
        get { handling.timeouts }
        set { handling.timeouts = newValue }
    }

    @usableFromInline var validator: Validator {
        get { handling.validator }
        set { handling.validator = newValue }
    }

    @usableFromInline var redirects: RedirectPolicy {
        get { handling.redirects }
        set { handling.redirects = newValue }
    }

    @usableFromInline var attributes: RequestAttributes {
        get { handling.attributes }
        set { handling.attributes = newValue }
    }

    @usableFromInline var onProgress: (@Sendable (TransferProgress) -> Void)? {
        get { handling.onProgress }
        set { handling.onProgress = newValue }
    }
}
