package import Requests

/// The age and the freshness of a stored response (RFC 9111 §4.2), and its permitted uses while stale (RFC 5861).
///
/// Times are in seconds since 1970.
package struct Freshness: Hashable, Sendable {
    /// The number of seconds for which the response is fresh, at least 0.
    package let lifetime: Double

    package let initialAge: Double

    package let responseTime: Double

    package let mustValidate: Bool
    /// Whether Vary names fields that the cache cannot see, so the response is validated whatever the cache policy is.
    private let needsValidation: Bool

    package let forbidsStale: Bool

    /// Whether the response does not change while it is fresh (RFC 8246).
    package let isImmutable: Bool

    /// The time in seconds for which the stale response may be used while it is validated.
    package let staleWhileRevalidate: Double

    /// The time in seconds for which the stale response may be used in place of a server error.
    package let staleIfError: Double

    /// Creates the freshness of a response.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - header: Its header.
    ///   - requestTime: The time at which the request was sent.
    ///   - responseTime: The time at which the response arrived.
    ///   - heuristicLimit: The longest lifetime in seconds that is estimated from Last-Modified.
    ///   - needsValidation: Whether the response must be validated before each use, whatever its fields say.
    package init(
        status: HTTPStatus, header: Header, requestTime: Double, responseTime: Double,
        heuristicLimit: Double = 86_400, needsValidation: Bool = false
    ) {
        let control = header.cacheControl
        let now = Date(timeIntervalSince1970: responseTime)
        // A response without Date is treated as one that was generated when it arrived (RFC 9110 §6.6.1).
        let date = header.date(of: .date, now: now).map { Double($0.secondsSince1970) } ?? responseTime
        lifetime = max(
            0, Self.lifetime(status, header, control, date: date, now: now, heuristicLimit: max(0, heuristicLimit)))
        let delay = max(0, responseTime - requestTime)
        initialAge = max(max(0, responseTime - date), Double(header.receivedAge) + delay)
        self.responseTime = responseTime
        // Pragma counts only without Cache-Control, as before HTTP/1.1.
        mustValidate = needsValidation || control?.noCache ?? false
        self.needsValidation = needsValidation
        forbidsStale = control?.mustRevalidate ?? false
        isImmutable = control?.isImmutable ?? false
        staleWhileRevalidate = Double(control?.staleWhileRevalidate ?? 0)
        staleIfError = Double(control?.staleIfError ?? 0)
    }

    private static func lifetime(
        _ status: HTTPStatus, _ header: Header, _ control: CacheControl?, date: Double, now: Date,
        heuristicLimit: Double
    ) -> Double {
        if let seconds = control?.maxAge { return Double(seconds) }
        if header.contains(.expires) {
            // An invalid date, such as 0, is in the past (RFC 9111 §5.3).
            return header.date(of: .expires, now: now).map { Double($0.secondsSince1970) - date } ?? 0
        }
        guard status.isHeuristicallyCacheable || control?.isPublic ?? false,
            let modified = header.date(of: .lastModified, now: now)
        else { return 0 }
        return min(heuristicLimit, (date - Double(modified.secondsSince1970)) / 10)
    }

    /// Returns the age of the response in seconds.
    package func age(at now: Double) -> Double {
        let elapsed = now - responseTime
        // After the clock was set back, the age is unknown, so the response counts as stale.
        return elapsed < -60 ? .infinity : initialAge + max(0, elapsed)
    }

    /// Returns the remaining lifetime in seconds, negative for a stale response.
    package func remaining(at now: Double) -> Double { lifetime - age(at: now) }
}

extension Freshness {
    /// A cache's use of a stored response.
    package enum Use: Hashable, Sendable {
        case respond
        case respondAndValidate
        /// The cache validates the response first, for this reason (RFC 9211).
        case validate(RawResponse.Metrics.CacheStatus.ForwardReason)
    }

    package func use(for conditions: CacheConditions, at now: Double) -> Use {
        switch conditions.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad:
            return needsValidation ? .validate(.varyMiss) : .respond
        case .reloadIgnoringLocalCacheData: return .validate(.request)
        case .reloadRevalidatingCacheData:
            guard isImmutable, !mustValidate, remaining(at: now) > 0 else { return .validate(.request) }
        case .useProtocolCachePolicy: break
        }
        if mustValidate { return .validate(.stale) }
        if conditions.noCache { return .validate(.request) }
        let remaining = remaining(at: now)
        if let maxAge = conditions.maxAge, age(at: now) > Double(maxAge) { return .validate(.request) }
        if let minFresh = conditions.minFresh, remaining < Double(minFresh) {
            return .validate(remaining > 0 ? .request : .stale)
        }
        if remaining > 0 { return .respond }
        guard !forbidsStale else { return .validate(.stale) }
        if let maxStale = conditions.maxStale, -remaining <= Double(maxStale) { return .respond }
        guard conditions.maxAge == nil, conditions.minFresh == nil, -remaining <= staleWhileRevalidate,
            staleWhileRevalidate > 0
        else { return .validate(.stale) }
        return .respondAndValidate
    }

    /// Returns whether the response may replace a server error or a failure to connect (RFC 5861 §4).
    ///
    /// - Parameters:
    ///   - conditions: The conditions of the request.
    ///   - standard: The number of seconds for responses without `stale-if-error`.
    ///   - now: The current time.
    /// - Returns: Whether it may.
    package func replacesError(for conditions: CacheConditions, standard: Double, at now: Double) -> Bool {
        let isForced = conditions.noCache || conditions.policy == .reloadRevalidatingCacheData
        guard !mustValidate, !forbidsStale, !isForced else { return false }
        let limit = max(staleIfError, standard, Double(conditions.staleIfError ?? 0))
        return limit > 0 && -remaining(at: now) <= limit
    }
}

/// The conditions under which a request accepts stored responses (RFC 9111 §5.2.1).
///
/// A time that is not a number of seconds, as in `max-age=abc`, is ignored. A response with such a time is stale (RFC
/// 9111 §4.2.1), but that rule protects clients from the mistakes of servers and does not apply to requests.
package struct CacheConditions: Hashable, Sendable {
    package var policy = PreparedRequest.CachePolicy.useProtocolCachePolicy
    package var noCache = false
    package var noStore = false
    package var onlyIfCached = false
    package var maxAge: Int?
    package var minFresh: Int?
    package var maxStale: Int?
    package var staleIfError: Int?

    /// Creates the conditions of a request; nil for a header without directives.
    package init(policy: PreparedRequest.CachePolicy = .useProtocolCachePolicy, header: Header?) {
        self.policy = policy
        guard let header else { return }
        guard let control = header.cacheControl else {
            // Pragma counts only without Cache-Control (RFC 9111 §5.4).
            if let pragma = header["Pragma"] { noCache = CacheControl(fieldValue: pragma).has("no-cache") }
            return
        }
        noCache = control.has("no-cache")
        noStore = control.noStore
        onlyIfCached = control.onlyIfCached
        maxAge = control.number(of: "max-age")
        minFresh = control.number(of: "min-fresh")
        maxStale = control.maxStale == .max ? .max : control.number(of: "max-stale")
        staleIfError = control.number(of: "stale-if-error")
    }

    package var forbidsForwarding: Bool { onlyIfCached || policy == .returnCacheDataDontLoad }

    package var ignoresStored: Bool { noStore || policy == .reloadIgnoringLocalCacheData }
}

extension HTTPStatus {
    /// Whether responses with the status may be stored without explicit freshness (RFC 9110 §15.1), except for 206.
    var isHeuristicallyCacheable: Bool {
        switch code {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501: true
        default: false
        }
    }

    /// Whether this cache implements what the status requires; `must-understand` depends on that.
    var isUnderstoodByCaches: Bool {
        switch code {
        case 302, 303, 307: true
        default: isHeuristicallyCacheable
        }
    }
}
