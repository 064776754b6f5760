import Requests
import RequestsHTTP1

/// The route of requests to a proxy, computed once for an executor.
final class ProxyRoute: Sendable {
    private let proxy: SocketExecutor.Proxy
    /// The proxy itself; of SOCKS proxies only host and port have a meaning.
    let target: TargetURI
    /// The fields that the executor adds to requests that the proxy forwards.
    let fields: [RequestHeadWriter.Addition]
    private let limits: WireLimits

    /// Creates the route to `proxy`; returns nil if the proxy is invalid.
    init?(_ proxy: SocketExecutor.Proxy, _ limits: WireLimits) {
        let isBareIPv6 = proxy.host.containsByte(":") && !proxy.host.hasBytePrefix("[")
        let host = isBareIPv6 ? "[\(proxy.host)]" : proxy.host
        let isPlain = !host.utf8.contains { "@/?#\\".utf8.contains($0) } && (1...65_535).contains(proxy.port)
        let scheme = proxy.scheme == .https ? "https" : "http"
        guard isPlain, let target = try? TargetURI("\(scheme)://\(host):\(proxy.port)/"), !target.host.isEmpty else {
            return nil
        }
        var own = DefaultFields.additions
        if let authorization = proxy.authorization {
            // A control character could end the field line.
            guard !authorization.value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
            if proxy.scheme == .socks5 {
                guard let basic = authorization.basic, (1...255).contains(basic.username.count),
                    (1...255).contains(basic.password.count)
                else { return nil }
            }
            own.append(RequestHeadWriter.Addition(Field(name: .proxyAuthorization, value: authorization.value)))
        }
        self.proxy = proxy
        self.target = target
        self.fields = own
        self.limits = limits
    }

    /// Whether requests for `host`, in lower case, are sent to the proxy.
    func serves(_ host: String) -> Bool { proxy.serves(host) }

    /// Whether the proxy reads requests for `target`, and not only carries their bytes.
    func forwards(_ target: TargetURI) -> Bool { proxy.scheme != .socks5 && target.scheme == "http" }

    /// Returns the messages to the proxy that request a tunnel to `peer`.
    func dialogue(to peer: TargetURI) throws(RequestError) -> any TunnelDialogue {
        guard proxy.scheme == .socks5 else {
            return ConnectDialogue(to: peer, authorization: proxy.authorization?.value, limits)
        }
        let basic = proxy.authorization?.basic
        guard let dialogue = SOCKSDialogue(to: peer, credentials: basic.map { ($0.username, $0.password) }) else {
            let detail = "SOCKS 5 supports names of at most 255 bytes"
            throw RequestError(.invalidRequest(.invalidHost), detail: detail).beforeSending()
        }
        return dialogue
    }
}

/// The routes of an executor: one for each scheme of URLs.
struct ProxyRoutes: Sendable {
    private let http: Result<ProxyRoute, RequestError>?
    private let https: Result<ProxyRoute, RequestError>?

    init(_ configuration: SocketExecutor.ProxyConfiguration?, _ limits: WireLimits) {
        http = configuration?.http.map { Self.route(to: $0, limits) }
        https =
            configuration?.https == configuration?.http ? http : configuration?.https.map { Self.route(to: $0, limits) }
    }

    private static func route(
        to proxy: SocketExecutor.Proxy, _ limits: WireLimits
    ) -> Result<ProxyRoute, RequestError> {
        guard let route = ProxyRoute(proxy, limits) else {
            return .failure(RequestError(.invalidRequest(.invalidProxy), detail: proxy.problemText).beforeSending())
        }
        return .success(route)
    }

    /// Returns the route to the proxy for requests to `target`; nil if they are sent to their origin.
    func route(to target: TargetURI) throws(RequestError) -> ProxyRoute? {
        guard let proxy = target.scheme == "https" ? https : http else { return nil }
        let route = try proxy.get()
        return route.serves(target.host) ? route : nil
    }
}
