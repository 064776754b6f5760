/// One request that passes through a cache.
struct CacheExchange: Sendable {
    typealias ForwardReason = RawResponse.Metrics.CacheStatus.ForwardReason

    /// A stored response and its key.
    struct Found: Sendable {
        let response: StoredResponse
        let key: Caching.Key
    }

    enum Lookup: Sendable {
        case found(Found)
        case missing(ForwardReason)
    }

    let request: PreparedRequest
    let next: any RequestExecutor
    let settings: Caching.Settings
    /// The key of all responses for the URI.
    let key: Caching.Key
    let conditions: CacheConditions
    /// The kinds of fields that the request has.
    let fields: CacheFields

    init(
        _ request: PreparedRequest, _ next: any RequestExecutor, _ settings: Caching.Settings, in prefix: String
    ) {
        self.request = request
        self.next = next
        self.settings = settings
        key = Caching.Key(request.target, in: prefix)
        fields = CacheFields(request)
        let hasDirectives = fields.contains(.directives)
        conditions = CacheConditions(policy: request.cachePolicy, header: hasDirectives ? request.header : nil)
    }

    /// Whether a GET or HEAD request can be handled by a cache.
    var isCacheable: Bool {
        guard request.body.isNone else { return false }
        if case .file = request.delivery { return false }
        return !fields.contains(.unsupported)
    }

    /// Whether the caller has its own condition for a 304 response.
    var hasPrecondition: Bool { fields.contains(.precondition) }

    var hasRange: Bool { fields.contains(.range) }

    /// Returns a stored response, or forwards the request.
    func respond() async throws(RequestError) -> RawResponse {
        try request.validate()
        do throws(RequestError) {
            try request.checkTimeBeforeSending()
        } catch {
            throw error.adding(request: request)
        }
        if conditions.ignoresStored { return try await forward(.request, nil) }
        let endings = settings.flights.endings
        // Without a suspension for most requests to a store in memory.
        let result = if let available = lookupInMemory() { available } else { await lookup() }
        switch result {
        case .missing(let reason): return try await fetch(reason, nil, since: endings)
        case .found(let found):
            let now = settings.time
            switch found.response.freshness.use(for: conditions, at: now) {
            case .respond:
                guard let response = stored(found.response, at: now) else {
                    return try await forward(.request, nil)
                }
                return try deliver(response)
            case .respondAndValidate:
                guard let response = stored(found.response, at: now) else {
                    return try await forward(.stale, nil)
                }
                validateInBackground(found)
                return try deliver(response)
            case .validate(let reason): return try await fetch(reason, found, since: endings)
            }
        }
    }

    /// Returns the stored response that the request selects.
    func lookup() async -> Lookup {
        guard let entry = await entry(for: key) else { return .missing(.uriMiss) }
        switch entry.content {
        case .response(let response): return only(response)
        case .variants(let list):
            for names in list.names {
                let variant = key.variant(list.generation, names, of: request)
                if case .response(let response)? = await self.entry(for: variant)?.content {
                    return .found(Found(response: response, key: variant))
                }
            }
            return .missing(.varyMiss)
        }
    }

    /// Returns the result of ``lookup()`` if the store is in memory and has at most one response for the URI.
    private func lookupInMemory() -> Lookup? {
        guard let memory = settings.memory else { return nil }
        guard let entry = memory.availableEntry(for: key) else { return .missing(.uriMiss) }
        guard case .response(let response) = entry.content else { return nil }
        return only(response)
    }

    /// Returns the lookup of the only response for the URI.
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
    /// Whether identical requests at the same time can use one response.
    private var canShare: Bool {
        // A streamed response arrives only as fast as its caller reads it, so no other request can wait for it.
        if case .streamed = request.delivery { return false }
        guard request.method == .get, !hasRange, !hasPrecondition, !conditions.noCache else { return false }
        return conditions.policy == .useProtocolCachePolicy || conditions.policy == .returnCacheDataElseLoad
    }

    /// Forwards the request, or waits for an identical one and uses its response if that is permitted.
    ///
    /// If `endings`, the number of requests that had ended before the lookup, has changed, another lookup may find a
    /// response.
    private func fetch(
        _ reason: ForwardReason, _ found: Found?, since endings: Int
    ) async throws(RequestError) -> RawResponse {
        guard canShare, !conditions.forbidsForwarding else { return try await forward(reason, found) }
        let flight = CacheFlights.Key(key, of: request)
        while true {
            // Without a suspension for most requests.
            let start: CacheFlights.Start
            if let number = settings.flights.lead(flight) {
                start = .leading(number)
            } else {
                start = try await settings.flights.join(flight, until: request.limit).value(for: request)
            }
            switch start {
            case .leading(let number):
                // Another request may have ended since the lookup.
                if settings.flights.endings != endings, let response = await shared(reason, isCollapsed: false) {
                    settings.flights.end(flight, number, .ended)
                    return try deliver(response)
                }
                do throws(RequestError) {
                    let response = try await forward(reason, found)
                    settings.flights.end(flight, number, .ended)
                    return response
                } catch {
                    settings.flights.end(flight, number, error.concernsIdenticalRequests ? .failed(error) : .abandoned)
                    throw error
                }
            case .joined(.ended):
                guard let response = await shared(reason, isCollapsed: true) else {
                    return try await forward(reason, found)
                }
                return try deliver(response)
            case .joined(.failed(let error)): throw error
            case .joined(.abandoned): continue
            }
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
    func forward(_ reason: ForwardReason, _ found: Found?) async throws(RequestError) -> RawResponse {
        guard !conditions.forbidsForwarding else { return try deliver(gatewayTimeout(reason)) }
        var sent = request
        let validators = hasRange || hasPrecondition ? [] : found?.response.validators ?? []
        if !validators.isEmpty { sent.header.add(validators) }
        // Vary may name fields that middleware behind the cache adds or changes.
        sent.collectSeenValues(separately: true)
        let invalidations = settings.flights.invalidations
        let requestTime = settings.time
        var response: RawResponse
        do throws(RequestError) {
            response = try await next.execute(sent)
        } catch {
            guard error.isGatewayError, let stale = staleReplacement(found, reason, nil) else { throw error }
            return try deliver(stale)
        }
        var status = RawResponse.Metrics.CacheStatus(forwardReason: reason)
        status.forwardedStatus = response.status
        response.metrics.cacheStatus = status
        let storage = self.storage(of: response)
        // Nothing is stored or removed for most responses of an API.
        if storage == .never, found == nil, request.method == .get { return response }
        let forwarded = ForwardedExchange(
            requestTime: requestTime, responseTime: settings.time, invalidations: invalidations, sent: sent,
            addsCredentials: next.traits.contains(.addsCredentials))
        if response.status == 304, let found, !validators.isEmpty {
            if found.response.isConfirmed(by: response.header) {
                return try await confirmed(found, by: response, forwarded)
            }
            // The server has another representation (RFC 9111 §4.3.4), which must be requested.
            await settings.store.removeEntry(for: found.key)
            // Released before, because a streamed response keeps its connection and the permit of a limit.
            response.body = .bytes(Data())
            return try await forward(reason, nil)
        }
        if response.status.isGatewayError, let stale = staleReplacement(found, reason, response) {
            return try deliver(stale)
        }
        return await received(response, storage, replacing: found, forwarded)
    }

    /// The data that a cache records for a request that it forwards.
    struct ForwardedExchange: Sendable {
        /// The times of the request and of the response, in seconds since 1970.
        let requestTime: Double
        let responseTime: Double
        /// The number of invalidations before the request was sent.
        let invalidations: Int
        /// The request as the cache has forwarded it.
        let sent: PreparedRequest
        /// Whether middleware behind the cache adds credentials.
        let addsCredentials: Bool

        /// Whether Vary in `header` names a field that the cache does not see: middleware behind it has added or
        /// changed the field, or could add it to a later request.
        ///
        /// Then the cache cannot know which later requests select the response, so the server has to say it.
        /// Accept-Encoding is excepted, because the decoder adds the same one to each request.
        func variesByHiddenFields(_ header: Header) -> Bool {
            guard let names = VariantList.names(in: header)?.map({ Field.Name($0) }), !names.isEmpty else {
                return false
            }
            let lateNames = sent.lateFieldNames
            return names.contains { name in
                if name == .acceptEncoding { return false }
                return lateNames.contains(name) || addsCredentials && name.isCredential && !sent.header.contains(name)
            }
        }
    }

    /// Returns the stale response in place of an error; nil if that is not permitted.
    private func staleReplacement(_ found: Found?, _ reason: ForwardReason, _ failed: RawResponse?) -> RawResponse? {
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

    /// Forwards a request that the cache does not handle.
    func bypass() async throws(RequestError) -> RawResponse {
        guard !conditions.forbidsForwarding else { return try deliver(gatewayTimeout(.bypass)) }
        var response = try await next.execute(request)
        var status = RawResponse.Metrics.CacheStatus(forwardReason: .bypass)
        status.forwardedStatus = response.status
        response.metrics.cacheStatus = status
        return response
    }

    private func validateInBackground(_ found: Found) {
        var request = request
        request.delivery = .collected(limit: settings.rules.maximumBodySize)
        request.method = .get
        request.progressHandler = nil
        // The validation continues after the call, so it needs its own deadline.
        request.deadline = .now + .seconds(300)
        for name in [Field.Name.range, .ifNoneMatch, .ifModifiedSince] { request.header.remove(name) }
        let exchange = CacheExchange(self, request)
        settings.flights.startRevalidation(CacheFlights.Key(key, of: request)) {
            _ = try? await exchange.forward(.stale, found)
        }
    }

    init(_ other: CacheExchange, _ request: PreparedRequest) {
        self.request = request
        next = other.next
        settings = other.settings
        key = other.key
        conditions = other.conditions
        fields = other.fields.subtracting([.range, .precondition])
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

    /// Whether the error is one for which a gateway would respond with 502 or 504 (RFC 5861 §4).
    fileprivate var isGatewayError: Bool {
        switch reason {
        case .hostNotFound, .connectionFailed, .connectionLost, .proxyRefused, .protocolViolation, .timedOut: true
        default: false
        }
    }
}

extension HTTPStatus {
    /// Whether the status is one of the errors of RFC 5861 §4.
    fileprivate var isGatewayError: Bool { [500, 502, 503, 504].contains(code) }
}
