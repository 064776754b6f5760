extension TestServer {
    /// What the server takes of a request, and of all clients together.
    ///
    /// Every limit has a value that usual tests do not reach; together they bound what clients can make the server hold.
    /// Negative limits count as 0.
    public struct Limits: Hashable, Sendable {
        /// Bytes of a body, 64 MiB; a longer one is answered with 413.
        public var bodyBytes: Int
        /// Bytes of a head, 256 KiB; a longer one is answered with 431.
        public var headBytes: Int
        /// The methods that are served, nil for all but CONNECT; others are answered with 405.
        public var methods: Set<HTTPMethod>?
        /// Bytes of all bodies that are being received or answered at one time, 128 MiB; beyond them a request is answered
        /// with 503.
        public var totalBodyBytes = 128 << 20
        /// Connections served at one time, 4,096, at least 1; more wait in the system's queue until one ends.
        ///
        /// Each has a thread of its own.
        public var connections = 4_096
        /// Bytes read and discarded behind a request that was refused, 1 MiB, so that a client which sends without reading
        /// receives the response.
        public var drainedBytes = 1 << 20
        /// How long a connection stays open behind a request that was refused while its client does not leave; 2 s.
        public var drainTime = Duration.seconds(2)
        /// How much of the requests is kept.
        public var recording: Recording

        /// Limits of the values given; the others are properties.
        public init(
            bodyBytes: Int = 64 << 20, headBytes: Int = 256 << 10, methods: Set<HTTPMethod>? = nil,
            recording: Recording = Recording()
        ) {
            self.bodyBytes = bodyBytes
            self.headBytes = headBytes
            self.methods = methods
            self.recording = recording
        }
    }

    /// How much of the requests received a server keeps for ``TestServer/exchanges``.
    ///
    /// Beyond a limit the oldest requests are removed, a tenth of the limit at a time; ``Record/requestCount`` counts them
    /// all. Negative limits count as 0.
    public struct Recording: Hashable, Sendable {
        /// Requests, 10,000.
        public var requests: Int
        /// Bytes of one request's body, 16 MiB; the remainder of a longer one is not kept, and ``Exchange/isBodyCut`` is
        /// true.
        ///
        /// The executor receives the whole body.
        public var bodyBytes: Int
        /// Bytes of heads, bodies and trailers of all requests, 64 MiB; the newest request is kept in any case.
        public var totalBytes: Int

        /// A recording of the limits given.
        public init(requests: Int = 10_000, bodyBytes: Int = 16 << 20, totalBytes: Int = 64 << 20) {
            self.requests = requests
            self.bodyBytes = bodyBytes
            self.totalBytes = totalBytes
        }

        /// Nothing is kept; requests are counted.
        public static let none = Recording(requests: 0, bodyBytes: 0, totalBytes: 0)
    }
}
