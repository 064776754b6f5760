import Requests

extension Observing {
    /// The course of a request, from its beginning to its end.
    ///
    /// A request with a streamed body ends when the body is read to its end, fails, or is released before.
    public struct Report: Sendable {
        /// The result of a request.
        @nonexhaustive
        public enum Outcome: Sendable {
            /// The response is complete, whatever its status is.
            case complete
            /// The streamed body was released before its end.
            case abandoned
            /// The request or the streamed body failed, or was cancelled.
            case failed(RequestError)
        }

        /// The request as it was passed on, with the fields of the observers.
        public var request: PreparedRequest

        /// The request as it was sent, with the fields of all middleware behind this one; nil if nothing was sent.
        public var sentRequest: PreparedRequest?

        /// The secret fields that the executor has added to the request.
        package var secretsOfExecutor: [Field] = []

        /// The position of the middleware in the chain.
        public var seat: Seat

        /// The number of requests that the call sent before this one; see ``Observation/resendCount``.
        public var resendCount: Int

        /// The date at which the request began.
        public var start: Date

        /// The time from the beginning to the end, the body included.
        public var duration: Duration

        /// The result.
        public var outcome: Outcome

        /// The head of the response; nil if it was not received.
        public var response: ResponseHead?

        /// Whether the body of the response is, or was, streamed.
        public var isStreamed = false

        /// The measurements of the exchange; nil if no response was received.
        ///
        /// If a streamed body did not reach its end, they lack
        /// ``/Requests/RawResponse/Metrics-swift.struct/timeToEnd``.
        public var metrics: RawResponse.Metrics?

        /// The trailer fields of the response.
        public var trailers = Header.empty

        /// The number of bytes of the request body that were sent; nil if it is unknown.
        public var requestBodyLength: Int?

        /// The number of bytes of the response body that were received; nil if it is unknown.
        ///
        /// They are decoded if the middleware is outside the one that decodes content; see
        /// ``/Requests/RawResponse/Metrics-swift.struct/encodedBodyLength``.
        public var responseBodyLength: Int?

        /// The beginning of the response body, at most ``Observation/bodyLimit`` bytes, also if it was not collected.
        public var body = Data()

        /// Creates a report, as for a test of an observer.
        public init(
            of request: PreparedRequest, at seat: Seat, start: Date, duration: Duration, outcome: Outcome = .complete,
            response: ResponseHead? = nil, resendCount: Int = 0
        ) {
            self.request = request.outsideOfCall
            self.seat = seat
            self.start = start
            self.duration = duration
            self.outcome = outcome
            self.response = response
            self.resendCount = resendCount
        }

        /// The error of the request; nil if it has none.
        public var error: RequestError? {
            if case .failed(let error) = outcome { error } else { nil }
        }

        /// The durations of the stages; nil if no response was received.
        public var phases: Phases? { metrics.map(Phases.init) }
    }

    /// The durations of the stages of an exchange, where the executor measures them.
    public struct Phases: Hashable, Sendable {
        /// The time for resolving the host; nil for a reused connection.
        public var lookup: Duration?
        /// The time for connecting after the host was resolved; nil for a reused connection.
        public var connecting: Duration?
        /// The time for the TLS handshake and the tunnel of a proxy; nil for a reused connection and without either.
        public var securing: Duration?
        /// The time from the established connection until the request was sent; for a reused connection, from the
        /// start.
        public var sending: Duration?
        /// The time from the sent request to the first byte of the response.
        public var waiting: Duration?
        /// The time from the first to the last byte of the response.
        public var receiving: Duration?

        /// Creates the durations of `metrics`.
        package init(_ metrics: RawResponse.Metrics) {
            lookup = metrics.timeToLookup
            connecting = Self.time(from: metrics.timeToLookup ?? .zero, to: metrics.timeToConnect)
            securing = Self.time(from: metrics.timeToConnect, to: metrics.timeToTLS)
            let ready = metrics.timeToTLS ?? metrics.timeToConnect ?? .zero
            sending = Self.time(from: ready, to: metrics.timeToRequestSent)
            waiting = Self.time(from: metrics.timeToRequestSent ?? ready, to: metrics.timeToFirstByte)
            receiving = Self.time(from: metrics.timeToFirstByte, to: metrics.timeToEnd)
        }

        private static func time(from start: Duration?, to end: Duration?) -> Duration? {
            guard let start, let end else { return nil }
            // An early response can precede the end of the request.
            return max(.zero, end - start)
        }
    }
}

extension Observing.Report: CustomStringConvertible, CustomReflectable {
    /// The request, and its status or its error, without secrets.
    public var description: String {
        let redaction = ExchangeRedaction(
            request, sent: sentRequest, secretsOfExecutor: secretsOfExecutor, response: response)
        if let error { return redaction.text("\(error)") }
        let status = response.map { ": \($0.status)" } ?? ""
        return redaction.text("\(request)\(status)")
    }

    /// The mirror that `dump` prints: the description and the duration.
    public var customMirror: Mirror { Mirror(self, children: ["report": description, "duration": duration]) }
}
