/// One request that passes through a cache.
final class CacheExchange: Sendable {
    typealias ForwardReason = RawResponse.Metrics.CacheStatus.ForwardReason

    struct Found: Sendable {
        let response: StoredResponse
        let key: Caching.Key
    }

    enum Lookup: Sendable {
        case found(Found)
        case missing(ForwardReason)
    }

    let request: PreparedRequest
    let settings: Caching.Settings
    /// The key of all responses for the URI.
    let key: Caching.Key
    let conditions: CacheConditions
    let fields: CacheFields
    /// A text that identifies the users whose credentials are added behind the cache; empty for the first credentials.
    let caller: String

    init(_ request: PreparedRequest, _ settings: Caching.Settings, in prefix: String, from caller: String) {
        self.request = request
        self.settings = settings
        self.caller = caller
        key = Caching.Key(request, in: prefix)
        fields = caller.isEmpty ? CacheFields(request) : CacheFields(request).union(.credentials)
        let hasDirectives = fields.contains(.directives)
        conditions = CacheConditions(policy: request.cachePolicy, header: hasDirectives ? request.header : nil)
    }

    private init(validating other: CacheExchange, with request: PreparedRequest) {
        self.request = request
        settings = other.settings
        caller = other.caller
        key = other.key
        conditions = other.conditions
        fields = other.fields.subtracting([.range, .precondition])
    }

    var isCacheable: Bool {
        guard !request.hasBody else { return false }
        if case .file = request.delivery { return false }
        return !fields.contains(.unsupported)
    }

    /// Whether the caller has its own condition for a 304 response.
    var hasPrecondition: Bool { fields.contains(.precondition) }

    var hasRange: Bool { fields.contains(.range) }

    private func checkRequest() throws(RequestError) {
        try request.validate()
        do throws(RequestError) {
            try request.checkTimeBeforeSending()
        } catch {
            throw error.adding(request: request)
        }
    }

    /// Returns a stored response, or forwards the request to `next`.
    func respond(_ next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        try checkRequest()
        if conditions.ignoresStored { return try await forward(.request, nil, next) }
        let endings = settings.flights.endings
        switch await lookup() {
        case .missing(let reason): return try await fetch(reason, nil, since: endings, next)
        case .found(let found):
            let now = settings.time
            switch found.response.freshness.use(for: conditions, at: now) {
            case .respond:
                guard let response = stored(found.response, at: now) else {
                    return try await forward(.request, nil, next)
                }
                return try deliver(response)
            case .respondAndValidate:
                guard let response = stored(found.response, at: now) else {
                    return try await forward(.stale, nil, next)
                }
                validateInBackground(found, next)
                return try deliver(response)
            case .validate(let reason): return try await fetch(reason, found, since: endings, next)
            }
        }
    }

    func lookup() async -> Lookup {
        guard let entry = await entry(for: key) else { return .missing(.uriMiss) }
        switch entry.content {
        case .response(let response): return only(response)
        case .variants(let list):
            for names in list.names {
                let variant = key.variant(list.generation, names, of: self)
                if case .response(let response)? = await self.entry(for: variant)?.content {
                    return .found(Found(response: response, key: variant))
                }
            }
            return .missing(.varyMiss)
        }
    }

    private func only(_ response: StoredResponse) -> Lookup {
        // A response without variants belongs to requests without credentials.
        fields.contains(.credentials) ? .missing(.varyMiss) : .found(Found(response: response, key: key))
    }

    private func entry(for key: Caching.Key) async -> Caching.Entry? {
        if let memory = settings.memory { return memory.availableEntry(for: key) }
        return await settings.store.entry(for: key)
    }
}

// MARK: Forwarding

extension CacheExchange {
    /// Whether identical requests in progress at the same time can share one response.
    private var canShare: Bool {
        // A streamed response arrives only as fast as its caller reads it, so no other request can wait for it.
        if case .streamed = request.delivery { return false }
        guard request.hasMethod(.get), !hasRange, !hasPrecondition, !conditions.noCache else { return false }
        return conditions.policy == .useProtocolCachePolicy || conditions.policy == .returnCacheDataElseLoad
    }

    /// Forwards the request, or waits for an identical one and uses its response if that is permitted.
    ///
    /// `endings` is the number of requests that had ended before the lookup. If it has changed, another lookup may find
    /// a response.
    private func fetch(
        _ reason: ForwardReason, _ found: Found?, since endings: Int, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard canShare, !conditions.forbidsForwarding else { return try await forward(reason, found, next) }
        let flight = Identity(self)
        if let outcome = try await settings.flights.join(flight, for: request) {
            try outcome.get()
            guard let response = await shared(reason, isCollapsed: true) else {
                return try await forward(reason, found, next)
            }
            return try deliver(response)
        }
        // Another request may have ended since the lookup.
        if settings.flights.endings != endings, let response = await shared(reason, isCollapsed: false) {
            settings.flights.end(flight, with: .success(()))
            return try deliver(response)
        }
        do throws(RequestError) {
            let response = try await forward(reason, found, next)
            settings.flights.end(flight, with: .success(()))
            return response
        } catch {
            settings.flights.end(flight, with: error.concernsIdenticalRequests ? .failure(error) : nil)
            throw error
        }
    }

    /// Returns the stored response if the request may use it without validation.
    private func shared(_ reason: ForwardReason, isCollapsed: Bool) async -> RawResponse? {
        guard case .found(let found) = await lookup() else { return nil }
        let now = settings.time
        guard found.response.freshness.use(for: conditions, at: now) == .respond,
            var response = stored(found.response, at: now)
        else { return nil }
        if isCollapsed {
            response.metrics.cacheStatus?.forwardReason = reason
            response.metrics.cacheStatus?.isCollapsed = true
        }
        return response
    }

    /// Sends the request, with the validators of `found` if it has none of its own, and stores the response.
    func forward(
        _ reason: ForwardReason, _ found: Found?, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard !conditions.forbidsForwarding else { return try deliver(gatewayTimeout(reason)) }
        let validators = found.map(validators) ?? []
        var sent = request
        if !validators.isEmpty { sent.header.add(validators) }
        let validated = found.map { CacheForwarding.Validated($0, isConditional: !validators.isEmpty) }
        let forwarding = beginForwarding(reason, validated)
        var response: RawResponse
        do throws(RequestError) {
            response = try await next.execute(sent)
        } catch {
            guard error.isGatewayError, let stale = staleReplacement(found, reason, nil) else { throw error }
            return try deliver(stale)
        }
        if end(forwarding, &response) { return response }
        return try await complete(forwarding, consume response, to: sent, next)
    }

    /// Returns the validators of a stored response, to add to the request; none if the caller has set conditions or a
    /// range.
    private func validators(of found: Found) -> [Field] {
        hasRange || hasPrecondition ? [] : found.response.validators
    }

    /// Returns the stale response that replaces an error; nil if that is not permitted.
    func staleReplacement(_ found: Found?, _ reason: ForwardReason, _ failed: RawResponse?) -> RawResponse? {
        let now = settings.time
        guard let found, !hasRange,
            found.response.freshness.replacesError(
                for: conditions, standard: settings.rules.staleIfErrorSeconds, at: now),
            var response = stored(found.response, at: now)
        else { return nil }
        if let failed { response.metrics = failed.metrics }
        var status = RawResponse.Metrics.CacheStatus(forwardReason: reason)
        status.forwardedStatus = failed?.status
        status.timeToLive = Self.seconds(found.response.freshness.remaining(at: now))
        response.metrics.cacheStatus = status
        return response
    }

    /// Validates a response in the background, unless an identical request or too many validations are in progress.
    private func validateInBackground(_ found: Found, _ next: any RequestExecutor) {
        var request = request
        request.delivery = .collected(limit: settings.rules.maximumBodySize)
        request.method = .get
        request.progressHandler = nil
        // The validation continues after the call, so it needs its own deadline.
        request.deadline = .now + .seconds(300)
        for name in [Field.Name.range, .ifNoneMatch, .ifModifiedSince] { request.header.remove(name) }
        let exchange = CacheExchange(validating: self, with: request)
        let (flight, place) = (Identity(exchange), settings.validations.emptyShare(of: request.originKey))
        guard place.grow(by: 1) else { return }
        guard settings.flights.lead(flight) else { return place.release() }
        Task { [flights = settings.flights] in
            _ = try? await exchange.forward(.stale, found, next)
            flights.end(flight, with: .success(()))
            place.release()
        }
    }
}

extension RequestError {
    /// Whether identical requests at the same time would fail in the same way.
    fileprivate var concernsIdenticalRequests: Bool {
        switch reason {
        case .hostNotFound, .connectionFailed, .connectionLost, .proxyRefused, .tlsUnavailable, .certificateRefused,
            .tlsFailed, .protocolViolation:
            true
        default: false
        }
    }

    /// Whether a gateway would respond with 502 or 504 to this error (RFC 5861 §4).
    fileprivate var isGatewayError: Bool {
        switch reason {
        case .hostNotFound, .connectionFailed, .connectionLost, .proxyRefused, .protocolViolation, .timedOut: true
        default: false
        }
    }
}

extension HTTPStatus {
    /// Whether the status is one of the errors of RFC 5861 §4.
    var isGatewayError: Bool { [500, 502, 503, 504].contains(code) }
}
