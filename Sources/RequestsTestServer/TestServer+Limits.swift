extension TestServer {
    /// The limits of requests, and of all clients together.
    ///
    /// Every limit has a default that usual tests do not reach. Together they bound the memory that clients can occupy.
    /// Negative limits count as 0.
    public struct Limits: Hashable, Sendable {
        /// The maximum length of a body in bytes, 64 MiB by default; a longer body is refused with the status 413.
        public var bodyBytes: Int
        /// The maximum length of a head in bytes, 256 KiB by default; a longer head is refused with the status 431.
        ///
        /// A request line of more than 16 KiB is refused with the status 414. In HTTP/2, the limit counts as
        /// SETTINGS_MAX_HEADER_LIST_SIZE does, and a longer head resets its stream.
        public var headBytes: Int
        /// The methods that are served, nil for all but CONNECT; other methods are refused with the status 405.
        public var methods: Set<HTTPMethod>?
        /// The maximum total length of all bodies in progress in bytes, 128 MiB by default; a request beyond it is
        /// refused with the status 503.
        package var totalBodyBytes = 128 << 20
        /// The maximum number of connections at one time, at least 1; the default is 4,096.
        ///
        /// Each connection with a request in progress may occupy a thread. Further connections wait in the system's
        /// queue until one ends.
        public var connections = 4_096
        /// The maximum number of exchanges over HTTP/2 at one time, on all connections; the default is 4,096.
        ///
        /// Each can have its own thread, and counts until its handler has returned, even after a reset. Further streams
        /// are refused with REFUSED_STREAM, so that their requests can be sent again.
        package var streams = 4_096
        /// The number of bytes that are read and discarded after a refused request; the default is 1 MiB.
        ///
        /// A client that sends without reading then still receives the response.
        package var drainedBytes = 1 << 20
        /// The time for which a connection stays open after a refused request if the client does not close it; the
        /// default is 2 s.
        package var drainTime = Duration.seconds(2)
        /// The maximum time from the first byte of a head, or from the beginning of a TLS handshake, to its end; nil,
        /// the default, for no limit.
        ///
        /// A later head is refused with the status 408. In HTTP/2, the limit is for the preface and SETTINGS of the
        /// client, and the connection is closed.
        public var headTime: Duration?
        /// The maximum time from the end of a head to the end of its body; nil, the default, for no limit.
        ///
        /// A later body is refused with the status 408; in HTTP/2, the connection serves other streams.
        public var bodyTime: Duration?
        /// The maximum time for which a connection waits, for the next request or for the client to read a response.
        ///
        /// The default is nil: no limit.
        ///
        /// The connection is then closed, with a delay of at most a quarter of ``idleTime`` or ``headTime``, whichever
        /// is shorter.
        public var idleTime: Duration?
        /// The limits of the requests that are recorded.
        public var recording: Recording

        /// Creates limits with these values, and with defaults for all other properties.
        public init(
            bodyBytes: Int = 64 << 20, headBytes: Int = 256 << 10, methods: Set<HTTPMethod>? = nil,
            recording: Recording = Recording()
        ) {
            self.bodyBytes = bodyBytes
            self.headBytes = headBytes
            self.methods = methods
            self.recording = recording
        }

        /// Limits for clients that are not trusted.
        ///
        /// Bodies have at most 5 MiB and heads 256 KiB. The methods of RFC 9110 except CONNECT, and PATCH, are served.
        /// A head may take 10 s, a body 60 s, and the time without a request 30 s.
        public static let strict: Limits = {
            var limits = Limits(
                bodyBytes: 5 << 20, methods: [.get, .head, .post, .put, .patch, .delete, .options, .trace])
            limits.headTime = .seconds(10)
            limits.bodyTime = .seconds(60)
            limits.idleTime = .seconds(30)
            return limits
        }()
    }

    /// Limits on the requests that a server keeps for ``TestServer/exchanges``.
    ///
    /// Beyond a limit, the oldest requests are removed, a tenth of the limit at a time; ``Record/requestCount`` counts
    /// all requests. Negative limits count as 0.
    public struct Recording: Hashable, Sendable {
        /// The maximum number of requests; the default is 10,000.
        public var requests: Int
        /// The maximum length of one recorded body in bytes; the default is 16 MiB.
        ///
        /// The remainder of a longer body is not kept, and ``Exchange/isBodyCut`` is true. The executor receives the
        /// whole body.
        public var bodyBytes: Int
        /// The maximum total size of heads, bodies and trailers in bytes; the default is 64 MiB.
        ///
        /// The newest request is always kept, unless ``requests`` is 0.
        public var totalBytes: Int

        /// Creates a recording with these limits.
        public init(requests: Int = 10_000, bodyBytes: Int = 16 << 20, totalBytes: Int = 64 << 20) {
            self.requests = requests
            self.bodyBytes = bodyBytes
            self.totalBytes = totalBytes
        }

        /// A recording that keeps nothing; requests are counted.
        public static let none = Recording(requests: 0, bodyBytes: 0, totalBytes: 0)
    }
}
