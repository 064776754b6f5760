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

    /// The request as the last executor received it, with the fields of all middleware; nil if nothing was sent, as for
    /// a cached response.
    ///
    /// An executor sets it. Otherwise the chain of middleware or the call does: around an executor that does not set
    /// it, and for middleware that returns a response of its own.
    public var request: PreparedRequest? {
        get { sentRequest }
        set { sentRequest = newValue?.outsideOfCall }
    }

    private var sentRequest: PreparedRequest?

    /// The secret fields that the executor has added itself, such as the credentials for a proxy.
    ///
    /// The server may repeat them, so texts about the response do not contain them.
    package var secretsOfExecutor: [Field] = []

    /// Creates a response from its parts.
    ///
    /// - Parameters:
    ///   - head: The status, the header and the target.
    ///   - body: The body.
    ///   - trailers: The trailer fields.
    ///   - metrics: The measurements of the exchange.
    ///   - request: The request as it was sent; nil if it is unknown, or nothing was sent.
    public init(
        head: ResponseHead, body: ResponseBody, trailers: Header = .empty, metrics: Metrics = Metrics(),
        request: PreparedRequest? = nil
    ) {
        self.head = head
        self.body = body
        self.trailers = trailers
        self.metrics = metrics
        sentRequest = request?.outsideOfCall
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
        /// A version of HTTP; the raw value is its name, such as `HTTP/1.1`.
        @nonexhaustive
        public enum HTTPVersion: String, Hashable, Sendable {
            /// HTTP/1.0.
            case http10 = "HTTP/1.0"
            /// HTTP/1.1 (RFC 9112).
            case http11 = "HTTP/1.1"
            /// HTTP/2 (RFC 9113).
            case http2 = "HTTP/2"
        }

        /// The number of times the request was transmitted: 1, 2 if a stale connection was replaced, or more over
        /// HTTP/2, if the server has declared that it did not act on the request.
        public var transmissions: Int

        /// Whether the connection had served an earlier request.
        public var isReusedConnection: Bool

        /// The version of HTTP of the response; nil if the executor cannot determine it, as over URLSession.
        ///
        /// After a response with HTTP/1.0, the socket executor sends the server no chunks: the body of each further
        /// request, repetition and redirect has its length (RFC 9112 §6.1).
        public var httpVersion: HTTPVersion?

        /// Whether the response ended the exchange before the whole request was sent.
        ///
        /// The server has received at most a part of the request body. It may have responded with a status from 300 on,
        /// with a final response instead of 100 (Continue), or with a response that ends its connection; any other
        /// response completes only when the whole body was sent. For a streamed body, see ``ResponseStream/metrics``.
        ///
        /// It is false if the executor cannot determine it, as over URLSession.
        public var isRequestBodyIncomplete: Bool = false

        /// The time from the start until the addresses of the host were known.
        ///
        /// It is nil for a reused connection, and if the executor does not measure it, as over URLSession.
        public var timeToLookup: Duration? {
            get { stamps.lookup.time }
            set { stamps.lookup = Stamp(newValue) }
        }

        /// The time from the start until the connection was established; nil for a reused connection.
        public var timeToConnect: Duration? {
            get { stamps.connected.time }
            set { stamps.connected = Stamp(newValue) }
        }

        /// The time from the start until the TLS handshake was complete.
        ///
        /// It is nil for a reused connection, without TLS, and if the executor does not measure it, as over URLSession.
        public var timeToTLS: Duration? {
            get { stamps.secured.time }
            set { stamps.secured = Stamp(newValue) }
        }

        /// The time from the start until the connection had accepted the whole request.
        ///
        /// It is nil if the request was not sent completely, and if the executor does not measure it, as over
        /// URLSession. A response may arrive before this time.
        public var timeToRequestSent: Duration? {
            get { stamps.requestSent.time }
            set { stamps.requestSent = Stamp(newValue) }
        }

        /// The time from the start until the first byte of a response was received, interim responses included.
        ///
        /// It is nil if the executor does not measure it, as over URLSession.
        public var timeToFirstByte: Duration? {
            get { stamps.firstByte.time }
            set { stamps.firstByte = Stamp(newValue) }
        }

        /// The time from the start until the head of the response was received.
        public var timeToResponseHead: Duration? {
            get { stamps.head.time }
            set { stamps.head = Stamp(newValue) }
        }

        /// The time from the start until the last byte of the response was received.
        ///
        /// It is nil for a streamed body, whose ``ResponseStream/metrics`` are complete at its end, and if the executor
        /// does not measure it, as over URLSession.
        public var timeToEnd: Duration? {
            get { stamps.end.time }
            set { stamps.end = Stamp(newValue) }
        }

        /// The times at which the exchange reached its stages.
        package var stamps = Stamps()

        /// The status of the request in a cache; nil without a cache.
        public var cacheStatus: CacheStatus?

        /// The result of the connection's TLS handshake, without certificates.
        ///
        /// It is nil without TLS, and if the executor does not measure it, as over URLSession.
        public var tls: TLSConfiguration.Negotiation?

        /// Measurements that few responses have.
        ///
        /// They share one reference, which is nil for most responses, so that passing on a response is fast (decision
        /// 0052).
        private var extras: Extras?

        private indirect enum Extras: Hashable, Sendable {
            case values(ExtraValues)
        }

        private struct ExtraValues: Hashable, Sendable {
            var encodedBodyLength: Int?
            var contentEncoding: String?
            var restartReason: String?
            var retries: [Retry] = []
            var retryRefusal: Retry.Refusal?
        }

        private var extraValues: ExtraValues {
            get { if case .values(let values)? = extras { values } else { ExtraValues() } }
            set { extras = newValue == ExtraValues() ? nil : .values(newValue) }
        }

        /// The length of the body in bytes before content decoding; nil if it was not decoded or the length is unknown.
        public var encodedBodyLength: Int? {
            get { extras == nil ? nil : extraValues.encodedBodyLength }
            set { extraValues.encodedBodyLength = newValue }
        }

        /// The value of Content-Encoding before content decoding; nil if the body was not decoded.
        public var contentEncoding: String? {
            get { extras == nil ? nil : extraValues.contentEncoding }
            set { extraValues.contentEncoding = newValue }
        }

        /// The reason why a resumed download started over; nil if it continued its partial file or had none.
        public var restartReason: String? {
            get { extras == nil ? nil : extraValues.restartReason }
            set { extraValues.restartReason = newValue }
        }

        /// The repetitions of the request by middleware, in order; empty if it was sent once.
        ///
        /// Retries, hedging and authenticators record them. All other measurements describe the last attempt.
        public var retries: [Retry] {
            get { extras == nil ? [] : extraValues.retries }
            set { extraValues.retries = newValue }
        }

        /// The reason why the request was not repeated after a response with an error status.
        ///
        /// It is nil for other responses, and without a retry policy.
        public var retryRefusal: Retry.Refusal? {
            get { extras == nil ? nil : extraValues.retryRefusal }
            set { extraValues.retryRefusal = newValue }
        }

        /// Adds the measurements that middleware has recorded in `other`, the metrics of the same exchange.
        package mutating func addRecords(of other: Metrics) {
            cacheStatus = cacheStatus ?? other.cacheStatus
            encodedBodyLength = encodedBodyLength ?? other.encodedBodyLength
            contentEncoding = contentEncoding ?? other.contentEncoding
            restartReason = restartReason ?? other.restartReason
            retries = other.retries
            retryRefusal = other.retryRefusal
        }

        /// The number of ``retries``, determined without copying them.
        var retryCount: Int { extras == nil ? 0 : extraValues.retries.count }

        /// Creates metrics without durations.
        public init(transmissions: Int = 1, isReusedConnection: Bool = false) {
            self.transmissions = transmissions
            self.isReusedConnection = isReusedConnection
        }
    }
}

extension RawResponse {
    /// Reads a short streamed body to its end, so that the repeated request can use its connection.
    package func skipShortBody() async {
        guard case .stream(let stream) = body, let length = stream.length, length <= 16 << 10 else { return }
        _ = try? await stream.collect(limit: 16 << 10)
    }
}

extension RawResponse.Metrics {
    /// The times at which an exchange reached its stages; they take half the space of optional durations.
    package struct Stamps: Hashable, Sendable {
        package var lookup = Stamp()
        package var connected = Stamp()
        package var secured = Stamp()
        package var requestSent = Stamp()
        package var firstByte = Stamp()
        package var head = Stamp()
        package var end = Stamp()

        package init() {}
    }

    /// A time since the start of an exchange, or none.
    package struct Stamp: Hashable, Sendable {
        private var nanoseconds = Int64.min

        package init() {}

        /// Creates the stamp of `nanoseconds` after the start.
        package init(nanoseconds: Int64) {
            self.nanoseconds = nanoseconds
        }

        /// Creates a stamp from `time`, which is limited to 292 years.
        init(_ time: Duration?) {
            guard let time else { return }
            let (seconds, attoseconds) = time.components
            let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
            nanoseconds = overflow || carry ? .max : sum
        }

        /// Whether the exchange never reached this stage.
        package var isEmpty: Bool { nanoseconds == .min }

        /// The time; nil if the exchange never reached this stage.
        package var time: Duration? { isEmpty ? nil : .nanoseconds(nanoseconds) }
    }
}
