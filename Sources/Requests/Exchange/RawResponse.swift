/// A response as an executor returns it: with any status, neither validated nor decoded.
public struct RawResponse: Sendable {
    /// The status, the header and the target.
    public var head: ResponseHead

    /// The body, in the form that the request's ``PreparedRequest/delivery`` specifies.
    public var body: ResponseBody

    /// The trailer fields (RFC 9110 §6.5); for a streamed body, see ``ResponseStream/trailers``.
    public var trailers: Header

    /// The measurements of the exchange.
    public var metrics: Metrics

    /// Creates a response from its parts.
    public init(head: ResponseHead, body: ResponseBody, trailers: Header = .empty, metrics: Metrics = Metrics()) {
        self.head = head
        self.body = body
        self.trailers = trailers
        self.metrics = metrics
    }

    /// The status of the head.
    public var status: HTTPStatus {
        get { head.status }
        set { head.status = newValue }
    }

    /// The header of the head, which describes the body as it is delivered.
    public var header: Header {
        get { head.header }
        set { head.header = newValue }
    }

    /// The measurements of one exchange.
    public struct Metrics: Hashable, Sendable {
        /// The number of transmissions of the request: 1, or 2 when a stale connection was replaced.
        public var transmissions: Int

        /// Whether the connection had served an earlier request.
        public var isReusedConnection: Bool

        /// Whether the response is an HTTP/1.0 message; false if the executor cannot determine it, as over URLSession.
        ///
        /// If such a response redirects the call within its origin, the body is sent with its length, not chunked
        /// (RFC 9112 §6.1).
        public var isHTTP10: Bool = false

        /// The time from the start until the connection was established; nil for a reused connection.
        public var timeToConnect: Duration?

        /// The time from the start until the head of the response was received.
        public var timeToResponseHead: Duration?

        /// The length of the body in bytes before content decoding; nil if it was not decoded or the length is unknown.
        public var encodedBodyLength: Int?

        /// The value of Content-Encoding before content decoding; nil if the body was not decoded.
        public var contentEncoding: String?

        /// The reason why a resumed download started over; nil if it continued its partial file or had none.
        public var restartReason: String?

        /// Creates metrics without durations.
        public init(transmissions: Int = 1, isReusedConnection: Bool = false) {
            self.transmissions = transmissions
            self.isReusedConnection = isReusedConnection
        }
    }
}
