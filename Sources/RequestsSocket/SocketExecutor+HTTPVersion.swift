extension SocketExecutor {
    /// A version of HTTP.
    @nonexhaustive
    public enum HTTPVersion: Hashable, Sendable {
        /// HTTP/1.1 (RFC 9112).
        case http1
        /// HTTP/2 with prior knowledge (RFC 9113 §3.3); over TLS, `h2` is the only protocol that is offered.
        ///
        /// Calls to an origin share a connection; another is established when the server allows no more streams on it.
        /// If the server does not support HTTP/2, the call fails: in clear with
        /// ``/Requests/RequestError/Reason/protocolViolation``, over TLS with
        /// ``/Requests/RequestError/Reason/tlsFailed``.
        case http2PriorKnowledge
        /// HTTP/2 for https URLs whose servers select it in the TLS handshake (RFC 7301), otherwise HTTP/1.1.
        ///
        /// `h2` and `http/1.1` are offered; a server that selects no protocol receives HTTP/1.1, and one that selects
        /// another protocol is refused with ``/Requests/RequestError/Reason/tlsFailed``. http URLs use HTTP/1.1. If a
        /// server requires HTTP/1.1 for a request (RFC 9113 §7), the request is sent again with HTTP/1.1, which later
        /// requests to its origin use, too.
        case http2Preferred
    }
}
