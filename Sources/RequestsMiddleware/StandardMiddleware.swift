/// The middleware of this product in the recommended order.
///
/// Retries, resumed downloads and content codings are on; everything else is added when its property is set:
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor())
///     .withStandardMiddleware {
///         $0.authenticator = authenticator
///         $0.cache = Caching()
///         $0.cookies = CookieStore()
///         $0.circuitBreaker = CircuitBreaker()
///         $0.callObservers = [RequestLogging { log.info("\($0)") }]
///     }
/// ```
public struct StandardMiddleware: Sendable {
    /// The observers of each request of a call.
    public var callObservers: [any Observing.Observer] = []

    /// The cache; nil for none.
    public var cache: Caching?

    /// The credentials; nil for none.
    public var authenticator: (any Authenticator)?

    /// The retry policy of requests without their own policy; nil to repeat nothing.
    public var retryPolicy: RetryPolicy? = .standard

    /// The time after which a second request is sent unless a response has arrived; nil for never.
    public var hedgingDelay: Duration?

    /// The limit on the retries and the second requests of all calls together.
    public var retryBudget = RetryBudget()

    /// The circuit breaker; nil for none.
    public var circuitBreaker: CircuitBreaker?

    /// The limit on the rate of requests; nil for none.
    public var rateLimit: RateLimit?

    /// The limit on the number of requests at the same time; nil for none.
    public var concurrencyLimit: ConcurrencyLimit?

    /// The store of cookies; nil for none.
    public var cookies: (any CookieProviding & CookieStoring)?

    /// The budget for the memory of collected bodies; nil for none.
    public var memoryBudget: MemoryBudget?

    /// Whether identical requests at the same time are sent once.
    public var coalescesRequests = false

    /// The observers of each request that is sent.
    public var attemptObservers: [any Observing.Observer] = []

    /// The signature; nil for none.
    public var signer: RequestSigner?

    /// The sources of time and randomness for retries.
    public var clock = Retrying.Clock.system

    /// Creates the middleware with its defaults.
    public init() {}

    /// Returns `executor` with the middleware.
    ///
    /// - Parameters:
    ///   - executor: The executor that receives the requests.
    ///   - environment: The environment whose base URL a request must be at or below to have credentials and a
    ///     signature.
    /// - Returns: The executor with the middleware.
    public func added(to executor: any RequestExecutor, within environment: RequestEnvironment) -> any RequestExecutor {
        // From the executor outwards: the middleware that is added last receives a request first.
        var executor = executor
        if let signer { executor = executor.signing(with: signer, within: environment) }
        if !attemptObservers.isEmpty {
            executor = executor.intercepted(by: Observing(.attempts, by: attemptObservers, clock: clock))
        }
        executor = executor.decodingContent()
        if let memoryBudget { executor = executor.collecting(within: memoryBudget) }
        if coalescesRequests { executor = executor.coalescing() }
        if let cookies { executor = executor.intercepted(by: CookieHandling(from: cookies, storingIn: cookies)) }
        executor = executor.resumingDownloads()
        if let concurrencyLimit { executor = executor.intercepted(by: concurrencyLimit) }
        if let rateLimit { executor = executor.intercepted(by: rateLimit) }
        if let circuitBreaker { executor = executor.intercepted(by: circuitBreaker) }
        if let hedgingDelay { executor = executor.hedging(after: hedgingDelay, budget: retryBudget, clock: clock) }
        if let retryPolicy { executor = executor.retrying(retryPolicy, budget: retryBudget, clock: clock) }
        if let authenticator { executor = executor.authenticating(with: authenticator, within: environment) }
        if let cache { executor = executor.intercepted(by: cache) }
        if !callObservers.isEmpty {
            executor = executor.intercepted(by: Observing(.calls, by: callObservers, clock: clock))
        }
        return executor
    }
}

extension RequestExecutor {
    /// Returns this executor with the middleware of this product in the recommended order.
    ///
    /// - Parameters:
    ///   - environment: The environment whose base URL a request must be at or below to have credentials and a
    ///     signature.
    ///   - configure: A function that chooses the middleware.
    /// - Returns: The executor with the middleware.
    public func withStandardMiddleware(
        within environment: RequestEnvironment, _ configure: (inout StandardMiddleware) -> Void = { _ in }
    ) -> any RequestExecutor {
        var middleware = StandardMiddleware()
        configure(&middleware)
        return middleware.added(to: self, within: environment)
    }
}

extension Client {
    /// Returns this client with the middleware of this product in the recommended order.
    ///
    /// ```swift
    /// let client = Client(api, executor: SocketExecutor())
    ///     .withStandardMiddleware { $0.authenticator = authenticator }
    /// ```
    ///
    /// Credentials and signatures apply to requests at or below the base URL of the API. Without a valid base URL no
    /// request can be sent, and the client is returned unchanged.
    ///
    /// - Parameter configure: A function that chooses the middleware.
    /// - Returns: The client with the middleware.
    public func withStandardMiddleware(
        _ configure: (inout StandardMiddleware) -> Void = { _ in }
    ) -> Client<API> {
        guard let environment = RequestEnvironment(baseURL: api.baseURL) else { return self }
        return Client(api, executor: executor.withStandardMiddleware(within: environment, configure))
    }
}
