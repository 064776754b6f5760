@_spi(Lock) internal import Requests

/// The forwarding of a request by a cache, from its beginning until its response has been handled.
final class CacheForwarding: Sendable {
    let exchange: CacheExchange
    private let reason: CacheExchange.ForwardReason
    /// The stored response that is validated; nil for none.
    private let validated: Validated?
    /// The time of the request in seconds since 1970.
    private let requestTime: Double
    /// The number of invalidations before the request was sent.
    private let invalidations: Int

    /// A stored response, as one reference, which most requests do not have.
    private final class Validated: Sendable {
        let found: CacheExchange.Found
        /// Whether the request has the validators of the response.
        let isConditional: Bool

        init(_ found: CacheExchange.Found, isConditional: Bool) {
            self.found = found
            self.isConditional = isConditional
        }
    }

    /// The place among the requests in progress, if identical requests wait for this one.
    private let place: CacheFlights.Place?

    /// Begins to forward the request of `exchange`.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - reason: The reason.
    ///   - found: The stored response that is validated; nil for none.
    ///   - isConditional: Whether the request has the validators of that response.
    ///   - place: The place among the requests in progress, if identical requests wait for this one.
    init(
        _ exchange: CacheExchange, _ reason: CacheExchange.ForwardReason, validating found: CacheExchange.Found? = nil,
        isConditional: Bool = false, in place: CacheFlights.Place? = nil
    ) {
        self.exchange = exchange
        self.reason = reason
        self.place = place
        validated = found.map { Validated($0, isConditional: isConditional) }
        invalidations = exchange.settings.invalidations.count
        requestTime = exchange.settings.time
    }

    /// Records what the cache did, and returns whether nothing is stored or removed, as for most responses of an API.
    func end(_ response: inout RawResponse) -> Bool {
        response.metrics.cacheStatus = RawResponse.Metrics.CacheStatus(
            forwardReason: reason, forwardedStatus: response.head.status)
        return validated == nil && exchange.request.hasMethod(.get) && exchange.storage(of: response) == .never
    }

    /// Resumes the requests that wait for this one.
    func leave(_ outcome: @autoclosure () -> CacheFlights.Outcome) {
        if let place { exchange.settings.flights.end(place, outcome()) }
    }

    /// Stores the response, or returns the stored one that it confirms or fails to replace.
    func complete(
        _ response: consuming RawResponse, _ sent: PreparedRequest, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let (settings, found) = (exchange.settings, validated?.found)
        let forwarded = CacheExchange.ForwardedExchange(
            requestTime: requestTime, responseTime: settings.time, invalidations: invalidations, sent: sent,
            addsCredentials: next.traits.contains(.addsCredentials))
        if response.status == 304, let validated, validated.isConditional {
            let found = validated.found
            if found.response.isConfirmed(by: response.header) {
                return try await exchange.confirmed(found, by: response, forwarded)
            }
            // The server has another representation (RFC 9111 §4.3.4), which must be requested.
            await settings.store.removeEntry(for: found.key)
            // Released before, because a streamed response keeps its connection and the permit of a limit.
            response.body = .bytes(Data())
            return try await exchange.forward(reason, nil, next)
        }
        if response.status.isGatewayError, let stale = exchange.staleReplacement(found, reason, response) {
            return try exchange.deliver(stale)
        }
        return await exchange.received(response, replacing: found, forwarded)
    }
}

extension CacheExchange {
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
            return names.contains { name in
                if name == .acceptEncoding { return false }
                return sent.hasLateField(name) || addsCredentials && name.isCredential && !sent.header.contains(name)
            }
        }
    }
}
