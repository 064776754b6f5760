import Requests

/// What connections are pooled by: only requests with an equal origin share one.
struct Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int
    let zone: String?
    let socketPath: String?
    /// Whether this is a proxy, which serves many origins.
    let isProxy: Bool

    /// The origin of `request`, or the proxy it goes to, unless this executor does not reach it.
    init(
        of request: PreparedRequest, by destination: SocketExecutor.Destination, through proxy: TargetURI?
    ) throws(RequestError) {
        let target = request.target
        if case .unix(let path) = destination {
            if let source = request.redirectedFrom, source.origin != target.origin {
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
            throw RequestError(
                .unsupportedScheme,
                detail: "SocketExecutor speaks http only; for \(target.scheme) use the executor of RequestsURLSession"
            ).beforeSending()
        }
        isProxy = proxy != nil
        let peer = proxy ?? target
        scheme = peer.scheme
        host = peer.host
        port = peer.effectivePort ?? 80
        zone = peer.zone
    }
}
