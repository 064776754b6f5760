import Requests

/// What connections are pooled by: only requests with an equal origin share one.
struct Origin: Hashable, Sendable {
    /// Of the peer; only its scheme, host, port and zone count.
    private let peer: TargetURI
    let socketPath: String?
    /// Whether this is a proxy, which serves many origins.
    let isProxy: Bool

    /// The origin of `request`, or the proxy it goes to, unless this executor does not reach it.
    init(
        of request: PreparedRequest, by destination: SocketExecutor.Destination, through proxy: TargetURI?
    ) throws(RequestError) {
        let target = request.target
        if case .unix(let path) = destination {
            if let source = request.redirectedFrom, !source.hasSameOrigin(as: target) {
                throw RequestError(
                    .unexpectedRedirect,
                    detail: "from \(source.origin) to \(target.origin), which this unix socket is not"
                ).beforeSending()
            }
            socketPath = path
        } else {
            socketPath = nil
        }
        guard target.scheme == "http" else {
            let other = target.scheme == "https" ? "; for https use the executor of RequestsURLSession" : ""
            throw RequestError(.unsupportedScheme, detail: "SocketExecutor speaks http only\(other)").beforeSending()
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
