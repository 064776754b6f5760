import RequestsHTTP1
import RequestsHTTP2
package import RequestsPOSIX
package import RequestsTLS

extension SocketExecutor {
    /// The limits, the proxies and the TLS settings of an executor.
    public struct Configuration: Sendable {
        /// The maximum number of connections to one origin, including the ones being established; the default is 64,
        /// the minimum 1.
        ///
        /// An HTTP/2 connection counts once, however many calls share it. Calls for which no connection has a place
        /// wait in the order of their arrival, for at most the request's connect limit. A blocking call that a task
        /// makes may exceed this limit, and ``maximumConnections``, by one connection after it has waited for 250 ms,
        /// because the tasks that hold the connections may have no thread left to run on.
        public var maximumConnectionsPerOrigin = 64

        /// The maximum number of connections in total, including the ones being established; the default is 256, the
        /// minimum 1.
        ///
        /// At the limit, an idle connection to another origin is closed for a new one; without one, calls wait. If
        /// their origin has no connection, the shared HTTP/2 connection with the fewest calls accepts no further ones,
        /// and closes when they have ended.
        public var maximumConnections = 256

        /// The maximum number of idle connections kept for one origin; the default is 8; 0 keeps none.
        public var maximumIdleConnectionsPerOrigin = 8

        /// The time after which an idle connection is closed; the default is 30 s.
        ///
        /// A server can shorten it: with `Keep-Alive: timeout=5`, a connection is used for 4 s, so that no request is
        /// sent at the moment at which the server closes. The margin is 1 s, or half of a shorter time. With zero or
        /// less, connections are not reused.
        public var idleTimeout: Duration = .seconds(30)

        /// The maximum size in bytes of a response's status line and header, preceding interim responses included; the
        /// default is 256 KiB.
        ///
        /// A larger head fails with ``/Requests/RequestError/Reason/tooLarge(limit:)``.
        public var maximumHeadSize = 256 << 10

        /// The maximum size in bytes of one field line of a response, line end included; the default is 100 KiB.
        ///
        /// The line also counts towards ``maximumHeadSize``. A longer line fails with
        /// ``/Requests/RequestError/Reason/tooLarge(limit:)``.
        ///
        /// It has no effect on HTTP/2.
        public var maximumFieldLineSize = 100 << 10

        /// The maximum number of fields in a response's header or trailers; the default is 2,000.
        ///
        /// It has no effect on HTTP/2.
        public var maximumFieldCount = 2_000

        /// The maximum size in bytes of the trailers after a chunked body; the default is 16 KiB.
        ///
        /// It has no effect on HTTP/2.
        public var maximumTrailerSize = 16 << 10

        /// The maximum number of interim (1xx) responses before the final one; the default is 20.
        public var maximumInterimResponses = 20

        /// The version of HTTP for connections to origin servers; the default is HTTP/1.1.
        ///
        /// With ``SocketExecutor/HTTPVersion/http2Preferred``, servers of https URLs select the version. Requests that
        /// a proxy forwards use HTTP/1.1.
        public var httpVersion = HTTPVersion.http1

        /// The settings of TLS connections to origin servers; the default trusts the certificate authorities of the
        /// system.
        ///
        /// The library and the certificates are loaded when the first https request needs them. A server that selects
        /// an application protocol that ``httpVersion`` does not use is refused.
        public var tls = TLSConfiguration()

        /// The settings of TLS connections to a proxy with the scheme https.
        public var proxyTLS = TLSConfiguration()

        /// The proxies to which requests are sent; the default is nil: no proxy.
        ///
        /// They have no effect on an executor for a unix socket. Proxies are read from the environment only with
        /// ``SocketExecutor/ProxyConfiguration/environment(_:)``.
        public var proxy: ProxyConfiguration?

        /// The resolver that returns the addresses of host names; the default is the system's.
        public var hostResolver = HostResolver.system

        /// The address of this machine from which connections are established, without a port, such as `192.0.2.7` or
        /// `fe80::1%eth0`; the default is nil: the system chooses one.
        ///
        /// Only addresses of the same family are connected to; if the host has none, the request fails with
        /// ``/Requests/RequestError/Reason/connectionFailed``. Text that is not an IP address makes each request fail
        /// with ``/Requests/RequestError/InvalidRequest/invalidLocalAddress``. It has no effect on unix sockets.
        public var localAddress: String?

        /// The probes with which the system checks connections on which nothing arrives; the default is nil: none.
        ///
        /// They detect a peer that has disappeared, and prevent firewalls from dropping an idle connection. The system
        /// of the peer acknowledges them without the server's program. They have no effect on unix sockets.
        public var keepAliveProbes: KeepAliveProbes?

        /// The time after which an unfinished attempt no longer delays the host's next address (RFC 8305 §5).
        package var attemptDelay: Duration = .milliseconds(250)

        package var resolver: Resolver {
            get { hostResolver.resolver }
            set { hostResolver = HostResolver(newValue) }
        }

        /// The method of sending files.
        ///
        /// Nil chooses the method: files are sent by the kernel to another machine, and read and copied on this
        /// machine.
        package var fileSending: FileSending?

        /// Whether TLS sessions are resumed; a benchmark of full handshakes sets false.
        package var resumesTLSSessions = true

        package var tlsLibrary = TLSLibrary.shared

        /// The number of the first stream of each connection of HTTP/2, which is odd; a test begins with a high one.
        package var firstStream: UInt32 = 1

        /// The faults that a test injects into every connection.
        package var faults: TransferFaults?

        /// Creates the default configuration.
        public init() {}

        /// Creates a context, which loads nothing yet.
        ///
        /// It offers the protocols of `version`, unless the app has set others.
        func tlsContext(for version: ConnectionVersion) -> @Sendable (_ tls: TLSConfiguration) -> TLSContext {
            { [tlsLibrary, resumesTLSSessions] tls in
                var tls = tls
                if tls.applicationProtocols == TLSConfiguration().applicationProtocols {
                    tls.applicationProtocols = version.applicationProtocols
                }
                return TLSContext(client: tls, library: tlsLibrary, maximumSessions: resumesTLSSessions ? 256 : 0)
            }
        }

        /// The version of HTTP whose protocols are offered to origin servers.
        var originVersion: ConnectionVersion {
            switch httpVersion {
            case .http1: .http1
            case .http2PriorKnowledge: .http2
            case .http2Preferred: .negotiated
            }
        }

        var http2Limits: HTTP2Limits {
            var limits = HTTP2Limits()
            limits.headBytes = maximumHeadSize
            limits.interimResponses = maximumInterimResponses
            return limits
        }

        /// The parser limits; a limit for a part of the head is at most that for all of it.
        var wireLimits: WireLimits {
            var limits = WireLimits()
            limits.headBytes = maximumHeadSize
            limits.lineBytes = min(maximumFieldLineSize, maximumHeadSize)
            limits.startLineBytes = min(limits.startLineBytes, maximumHeadSize)
            limits.fieldCount = maximumFieldCount
            limits.trailerBytes = maximumTrailerSize
            limits.interimResponses = maximumInterimResponses
            return limits
        }
    }

    /// The probes of TCP keep-alive (RFC 9293 §3.8.4).
    ///
    /// Whole seconds from 1 to 32,767 are used; other values are rounded up or limited. A connection on which nothing
    /// arrives is lost after ``idleTime`` and ``count`` times ``interval``.
    public struct KeepAliveProbes: Hashable, Sendable {
        /// The time without traffic before the first probe; the default is 60 s.
        public var idleTime: Duration

        /// The time between two probes; the default is 10 s.
        public var interval: Duration

        /// The number of probes without a response after which the connection is lost, 1 to 127; the default is 5.
        public var count: Int

        /// Creates probes after `idleTime`, `count` of them, one each `interval`.
        public init(idleTime: Duration = .seconds(60), interval: Duration = .seconds(10), count: Int = 5) {
            self.idleTime = idleTime
            self.interval = interval
            self.count = count
        }
    }
}
