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
    /// Returns the middleware that is set, in order: the first one receives a request first, and its response last.
    private func middleware(within environment: RequestEnvironment) -> [any Middleware] {
        let chain: [(any Middleware)?] = [
            observing(.calls, by: callObservers),
            cache,  // outside all that sends requests: a stored response needs none of it
            authenticator?.middleware(within: environment),  // outside retries, which must not receive its 401
            retryPolicy.map { Retrying($0, budget: retryBudget, clock: clock) },
            hedgingDelay.map { Hedging(after: $0, budget: retryBudget, clock: clock) },
            circuitBreaker,  // this and the limits are inside retries, so that each attempt counts
            rateLimit,
            concurrencyLimit,
            ResumingDownloads(),
            cookies.map { CookieHandling(from: $0, storingIn: $0) },  // an attempt has the cookies of the one before
            coalescesRequests ? Coalescing() : nil,  // inside credentials and cookies: users share no response
            memoryBudget,  // outside decoding: it counts decoded bodies
            ContentDecoding(),
            observing(.attempts, by: attemptObservers),
            signer.map { RequestSigning(with: $0, within: environment) },  // innermost: it signs what is sent
        ]
        return chain.compactMap(\.self)
    }

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
        middleware(within: environment).around(executor)
    }

    private func observing(_ seat: Observing.Seat, by observers: [any Observing.Observer]) -> Observing? {
        observers.isEmpty ? nil : Observing(seat, by: observers, clock: clock)
    }
}

extension Authenticator {
    fileprivate func middleware(within environment: RequestEnvironment) -> any Middleware {
        Authentication(with: self, within: environment)
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
    /// Credentials and signatures apply to requests at or below the base URL of the API. Without a valid base URL every
    /// call fails before anything is sent.
    ///
    /// - Parameter configure: A function that chooses the middleware.
    /// - Returns: The client with the middleware.
    public func withStandardMiddleware(
        _ configure: (inout StandardMiddleware) -> Void = { _ in }
    ) -> Client<API> {
        adding { $0.withStandardMiddleware(within: $1, configure) }
    }
}
