/// Whether a request may be answered from a cache; an executor without a cache asks the server always.
public enum RequestCachePolicy: Hashable, Sendable {
    /// What the protocol allows (RFC 9111).
    case useProtocolCachePolicy
    /// Never from a cache.
    case reloadIgnoringLocalCacheData
    /// From a cache, however old; else the server is asked.
    case returnCacheDataElseLoad
    /// From a cache or not at all.
    case returnCacheDataDontLoad
    /// From a cache when the server confirms.
    case reloadRevalidatingCacheData

    /// This policy for a request of `method`: what changes something is never answered from a cache (RFC 9111 §4), unless
    /// a policy other than the protocol's was asked for.
    func applied(to method: HTTPMethod) -> RequestCachePolicy {
        if method == .get || self != .useProtocolCachePolicy { return self }
        switch method {
        case .post, .put, .patch, .delete: return .reloadIgnoringLocalCacheData
        default: return self
        }
    }
}
