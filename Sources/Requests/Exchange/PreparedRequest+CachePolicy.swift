extension PreparedRequest {
    /// A rule for using a cache; an executor without a cache always sends the request.
    public enum CachePolicy: Hashable, Sendable {
        /// A cached response is used as the protocol allows (RFC 9111).
        case useProtocolCachePolicy
        /// A cached response is never used.
        case reloadIgnoringLocalCacheData
        /// A cached response of any age is used; if there is none, the request is sent.
        case returnCacheDataElseLoad
        /// A cached response of any age is used; the request is never sent.
        case returnCacheDataDontLoad
        /// A cached response is used if the server confirms that it is current.
        case reloadRevalidatingCacheData

        /// Returns the policy for a request with `method`.
        ///
        /// The protocol's policy does not use cached responses for POST, PUT, PATCH and DELETE (RFC 9111 §4). All other
        /// policies stay as they are.
        func applied(to method: HTTPMethod) -> PreparedRequest.CachePolicy {
            if method == .get || self != .useProtocolCachePolicy { return self }
            switch method {
            case .post, .put, .patch, .delete: return .reloadIgnoringLocalCacheData
            default: return self
            }
        }
    }
}
