extension TestServer {
    /// The server's behavior while it sends one response: its framing, its pace and its faults.
    ///
    /// The response itself comes from the executor that is served.
    public struct Behavior: Sendable {
        /// The framing, which marks the end of the body.
        public var framing: Framing

        /// The fault to inject; nil for none.
        public var fault: Fault?

        /// The pace at which bytes are sent; nil for no pauses.
        public var pace: Pace?

        /// The statuses of the interim responses (1xx) before the response.
        public var interim: [HTTPStatus]

        /// Whether a request with `Expect: 100-continue` receives 100 (Continue) before its body is read.
        public var sendsContinue: Bool

        /// The response to a request with a body that is sent before the body is read; nil for none.
        ///
        /// The executor that is served is not called for such a request.
        package var earlyResponse: EarlyResponse?

        /// GOAWAY, which is sent when the head of the request has arrived; nil for none.
        ///
        /// It has no effect in HTTP/1.1.
        package var goAway: GoAway?

        /// A function that returns the value of the Date field; if it returns nil, the field is not sent, as by a
        /// server without a clock (RFC 9110 §6.6.1).
        ///
        /// The default is the current date. A response with a Date field keeps it. For a client that uses a clock of
        /// the test, such as one with a cache, return the date of that clock.
        public var date: @Sendable () -> Date?

        /// Creates a behavior from its parts.
        public init(
            framing: Framing = .automatic, fault: Fault? = nil, pace: Pace? = nil, interim: [HTTPStatus] = [],
            sendsContinue: Bool = true, date: @escaping @Sendable () -> Date? = { Date() }
        ) {
            self.date = date
            self.framing = framing
            self.fault = fault
            self.pace = pace
            self.interim = interim
            self.sendsContinue = sendsContinue
        }

        /// A correct response that is sent immediately.
        public static let standard = Behavior()

        /// Returns a behavior with `fault`; nil is a correct response.
        public static func failing(_ fault: Fault?) -> Behavior { Behavior(fault: fault) }

        /// A response that is sent when the head of a request with a body has arrived.
        ///
        /// Its body is the text `early`; a redirect has the Location `/`.
        package struct EarlyResponse: Hashable, Sendable {
            package var status: HTTPStatus
            /// Whether the response contains `Connection: close`; the connection then ends after the request.
            ///
            /// In HTTP/2, GOAWAY precedes the response.
            package var announcesClose: Bool
            /// The server's action after the response.
            package var next: Continuation

            package init(_ status: HTTPStatus, announcesClose: Bool = false, next: Continuation = .reads) {
                self.status = status
                self.announcesClose = announcesClose
                self.next = next
            }

            /// The server's action after an early response.
            package enum Continuation: Hashable, Sendable, CaseIterable {
                /// It reads the body to its end.
                case reads
                /// It reads nothing until the client closes the connection or the server stops.
                case stopsReading
                case resets
            }
        }

        /// GOAWAY (RFC 9113 §6.8).
        package struct GoAway: Sendable {
            /// The last stream whose request is processed; nil for the stream of the request.
            ///
            /// Requests of later streams are neither executed nor recorded. The connection is closed when the other
            /// streams have ended, unless this is 2^31 - 1.
            package var lastStream: UInt32?
            /// The error code (RFC 9113 §7).
            package var code: UInt32
            /// The additional debug data.
            package var debugText: String

            package init(lastStream: UInt32? = nil, code: UInt32 = 0, debugText: String = "") {
                self.lastStream = lastStream
                self.code = code
                self.debugText = debugText
            }
        }

        /// The framing of a body, which marks its end (RFC 9112 §6); in HTTP/2, the stream ends with it.
        @nonexhaustive
        public enum Framing: Hashable, Sendable {
            /// Content-Length if the length is known and there are no trailers, chunks otherwise.
            ///
            /// An HTTP/1.0 client receives Content-Length if the length is known, and the end of the connection
            /// otherwise.
            case automatic
            /// Chunks of these sizes, with the last size repeated; a size below 1 counts as 1.
            ///
            /// In HTTP/2, DATA frames of these sizes, at most 16,384, without Content-Length.
            case chunked(sizes: [Int])
            /// The end of the connection; trailers are lost.
            ///
            /// In HTTP/2, no Content-Length is sent, and GOAWAY ends the connection after the response.
            case untilClose
        }

        /// The pace at which bytes are sent; in HTTP/2, bytes of the body only.
        public struct Pace: Hashable, Sendable {
            /// The number of bytes that are sent at a time; a value below 1 counts as 1.
            public var bytes: Int
            /// The pause between them.
            public var interval: Duration

            /// Returns a pace of `bytes` at a time with pauses of `interval` between them.
            public static func drip(_ bytes: Int, every interval: Duration) -> Pace {
                Pace(bytes: max(1, bytes), interval: interval)
            }
        }
    }
}
