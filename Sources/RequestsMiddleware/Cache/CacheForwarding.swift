@_spi(Lock) internal import Requests

/// The state of a forwarded request, from the lookup until its response has been handled.
struct CacheForwarding: Sendable {
    let reason: CacheExchange.ForwardReason
    let validated: Validated?
    /// The time of the request in seconds since 1970.
    let requestTime: Double
    /// The number of invalidations before the request was sent.
    let invalidations: Int

    /// A stored response that is being validated, as one reference, because most requests have none.
    final class Validated: Sendable {
        let found: CacheExchange.Found
        /// Whether the request contains the validators of the stored response.
        let isConditional: Bool

        init(_ found: CacheExchange.Found, isConditional: Bool) {
            self.found = found
            self.isConditional = isConditional
        }
    }
}

extension CacheExchange {
    /// Begins to forward the request.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - validated: The stored response that is validated; nil for none.
    /// - Returns: The forwarding.
    func beginForwarding(
        _ reason: ForwardReason, _ validated: CacheForwarding.Validated?
    ) -> CacheForwarding {
        CacheForwarding(
            reason: reason, validated: validated, requestTime: settings.time,
            invalidations: settings.invalidations.count)
    }

    /// Records what the cache did.
    ///
    /// Returns true if nothing must be stored or removed, as for most responses of an API.
    func end(_ forwarding: CacheForwarding, _ response: inout RawResponse) -> Bool {
        response.metrics.cacheStatus = RawResponse.Metrics.CacheStatus(
            forwardReason: forwarding.reason, forwardedStatus: response.head.status)
        return forwarding.validated == nil && request.hasMethod(.get) && storage(of: response) == .never
    }

    /// Stores the response, or returns the stored response that it confirms or that replaces an error.
    ///
    /// - Parameters:
    ///   - forwarding: The forwarding.
    ///   - response: The response.
    ///   - sent: The request as the cache has passed it on.
    ///   - next: The next executor.
    /// - Returns: The response for the caller.
    /// - Throws: The error of a second exchange, or of delivering a stored response.
    func complete(
        _ forwarding: CacheForwarding, _ response: consuming RawResponse, to sent: PreparedRequest,
        _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let (reason, found) = (forwarding.reason, forwarding.validated?.found)
        let forwarded = ForwardedExchange(
            requestTime: forwarding.requestTime, responseTime: settings.time, invalidations: forwarding.invalidations,
            forwardedHeader: sent.header, sentHeader: response.request?.header ?? sent.header,
            fieldsOfExecutor: response.secretsOfExecutor, addsCredentials: next.traits.contains(.addsCredentials))
        if response.status == 304, let found, forwarding.validated?.isConditional == true {
            if found.response.isConfirmed(by: response.header) {
                return try await confirmed(found, by: response, forwarded)
            }
            // The server has another representation (RFC 9111 §4.3.4), which must be requested.
            await settings.store.removeEntry(for: found.key)
            // Released before, because a streamed response keeps its connection and the permit of a limit.
            response.body = .bytes(Data())
            return try await forward(reason, nil, next)
        }
        if response.status.isGatewayError, let stale = staleReplacement(found, reason, response) {
            return try deliver(stale)
        }
        return await received(response, replacing: found, forwarded)
    }
}

extension CacheExchange {
    /// The data that a cache records for a request that it forwards.
    struct ForwardedExchange: Sendable {
        /// The times at which the request was sent and the response received, in seconds since 1970.
        let requestTime: Double
        let responseTime: Double
        /// The number of invalidations before the request was sent.
        let invalidations: Int
        /// The header of the request as the cache has forwarded it.
        let forwardedHeader: Header
        /// The header of the request as it was sent.
        let sentHeader: Header
        /// The fields that the executor has added, such as credentials for a proxy.
        let fieldsOfExecutor: [Field]
        /// Whether middleware behind the cache adds credentials.
        let addsCredentials: Bool

        /// Returns whether Vary in `header` names a field that is hidden from the cache.
        ///
        /// Middleware behind the cache has added or changed such a field, or could add it to a later request.
        ///
        /// The requests that select the response are then unknown, so it must be validated each time. Accept-Encoding
        /// is excepted, because the decoder adds the same value to each request.
        func variesByHiddenFields(_ header: Header) -> Bool {
            guard let names = VariantList.names(in: header)?.map({ Field.Name($0) }), !names.isEmpty else {
                return false
            }
            return names.contains { name in
                if name == .acceptEncoding { return false }
                return sentHeader.values(of: name) != forwardedHeader.values(of: name)
                    || fieldsOfExecutor.contains { $0.name == name }
                    || addsCredentials && name.isCredential && !forwardedHeader.contains(name)
            }
        }
    }
}
