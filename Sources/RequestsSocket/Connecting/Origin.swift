import Requests

/// The key by which connections are pooled: only requests with an equal origin share one.
///
/// It does not contain the TLS settings, which belong to the executor. A connection with older settings is not reused.
struct Origin: Hashable, Sendable {
    /// The URL of the peer that reads the requests: the origin server, or a proxy that forwards them.
    ///
    /// Only scheme, host, port and zone are compared.
    let peer: TargetURI
    let socketPath: String?
    let proxy: ProxyRoute?
    /// Whether the proxy reads and forwards the requests.
    ///
    /// Otherwise it opens a tunnel to the peer and only carries bytes.
    let isForwarded: Bool

    /// Creates the origin of `request`; throws if the executor cannot reach `target`.
    init(
        of request: PreparedRequest, to target: consuming TargetURI, by destination: SocketExecutor.Destination,
        through proxy: ProxyRoute?
    ) throws(RequestError) {
        if case .unix(let path) = destination {
            if let source = request.redirectedFrom, !source.hasSameOrigin(as: target) {
                throw RequestError(
                    .unexpectedRedirect,
                    detail: "\(source.origin) to \(target.origin), which this unix socket does not serve"
                ).beforeSending()
            }
            socketPath = path
        } else {
            socketPath = nil
        }
        guard target.isHTTP || target.isHTTPS else {
            let detail = "\(ErrorText.quoted(target.scheme)); SocketExecutor supports http and https"
            throw RequestError(.unsupportedScheme, detail: detail).beforeSending()
        }
        self.proxy = proxy
        if let proxy, proxy.forwards(target) {
            isForwarded = true
            peer = proxy.target
        } else {
            isForwarded = false
            peer = target
        }
    }

    var isSecured: Bool { peer.isHTTPS }

    static func == (left: Self, right: Self) -> Bool {
        left.peer.hasSameOrigin(as: right.peer) && left.socketPath == right.socketPath && left.proxy === right.proxy
            && left.isForwarded == right.isForwarded
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(peer.host)
        hasher.combine(peer.port)
    }
}
