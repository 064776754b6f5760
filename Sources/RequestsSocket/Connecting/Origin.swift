import Requests

/// The key by which connections are pooled: only requests with an equal origin share one.
struct Origin: Hashable, Sendable {
    /// The URL of the peer, of which only scheme, host, port and zone are compared.
    private let peer: TargetURI
    let socketPath: String?
    /// Whether the peer is a proxy, which serves many origins.
    let isProxy: Bool

    /// Creates the origin of `request`, or of the proxy it is sent to; throws if this executor cannot reach it.
    init(
        of request: PreparedRequest, by destination: SocketExecutor.Destination, through proxy: TargetURI?
    ) throws(RequestError) {
        let target = request.target
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
        guard target.scheme == "http" else {
            let advice = target.scheme == "https" ? "; use RequestsURLSession for https" : ""
            let detail = "\(ErrorText.quoted(target.scheme)); SocketExecutor supports http only\(advice)"
            throw RequestError(.unsupportedScheme, detail: detail).beforeSending()
        }
        isProxy = proxy != nil
        peer = proxy ?? target
    }

    var host: String { peer.host }
    var port: Int { peer.effectivePort ?? 80 }
    var zone: String? { peer.zone }

    static func == (left: Self, right: Self) -> Bool {
        left.peer.hasSameOrigin(as: right.peer) && left.socketPath == right.socketPath && left.isProxy == right.isProxy
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(peer.host)
        hasher.combine(peer.port)
    }
}
