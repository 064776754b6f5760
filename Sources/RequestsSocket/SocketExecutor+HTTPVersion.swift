extension SocketExecutor {
    /// A version of HTTP.
    @nonexhaustive
    public enum HTTPVersion: Hashable, Sendable {
        /// HTTP/1.1 (RFC 9112).
        case http1
        /// HTTP/2 without a negotiation (RFC 9113 §3.3): in clear, or over TLS with no other protocol offered.
        ///
        /// A connection carries one exchange at a time. A server without HTTP/2 is an error: in clear
        /// ``/Requests/RequestError/Reason/protocolViolation``, over TLS ``/Requests/RequestError/Reason/tlsFailed``.
        case http2PriorKnowledge

        /// The name of the protocol for TLS (RFC 7301).
        var applicationProtocol: String { self == .http1 ? "http/1.1" : "h2" }
    }
}
