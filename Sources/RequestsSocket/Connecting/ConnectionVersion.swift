/// The version of HTTP that a new connection uses, or the way in which it is selected.
enum ConnectionVersion: Sendable {
    case http1
    /// HTTP/2 with prior knowledge.
    case http2
    /// The version that the server selects in the TLS handshake (RFC 7301).
    case negotiated
    /// HTTP/1.1 on a connection that offers nothing else, although the TLS settings contain `h2`.
    case http1Only

    /// The application protocols that the server may select.
    var applicationProtocols: [String] {
        switch self {
        case .http1, .http1Only: ["http/1.1"]
        case .http2: ["h2"]
        case .negotiated: ["h2", "http/1.1"]
        }
    }

    /// Whether the server may select no application protocol; it then receives HTTP/1.1.
    var allowsNoProtocol: Bool { self != .http2 }

    /// Returns whether a connection uses HTTP/2 after its server has selected the application protocol `name`; nil for
    /// none.
    func usesHTTP2(afterSelecting name: String?) -> Bool {
        switch self {
        case .http1, .http1Only: false
        case .http2: true
        case .negotiated: name == "h2"
        }
    }
}
