import Requests

extension SocketExecutor {
    /// An HTTP proxy that requests are sent to in place of their origin servers (RFC 9112 §3.2.2).
    ///
    /// ```swift
    /// var configuration = SocketExecutor.Configuration()
    /// configuration.proxy = .init(host: "proxy.example", port: 3128, authorization: .basic(username: "a", password: "b"))
    /// ```
    /// No variable of the environment names one. Connections to the proxy serve every origin behind it, and the limits
    /// for one origin are the proxy's then. A 407 is handed over as any other response.
    public struct Proxy: Hashable, Sendable {
        /// Credentials for the proxy (RFC 9110 §11.7.2); they are never sent to an origin server, and never printed.
        public struct Authorization: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
            let value: String

            /// Any scheme: `value` is that of the field Proxy-Authorization.
            public init(_ value: String) {
                self.value = value
            }

            /// `Basic` and the credentials, UTF-8 in base64 (RFC 7617).
            public static func basic(username: String, password: String) -> Authorization {
                Authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
            }

            /// Nothing of the credentials.
            public var description: String { "credentials" }
            /// Nothing of the credentials.
            public var customMirror: Mirror { Mirror(self, children: []) }
        }

        /// The proxy's host name or address, an IPv6 one with or without brackets.
        public var host: String

        /// The proxy's port, 1 to 65,535.
        public var port: Int

        /// Credentials sent with every request, unless that has a Proxy-Authorization of its own.
        public var authorization: Authorization?

        /// Hosts that are reached directly: `example.com` is that host, `.example.com` every name below it.
        ///
        /// Letters count as lower case; IPv6 addresses are written in brackets.
        public var exceptions: [String]

        /// A proxy at `host` and `port`.
        ///
        /// What cannot be a proxy fails with ``RequestError/Reason/invalidRequest(_:)`` and
        /// ``InvalidRequest/invalidProxy`` when a request is to be sent.
        public init(host: String, port: Int, authorization: Authorization? = nil, exceptions: [String] = []) {
            self.host = host
            self.port = port
            self.authorization = authorization
            self.exceptions = exceptions
        }

        /// Whether requests for `host`, in lower case, go to the proxy.
        func serves(_ host: String) -> Bool {
            !exceptions.contains { exception in
                let name = ASCIIFolding.folded(exception)
                return name.hasBytePrefix(".") ? host.hasByteSuffix(name) : host.hasSameBytes(as: name)
            }
        }
    }
}

/// How requests reach a proxy: worked out once for an executor.
struct ProxyRoute: Sendable {
    let proxy: SocketExecutor.Proxy
    let target: TargetURI
    /// The executor's own fields of requests that go this way.
    let fields: [RequestHeadWriter.Addition]

    /// The route to `proxy`; nil when that is no proxy.
    init?(_ proxy: SocketExecutor.Proxy, adding fields: [RequestHeadWriter.Addition]) {
        let isBareIPv6 = proxy.host.containsByte(":") && !proxy.host.hasBytePrefix("[")
        let host = isBareIPv6 ? "[\(proxy.host)]" : proxy.host
        let isPlain = !host.utf8.contains { "@/?#\\".utf8.contains($0) } && (1...65_535).contains(proxy.port)
        guard isPlain, let target = try? TargetURI("http://\(host):\(proxy.port)/"), !target.host.isEmpty else {
            return nil
        }
        var own = fields
        if let value = proxy.authorization?.value {
            // As Field has it: no byte that could end the line.
            guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
            own.append(RequestHeadWriter.Addition(Field(name: .proxyAuthorization, value: value)))
        }
        self.proxy = proxy
        self.target = target
        self.fields = own
    }
}
