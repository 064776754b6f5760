/// One response as an executor gives it: whatever its status, nothing validated, nothing decoded.
public struct RawResponse: Sendable {
    /// Status, header and target.
    public var head: ResponseHead

    /// The body, in the form the request's ``Delivery`` asked for.
    public var body: ResponseBody

    /// The fields after the body (RFC 9110 §6.5); for a stream see ``ResponseStream/trailers``.
    public var trailers: Header

    /// What the exchange took.
    public var metrics: Metrics

    /// A response of the parts given.
    public init(head: ResponseHead, body: ResponseBody, trailers: Header = .empty, metrics: Metrics = Metrics()) {
        self.head = head
        self.body = body
        self.trailers = trailers
        self.metrics = metrics
    }

    /// What one exchange took.
    public struct Metrics: Hashable, Sendable {
        /// How often the request was sent: 1, or 2 when a stale connection was replaced by a fresh one.
        public var sendings: Int

        /// Whether the connection had served a request before.
        public var reusedConnection: Bool

        /// Whether the response said HTTP/1.0; false where the executor cannot know, as over URLSession.
        ///
        /// A call that is redirected within its origin then sends the length of a body, not chunks (RFC 9112 §6.1).
        public var isHTTP10: Bool = false

        /// From the start until the connection stood; nil when one was reused.
        public var connecting: Duration?

        /// From the start until the head of the response.
        public var untilHead: Duration?

        /// Bytes of the body before a content coding was undone; nil when none was.
        public var encodedBodyLength: Int?

        /// The Content-Encoding that was undone; nil when none was.
        public var contentEncoding: String?

        /// Metrics of one sending over a fresh connection, with nothing measured.
        public init(sendings: Int = 1, reusedConnection: Bool = false) {
            self.sendings = sendings
            self.reusedConnection = reusedConnection
        }
    }
}
