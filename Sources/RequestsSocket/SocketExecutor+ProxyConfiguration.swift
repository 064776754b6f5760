import Requests

extension SocketExecutor {
    /// The proxies of an executor, by the scheme of the URL.
    ///
    /// ```swift
    /// var configuration = SocketExecutor.Configuration()
    /// configuration.proxy = .init(
    ///     host: "proxy.example", port: 3128,
    ///     authorization: .basic(username: "a", password: "b"))
    /// ```
    public struct ProxyConfiguration: Hashable, Sendable {
        /// The proxy of requests with the scheme http; nil for none.
        public var http: Proxy?

        /// The proxy of requests with the scheme https; nil for none.
        public var https: Proxy?

        /// Creates the configuration of a proxy for each scheme.
        ///
        /// - Parameters:
        ///   - http: The proxy of requests with the scheme http.
        ///   - https: The proxy of requests with the scheme https.
        public init(http: Proxy?, https: Proxy?) {
            self.http = http
            self.https = https
        }

        /// Creates the configuration of one proxy for all requests.
        ///
        /// - Parameter proxy: The proxy.
        public init(_ proxy: Proxy) {
            self.init(http: proxy, https: proxy)
        }

        /// Creates the configuration of one proxy for all requests.
        ///
        /// - Parameters:
        ///   - scheme: The protocol of the proxy.
        ///   - host: The host name or address of the proxy; IPv6 addresses may be in brackets.
        ///   - port: The port of the proxy, 1 to 65535.
        ///   - authorization: The credentials for the proxy.
        ///   - excludedHosts: The hosts that are reached without the proxy, as in
        ///     ``SocketExecutor/Proxy/excludedHosts``.
        public init(
            scheme: Proxy.Scheme = .http, host: String, port: Int, authorization: Proxy.Authorization? = nil,
            excludedHosts: [String] = []
        ) {
            self.init(
                Proxy(
                    scheme: scheme, host: host, port: port, authorization: authorization, excludedHosts: excludedHosts))
        }
    }
}

// MARK: The environment

extension SocketExecutor.ProxyConfiguration {
    /// Returns the proxies that environment variables name; nil if they name none.
    ///
    /// `HTTP_PROXY` and `HTTPS_PROXY` contain a URL with the scheme http, https, socks5 or socks5h, an optional
    /// username and password, and an optional port, or only a host and a port. `ALL_PROXY` applies to a scheme without
    /// its own variable. `NO_PROXY` lists hosts that are reached directly, separated by commas or white space: names
    /// and addresses with an optional port, ranges of addresses such as `10.0.0.0/8`, or `*` for all. A name includes
    /// all names below it. Hosts may be spelled as in ``SocketExecutor/Proxy/excludedHosts``. Each variable is read in
    /// lower case first. `HTTP_PROXY` in upper case is ignored in a CGI program, where a client can set it.
    ///
    /// - Parameter variables: The variables; the default is the environment of the process.
    /// - Returns: The proxies.
    /// - Throws: ``/Requests/RequestError`` with ``/Requests/RequestError/InvalidRequest/invalidProxy`` for a value
    ///   that is not such a URL. Its detail does not contain the value.
    public static func environment(
        _ variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws(RequestError) -> Self? {
        func value(_ name: String) -> (name: String, text: String)? {
            let isUnsafe = name == "HTTP_PROXY" && variables["REQUEST_METHOD"] != nil
            for name in [ASCIIFolding.folded(name), isUnsafe ? nil : name].compactMap(\.self) {
                if let text = variables[name], !text.isEmpty { return (name, text) }
            }
            return nil
        }
        let excluded = excludedHosts(value("NO_PROXY")?.text ?? "")
        guard let excluded else { return nil }
        let (http, https) = (value("HTTP_PROXY") ?? value("ALL_PROXY"), value("HTTPS_PROXY") ?? value("ALL_PROXY"))
        if http == nil, https == nil { return nil }
        return Self(http: try http.map(proxy(excluded)), https: try https.map(proxy(excluded)))
    }

    /// Returns the entries of `NO_PROXY`; nil if it excludes all hosts.
    private static func excludedHosts(_ list: String) -> [String]? {
        var hosts: [String] = []
        let entries = list.replacingBytes { $0 <= 0x20 ? "," : nil }.splitBytes(at: ",")
        for part in entries {
            var entry = String(part)
            if entry.hasSameBytes(as: "*") { return nil }
            if entry.hasBytePrefix("*.") { entry = String(entry.droppingFirstBytes(1)) }
            if entry.containsByte("/") || IPAddressText.octets(ExcludedHosts.parts(of: entry[...]).host) != nil {
                hosts.append(entry)
            } else {
                let name = entry.hasBytePrefix(".") ? String(entry.droppingFirstBytes(1)) : entry
                hosts += [name, ".\(name)"]
            }
        }
        return hosts
    }

    private static func proxy(
        _ excluded: [String]
    ) -> ((name: String, text: String)) throws(RequestError) -> SocketExecutor.Proxy {
        { variable throws(RequestError) in
            guard let proxy = parsed(variable.text, excluded) else {
                throw RequestError(
                    .invalidRequest(.invalidProxy), detail: "the variable \(variable.name) is not the URL of a proxy"
                ).beforeSending()
            }
            return proxy
        }
    }

    private static func parsed(_ text: String, _ excluded: [String]) -> SocketExecutor.Proxy? {
        let text = text.utf8.firstRange(of: "://".utf8) != nil ? text : "http://\(text)"
        guard let target = try? TargetURI(text), !target.host.isEmpty else { return nil }
        let (scheme, defaultPort): (SocketExecutor.Proxy.Scheme, Int)
        switch target.scheme {
        case "http": (scheme, defaultPort) = (.http, 80)
        case "https": (scheme, defaultPort) = (.https, 443)
        case "socks5", "socks5h": (scheme, defaultPort) = (.socks5, 1080)
        default: return nil
        }
        var authorization: SocketExecutor.Proxy.Authorization?
        if let userinfo = target.userinfo {
            let parts = userinfo.splitBytes(at: ":", maxSplits: 1, omittingEmptySubsequences: false)
                .map { PercentEncoding.decode($0) }
            authorization = .basic(username: parts.first ?? "", password: parts.count > 1 ? parts[1] : "")
        }
        return SocketExecutor.Proxy(
            scheme: scheme, host: target.host, port: target.port ?? defaultPort, authorization: authorization,
            excludedHosts: excluded)
    }
}
