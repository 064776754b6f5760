import Requests
import RequestsHTTP1

/// A proxy configuration, prepared once for all requests of an executor.
final class ProxyRoute: Sendable {
    private let proxy: SocketExecutor.Proxy
    /// The URL of the proxy; for a SOCKS proxy, only its host and port have a meaning.
    let target: TargetURI
    /// The fields that the executor adds to requests that the proxy forwards.
    let fields: [RequestHeadWriter.Addition]
    /// The Proxy-Authorization field among ``fields``; nil for none.
    let authorization: Field?
    /// The authenticator that responds to challenges of the proxy; nil for none.
    private let authenticator: (any AuthenticationChallenge.ProxyAuthenticator)?
    private let excludedHosts: ExcludedHosts
    private let limits: WireLimits

    /// Returns nil if the configuration of the proxy is invalid.
    init?(_ proxy: SocketExecutor.Proxy, _ limits: WireLimits) {
        let isBareIPv6 = proxy.host.containsByte(":") && !proxy.host.hasBytePrefix("[")
        let host = isBareIPv6 ? "[\(proxy.host)]" : proxy.host
        let isPlain = !host.utf8.contains { "@/?#\\".utf8.contains($0) } && (1...65_535).contains(proxy.port)
        let scheme = proxy.scheme == .https ? "https" : "http"
        guard isPlain, let target = try? TargetURI("\(scheme)://\(host):\(proxy.port)/"), !target.host.isEmpty else {
            return nil
        }
        var own = DefaultFields.additions
        let authorization = proxy.authorization?.fixedValue.map { Field(name: .proxyAuthorization, value: $0) }
        if let authorization {
            // A control character could end the field line.
            guard !authorization.value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
            own.append(RequestHeadWriter.Addition(authorization))
        }
        if proxy.scheme == .socks5, let authorization = proxy.authorization {
            guard case .basic(let username, let password) = authorization.kind, (1...255).contains(username.count),
                (1...255).contains(password.count)
            else { return nil }
        }
        if proxy.scheme != .socks5, case .authenticator(let authenticator)? = proxy.authorization?.kind {
            self.authenticator = authenticator
        } else {
            authenticator = nil
        }
        self.proxy = proxy
        excludedHosts = ExcludedHosts(proxy.excludedHosts)
        self.target = target
        self.fields = own
        self.authorization = authorization
        self.limits = limits
    }

    func serves(_ target: TargetURI) -> Bool { !excludedHosts.contains(target.host, port: target.effectivePort) }

    /// The name for errors, without credentials.
    var name: String { "the proxy \(target.host):\(proxy.port)" }

    /// Returns whether the proxy reads and forwards requests for `target`; otherwise it only carries their bytes.
    func forwards(_ target: TargetURI) -> Bool { proxy.scheme != .socks5 && target.isHTTP }

    /// Returns the messages to the proxy that request a tunnel to `peer`.
    func dialogue(to peer: TargetURI) throws(RequestError) -> any TunnelDialogue {
        guard proxy.scheme == .socks5 else {
            return ConnectDialogue(to: peer, with: try credentials(toConnectTo: peer), limits)
        }
        var basic: (username: [UInt8], password: [UInt8])?
        if case .basic(let username, let password)? = proxy.authorization?.kind { basic = (username, password) }
        guard let dialogue = SOCKSDialogue(to: peer, credentials: basic) else {
            let detail = "SOCKS 5 supports names of at most 255 bytes"
            throw RequestError(.invalidRequest(.invalidHost), detail: detail).beforeSending()
        }
        return dialogue
    }

    private func credentials(toConnectTo peer: TargetURI) throws(RequestError) -> ConnectDialogue.Credentials {
        if let authenticator {
            let request = AuthenticationChallenge.ProxyRequest(
                to: target.origin, method: .connect, target: peer.tunnelAuthority)
            return .signIn(try ProxySignIn(authenticator, for: request))
        }
        return proxy.authorization?.fixedValue.map { .fixed($0) } ?? .none
    }

    var hasAuthenticator: Bool { authenticator != nil }

    /// Returns whether `request` is forwarded and its Proxy-Authorization is computed by an authenticator.
    func signsIn(_ request: PreparedRequest) -> Bool {
        authenticator != nil && forwards(request.target) && !request.header.contains(.proxyAuthorization)
    }

    /// Returns the credentials for a request that the proxy forwards; nil without an authenticator.
    func signIn(for request: PreparedRequest) throws(RequestError) -> ProxySignIn? {
        guard let authenticator, signsIn(request) else { return nil }
        return try ProxySignIn(
            authenticator,
            for: AuthenticationChallenge.ProxyRequest(
                to: target.origin, method: request.method,
                target: request.target.origin + request.target.requestTarget, body: request.body.inMemory))
    }
}

/// The routes of an executor, one for each URL scheme.
final class ProxyRoutes: Sendable {
    private let http: Result<ProxyRoute, RequestError>?
    private let https: Result<ProxyRoute, RequestError>?

    /// Returns nil if the configuration has no proxy.
    init?(_ configuration: SocketExecutor.ProxyConfiguration, _ limits: WireLimits) {
        http = configuration.http.map { Self.route(to: $0, limits) }
        https =
            configuration.https == configuration.http ? http : configuration.https.map { Self.route(to: $0, limits) }
        guard http != nil || https != nil else { return nil }
        haveAuthenticators = [http, https].contains { route in
            if case .success(let route)? = route { route.hasAuthenticator } else { false }
        }
    }

    private static func route(
        to proxy: SocketExecutor.Proxy, _ limits: WireLimits
    ) -> Result<ProxyRoute, RequestError> {
        guard let route = ProxyRoute(proxy, limits) else {
            return .failure(RequestError(.invalidRequest(.invalidProxy), detail: proxy.problemText).beforeSending())
        }
        return .success(route)
    }

    /// Whether any proxy has an authenticator; few have, so requests check this first.
    let haveAuthenticators: Bool

    /// Returns the route to the proxy for requests to `target`; nil if they are sent to their origin.
    func route(to target: TargetURI) throws(RequestError) -> ProxyRoute? {
        guard let proxy = target.isHTTPS ? https : http else { return nil }
        let route = try proxy.get()
        return route.serves(target) ? route : nil
    }
}
