/// The parts of a request other than its API and its decoder.
///
/// All requests have this type, so the code that builds and prepares them is not generic.
struct RequestParts: Sendable {
    var endpoint: RequestPath
    var method: HTTPMethod
    var header: Header
    var queryItems: QueryItems
    var bodyProvider: BodyProvider
    var authenticationProvider: AuthenticationProvider
    var parameterSets: [ParameterSet] = []
    /// The number of query items that precede the parameters in the query, because they were added first; nil means
    /// all.
    private(set) var itemsBeforeParameters: Int?
    var cachePolicy: PreparedRequest.CachePolicy
    var settings = RequestSettings()
    /// The endpoint from which a client made the request.
    var typedEndpoint: (any Sendable)? {
        didSet { hasTypedEndpoint = true }
    }
    /// Whether ``typedEndpoint`` was set; stored, because comparing it with nil would copy it: 140 instructions.
    private(set) var hasTypedEndpoint = false

    init(
        endpoint: RequestPath, method: HTTPMethod, header: Header, queryItems: QueryItems,
        cachePolicy: PreparedRequest.CachePolicy, timeouts: Timeouts, bodyProvider: BodyProvider,
        authenticationProvider: AuthenticationProvider
    ) {
        self.endpoint = endpoint
        self.method = method
        self.header = header
        self.queryItems = queryItems
        self.bodyProvider = bodyProvider
        self.authenticationProvider = authenticationProvider
        self.cachePolicy = cachePolicy
        // Setting a value allocates storage for the settings, which most requests do without (decision 0015).
        if timeouts != .standard { settings.timeouts = timeouts }
    }

    /// Creates the parts of a request to `endpoint` with default values for everything else.
    init(endpoint: RequestPath, method: HTTPMethod) {
        self.endpoint = endpoint
        self.method = method
        header = .empty
        queryItems = .empty
        bodyProvider = .none
        authenticationProvider = .none
        cachePolicy = .useProtocolCachePolicy
    }

    /// Creates the parts from the properties of a request of any type.
    init(_ request: some RequestConvertible) {
        // The properties of a `Request` do not show the order in which its query was built; its parts do.
        if let request = request as? any HasRequestParts {
            self = request.parts
            return
        }
        endpoint = request.endpoint.requestPath
        method = request.method
        header = request.header
        queryItems = request.queryItems.requestQuery
        bodyProvider = request.bodyProvider
        authenticationProvider = request.authenticationProvider
        parameterSets = request.parameterSets
        cachePolicy = request.cachePolicy
        settings.values = RequestSettings.Values(
            timeouts: request.timeouts, validator: request.validator, redirectPolicy: request.redirectPolicy,
            attributes: request.attributes, progressHandler: request.progressHandler)
    }
}

/// A request that stores its parts, and so the order in which its query was built.
private protocol HasRequestParts {
    var parts: RequestParts { get }
}

extension Request: HasRequestParts {}

extension RequestParts {
    /// Adds a set of parameters.
    ///
    /// The existing query items precede all parameters in the query; items that are added later follow them.
    mutating func add(_ set: ParameterSet) {
        if parameterSets.isEmpty { itemsBeforeParameters = queryItems.count }
        parameterSets.append(set)
    }

    /// Replaces the query items with `items`, which follow the parameters in the query.
    mutating func replaceQuery(with items: QueryItems) {
        queryItems = items
        if !parameterSets.isEmpty { itemsBeforeParameters = 0 }
    }

    /// Replaces the query items with `set`, which precedes the other parameters in the query.
    mutating func replaceQuery(with set: ParameterSet) {
        queryItems = .empty
        parameterSets.insert(set, at: 0)
        itemsBeforeParameters = 0
    }
}
