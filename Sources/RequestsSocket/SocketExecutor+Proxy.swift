import Requests

extension SocketExecutor {
    /// A proxy between this machine and origin servers.
    ///
    /// An HTTP proxy forwards requests with the scheme http (RFC 9112 §3.2.2). A connection to it serves all origins
    /// behind it, so the limits for one origin apply to the proxy, and a final 407 is returned like any other response.
    /// For https, a tunnel is requested from the proxy with CONNECT (RFC 9110 §9.3.6); it receives no field of a
    /// request, and a refusal fails with ``/Requests/RequestError/Reason/proxyRefused``. A SOCKS 5 proxy provides a
    /// tunnel for both schemes, and resolves the names of hosts (RFC 1928).
    public struct Proxy: Hashable, Sendable {
        /// The credentials for a proxy (RFC 9110 §11.7.2), which are never sent to an origin server and never printed.
        public struct Authorization: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
            enum Kind: Sendable {
                case fieldValue(String)
                case basic(username: [UInt8], password: [UInt8])
                case authenticator(any AuthenticationChallenge.ProxyAuthenticator)
            }

            let kind: Kind

            /// Creates credentials of any scheme; `value` is the value of the Proxy-Authorization field.
            ///
            /// - Parameter value: The scheme and its credentials. A value with a control character makes the proxy
            ///   invalid.
            public init(_ value: String) {
                kind = .fieldValue(value)
            }

            /// Creates credentials from an authenticator that responds to the challenges of an HTTP proxy, such as
            /// `DigestAuthenticator` of RequestsMiddleware.
            ///
            /// ```swift
            /// configuration.proxy = .init(
            ///     host: "proxy.example", port: 3128,
            ///     authorization: .init(
            ///         with: DigestAuthenticator(username: "me", password: secret)))
            /// ```
            ///
            /// A request is sent at most three times because of 407 responses. One that the proxy forwards is sent
            /// again only if its body can be produced again; otherwise it fails with
            /// ``/Requests/RequestError/Reason/bodyNotReplayable``. SOCKS 5 has no challenges: a request through such a
            /// proxy with an authenticator fails with ``/Requests/RequestError/InvalidRequest/invalidProxy`` before
            /// anything is sent.
            public init(with authenticator: some AuthenticationChallenge.ProxyAuthenticator) {
                kind = .authenticator(authenticator)
            }

            /// Returns Basic credentials: the username and password in UTF-8, encoded as base64 (RFC 7617).
            ///
            /// SOCKS 5 proxies receive the two as they are (RFC 1929), and support no other credentials.
            public static func basic(username: String, password: String) -> Authorization {
                Authorization(.basic(username: Array(username.utf8), password: Array(password.utf8)))
            }

            private init(_ kind: Kind) {
                self.kind = kind
            }

            /// A placeholder without the credentials.
            public var description: String { "credentials" }
            /// A mirror without the credentials.
            public var customMirror: Mirror { Mirror(self, children: []) }
        }

        /// The protocol of a proxy.
        @nonexhaustive
        public enum Scheme: Hashable, Sendable {
            /// HTTP/1.1.
            case http
            /// HTTP/1.1 over TLS, with the settings of ``SocketExecutor/Configuration/proxyTLS``.
            case https
            /// SOCKS 5 (RFC 1928), with names that the proxy resolves.
            case socks5
        }

        /// The protocol of the proxy.
        public var scheme: Scheme

        /// The host name or address of the proxy; IPv6 addresses may be in brackets.
        public var host: String

        /// The port of the proxy, from 1 to 65535.
        public var port: Int

        /// The credentials for every request without a Proxy-Authorization field.
        public var authorization: Authorization?

        /// The hosts that are reached without the proxy: `example.com` is that host, `.example.com` and `*.example.com`
        /// are all names below it, `192.0.2.0/24` the addresses in that range, and `*` all hosts.
        ///
        /// An entry with a port, such as `example.com:8080`, concerns only that port. Names are matched ignoring ASCII
        /// case and a dot at the end, and a name outside ASCII is the same as its form with `xn--`. IPv6 addresses may
        /// have any spelling, in brackets if a port follows. White space around an entry is ignored.
        public var excludedHosts: [String]

        /// Creates a proxy.
        ///
        /// An invalid host, port or authorization makes each request fail with
        /// ``/Requests/RequestError/Reason/invalidRequest(_:)`` and
        /// ``/Requests/RequestError/InvalidRequest/invalidProxy`` before it is sent.
        ///
        /// - Parameters:
        ///   - scheme: The protocol of the proxy.
        ///   - host: The host name or address of the proxy; IPv6 addresses may be in brackets.
        ///   - port: The port of the proxy, 1 to 65535.
        ///   - authorization: The credentials for requests without a Proxy-Authorization field.
        ///   - excludedHosts: The hosts that are reached without the proxy, as in ``excludedHosts``.
        public init(
            scheme: Scheme = .http, host: String, port: Int, authorization: Authorization? = nil,
            excludedHosts: [String] = []
        ) {
            self.scheme = scheme
            self.host = host
            self.port = port
            self.authorization = authorization
            self.excludedHosts = excludedHosts
        }

        /// Returns whether requests for `host` and `port` are sent to the proxy.
        package func serves(_ host: String, port: Int? = nil) -> Bool {
            !ExcludedHosts(excludedHosts).contains(host, port: port)
        }
    }
}

extension SocketExecutor.Proxy.Authorization {
    /// The value of Proxy-Authorization for all requests; nil if an authenticator computes one for each.
    var fixedValue: String? {
        switch kind {
        case .fieldValue(let value): value
        case .basic(let username, let password):
            "Basic \(Data(username + [UInt8(ascii: ":")] + password).base64EncodedString())"
        case .authenticator: nil
        }
    }

    /// Returns whether both have the same values, or the same authenticator.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left.kind, right.kind) {
        case (.fieldValue(let left), .fieldValue(let right)): left.hasSameBytes(as: right)
        case (.basic(let left, let leftPassword), .basic(let right, let rightPassword)):
            left == right && leftPassword == rightPassword
        case (.authenticator(let left), .authenticator(let right)): left === right
        default: false
        }
    }

    /// Hashes the values, or the identity of the authenticator.
    public func hash(into hasher: inout Hasher) {
        switch kind {
        case .fieldValue(let value): value.hashBytes(into: &hasher)
        case .basic(let username, let password):
            hasher.combine(username)
            hasher.combine(password)
        case .authenticator(let authenticator): hasher.combine(ObjectIdentifier(authenticator))
        }
    }
}

extension SocketExecutor.Proxy {
    /// The host and the port for an error, without the credentials.
    var problemText: String { "host \(ErrorText.quoted(url: host)), port \(port)" }
}
