import Requests

extension SocketExecutor {
    /// An HTTP proxy to which requests are sent in place of their origin servers (RFC 9112 §3.2.2).
    ///
    /// ```swift
    /// var configuration = SocketExecutor.Configuration()
    /// configuration.proxy = .init(
    ///     host: "proxy.example", port: 3128,
    ///     authorization: .basic(username: "a", password: "b"))
    /// ```
    /// Environment variables are ignored. A connection to the proxy serves all origins behind it, so the limits for one
    /// origin apply to the proxy. A 407 is returned like any other response.
    public struct Proxy: Hashable, Sendable {
        /// The credentials for a proxy (RFC 9110 §11.7.2), which are never sent to an origin server and never printed.
        public struct Authorization: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
            let value: String

            /// Creates credentials of any scheme; `value` is the value of the Proxy-Authorization field.
            ///
            /// - Parameter value: The scheme and its credentials. A value with a control character makes the proxy
            ///   invalid.
            public init(_ value: String) {
                self.value = value
            }

            /// Returns Basic credentials: the username and password in UTF-8, encoded as base64 (RFC 7617).
            public static func basic(username: String, password: String) -> Authorization {
                Authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
            }

            /// A placeholder without the credentials.
            public var description: String { "credentials" }
            /// A mirror without the credentials.
            public var customMirror: Mirror { Mirror(self, children: []) }
        }

        /// The host name or address of the proxy; IPv6 addresses may be in brackets.
        public var host: String

        /// The port of the proxy, 1 to 65535.
        public var port: Int

        /// The credentials for every request that has no Proxy-Authorization of its own.
        public var authorization: Authorization?

        /// The hosts that are reached without the proxy: `example.com` is that host, `.example.com` all names below it.
        ///
        /// Names are matched ignoring ASCII case; IPv6 addresses are written in brackets.
        public var excludedHosts: [String]

        /// Creates a proxy.
        ///
        /// An invalid host, port or authorization makes each request fail with
        /// ``/Requests/RequestError/Reason/invalidRequest(_:)`` and
        /// ``/Requests/RequestError/InvalidRequest/invalidProxy`` before it is sent.
        ///
        /// - Parameters:
        ///   - host: The host name or address of the proxy; IPv6 addresses may be in brackets.
        ///   - port: The port of the proxy, 1 to 65535.
        ///   - authorization: The credentials for requests without a Proxy-Authorization of their own.
        ///   - excludedHosts: The hosts that are reached without the proxy, as in ``excludedHosts``.
        public init(host: String, port: Int, authorization: Authorization? = nil, excludedHosts: [String] = []) {
            self.host = host
            self.port = port
            self.authorization = authorization
            self.excludedHosts = excludedHosts
        }

        /// Returns whether requests for `host`, in lower case, are sent to the proxy.
        func serves(_ host: String) -> Bool {
            !excludedHosts.contains { exception in
                let name = ASCIIFolding.folded(exception)
                return name.hasBytePrefix(".") ? host.hasByteSuffix(name) : host.hasSameBytes(as: name)
            }
        }
    }
}

extension SocketExecutor.Proxy {
    /// The host and the port for an error, without the credentials.
    var problemText: String { "host \(ErrorText.quoted(url: host)), port \(port)" }
}

/// The route of requests to a proxy, computed once for an executor.
struct ProxyRoute: Sendable {
    let proxy: SocketExecutor.Proxy
    let target: TargetURI
    /// The fields that the executor adds to requests to the proxy.
    let fields: [RequestHeadWriter.Addition]

    /// Creates the route to `proxy`; returns nil if the proxy is invalid.
    init?(_ proxy: SocketExecutor.Proxy) {
        let isBareIPv6 = proxy.host.containsByte(":") && !proxy.host.hasBytePrefix("[")
        let host = isBareIPv6 ? "[\(proxy.host)]" : proxy.host
        let isPlain = !host.utf8.contains { "@/?#\\".utf8.contains($0) } && (1...65_535).contains(proxy.port)
        guard isPlain, let target = try? TargetURI("http://\(host):\(proxy.port)/"), !target.host.isEmpty else {
            return nil
        }
        var own = DefaultFields.additions
        if let value = proxy.authorization?.value {
            // A control character could end the field line.
            guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
            own.append(RequestHeadWriter.Addition(Field(name: .proxyAuthorization, value: value)))
        }
        self.proxy = proxy
        self.target = target
        self.fields = own
    }
}
