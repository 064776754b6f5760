/// Middleware that stores responses and uses them for later requests, as a private cache (RFC 9111).
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().caching())
/// ```
///
/// A stored response is used while it is fresh. A stale one is validated with If-None-Match and If-Modified-Since, and
/// used again if the server confirms it. The cache respects Vary, the directives of RFC 9111 for private caches,
/// `stale-while-revalidate` and `stale-if-error` (RFC 5861), `immutable` (RFC 8246), and the
/// ``/Requests/PreparedRequest/cachePolicy`` of requests. A request with an unsafe method, such as POST, invalidates
/// the responses for its URI. Of several identical requests at the same time, one is sent.
///
/// The middleware handles GET and HEAD requests without a body whose response is collected or streamed; others are
/// forwarded. A streamed body is stored only if it has been read to its end. Responses with status 206 are not stored;
/// a single byte range is served from a complete fresh response. Requests with their own cookie store are forwarded,
/// because their responses may be meant for another user, and requests without cookies share no responses with others.
///
/// Add it after the middleware that retries, adds credentials or manages cookies, so that it receives a request first.
/// The metrics of a response have its ``/Requests/RawResponse/Metrics-swift.struct/cacheStatus``.
public struct Caching: Middleware {
    /// One reference, so that an executor with this middleware is small enough to be passed without an allocation.
    let settings: Settings

    final class Settings: Sendable {
        let store: any CacheStore
        /// The store, if it is in memory, so that lookups need not suspend.
        let memory: MemoryStore?
        let partition: Partition
        let rules: Rules
        let now: @Sendable () -> Date
        /// The requests in progress, for which identical ones wait.
        let flights = SingleFlight<CacheExchange.Identity, Result<Void, RequestError>>()
        /// The validations in the background; there are at most 16.
        let validations = Shares(total: 16, perOrigin: 16)
        let invalidations: CacheInvalidations
        /// The bytes of the bodies that are being recorded.
        let recordings = Shares(total: 64 << 20, perOrigin: 64 << 20)

        init(
            _ store: any CacheStore, _ partition: Partition, _ rules: Rules, _ now: @escaping @Sendable () -> Date
        ) {
            self.store = store
            // Casts, because a custom store has only the asynchronous functions of `CacheStore`.
            memory = store as? MemoryStore
            invalidations = (store as? any InvalidatedStore)?.invalidations ?? CacheInvalidations()
            self.partition = partition
            self.rules = rules
            self.now = now
        }

        /// The current time in seconds since 1970.
        var time: Double { now().timeIntervalSince1970 }
    }

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - store: The place for responses; by default 64 MiB of memory.
    ///   - partition: The user to whom the responses belong. By default, no other cache can use them.
    ///   - rules: The rules that the protocol leaves open.
    ///   - now: A function that returns the current date.
    public init(
        in store: any CacheStore = MemoryStore(), partition: Partition = .own, rules: Rules = Rules(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        settings = Settings(store, partition, rules, now)
    }

    /// The part of a store that a cache uses: responses of one part are never used for requests of another.
    ///
    /// Requests with different credentials in their own fields never share a response. But a cache does not see
    /// credentials that middleware or an executor adds after it. So all requests of a partition must belong to one
    /// user, except for requests whose fields identify the user.
    public struct Partition: Sendable {
        /// A function that returns the prefix of the keys for a request; nil if no response may be stored or used.
        let prefix: @Sendable (PreparedRequest) -> String?

        /// A new partition that no other cache uses, with a random name.
        ///
        /// Responses in files cannot be found after a restart, because the name is then different.
        public static var own: Partition {
            // Two numbers of 64 bits do not repeat by chance.
            let name = "\(UInt64.random(in: .min ... .max))-\(UInt64.random(in: .min ... .max))"
            return .named(name)
        }

        /// Returns the partition with a name, which several caches can share, also after a restart.
        public static func named(_ name: String) -> Partition {
            let prefix = prefix(of: name)
            return Partition { _ in prefix }
        }

        /// Returns partitions whose names depend on the request, such as the identifier of the signed-in user.
        ///
        /// - Parameter name: A function that returns the name for a request, or nil if no response must be stored or
        ///   used.
        /// - Returns: The partitions.
        public static func perRequest(_ name: @escaping @Sendable (PreparedRequest) -> String?) -> Partition {
            Partition { request in name(request).map(prefix) }
        }

        private static func prefix(of name: String) -> String {
            // The length makes the end of the name unambiguous.
            "\(name.utf8.count):\(name) "
        }
    }

    /// Returns a stored response, or performs `request` with `next` and stores the response.
    ///
    /// - Throws: The ``/Requests/RequestError`` of `next`; `cancelled`, or `timedOut` if the deadline of the call has
    ///   passed, also for stored responses; `tooLarge` if a stored body is longer than the limit of the request.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let partition = settings.partition.prefix(request)
        let exchange = CacheExchange(request, settings, in: partition ?? "", from: next.caller(of: request))
        guard request.method == .get || request.method == .head else { return try await exchange.forwardUnsafe(next) }
        // Another store can have another user's cookies, and the cache does not see them.
        guard partition != nil, !request.hasOwnCookies, exchange.isCacheable else {
            return try await exchange.bypass(next)
        }
        return try await exchange.respond(next)
    }

    package var activeRevalidations: Int { settings.validations.used }

    /// Removes all responses from the store, including what other caches have stored there.
    ///
    /// Responses to requests that have already been sent are not stored either, whether by this cache or by another one
    /// with the same ``MemoryStore`` or ``DiskStore``.
    public func removeAll() async {
        settings.invalidations.invalidateAll()
        await settings.store.removeAll()
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that caches responses.
    ///
    /// Add it after `retrying(_:budget:clock:)` and `authenticating(with:within:)`.
    ///
    /// - Parameters:
    ///   - store: The place for responses; by default 64 MiB of memory.
    ///   - partition: The user to whom the responses belong. By default, no other cache can use them.
    ///   - rules: The rules that the protocol leaves open.
    /// - Returns: The executor with the middleware.
    public func caching(
        in store: any CacheStore = Caching.MemoryStore(), partition: Caching.Partition = .own,
        rules: Caching.Rules = Caching.Rules()
    ) -> Intercepted {
        intercepted(by: Caching(in: store, partition: partition, rules: rules))
    }
}
