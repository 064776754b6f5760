import RequestsHTTP1
package import RequestsPOSIX

extension SocketExecutor {
    /// The limits of an executor.
    public struct Configuration: Sendable {
        /// Connections to one origin at a time, those being made included; 64, at least 1.
        ///
        /// Calls beyond that wait in the order of their arrival, under the request's connect limit. A blocking call opens
        /// one connection more when a task that holds a connection cannot run, because threads of its executor are
        /// blocked; the same is true of ``connections``.
        public var connectionsPerOrigin = 64

        /// Connections in all, those being made included; 256, at least 1.
        ///
        /// When they are used up, an idle connection to another origin makes room; otherwise calls wait.
        public var connections = 256

        /// Idle connections kept for one origin; 8, and 0 keeps none.
        public var idleConnectionsPerOrigin = 8

        /// How long a connection may be idle before it is closed; 30 s.
        ///
        /// A server that announces less (`Keep-Alive: timeout=5`) is believed.
        public var idleTimeout: Duration = .seconds(30)

        /// Bytes of a response's status line and header, those of interim responses before it included; 256 KiB.
        ///
        /// More is ``RequestError/Reason/tooLarge(limit:)``.
        public var headLimit = 256 << 10

        /// Fields in a response's header or trailers; 2,000.
        public var fieldLimit = 2_000

        /// Bytes of the trailers after a chunked body; 16 KiB.
        public var trailerLimit = 16 << 10

        /// Interim (1xx) responses before the final one; 20.
        public var interimResponseLimit = 20

        /// The proxy that requests are sent to; none.
        ///
        /// Without effect on an executor for a unix socket. Proxies are never taken from the environment.
        public var proxy: Proxy?

        /// How long a connection may be under way before the host's next address is tried beside it (RFC 8305 §5).
        package var attemptDelay: Duration = .milliseconds(250)

        /// Finds the addresses of hosts.
        package var resolver = Resolver.shared

        /// How files of requests are sent; nil chooses by where the peer is.
        package var fileSending: FileSending?

        /// Faults that a test plants in every connection.
        package var faults: TransferFaults?

        /// The limits named above.
        public init() {}

        var wireLimits: WireLimits {
            var limits = WireLimits()
            limits.headBytes = headLimit
            limits.lineBytes = min(limits.lineBytes, headLimit)
            limits.startLineBytes = min(limits.startLineBytes, headLimit)
            limits.fieldCount = fieldLimit
            limits.trailerBytes = trailerLimit
            limits.interimResponses = interimResponseLimit
            return limits
        }
    }
}
