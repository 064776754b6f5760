import Requests

/// Recorded exchanges in the format HAR 1.2, which browsers write and read.
///
/// ```swift
/// let recorder = HARRecorder()
/// let executor = SocketExecutor().intercepted(by: recorder)
/// let github = Client(GitHub.production, executor: executor)
/// …
/// try recorder.archive.write(to: "session.har")
/// let mock = MockExecutor(replaying: try HARArchive(contentsOf: "session.har"))
/// ```
public struct HARArchive: Hashable, Sendable {
    /// The maximum size of an archive that is read, 256 MiB.
    package static let maximumBytes = 256 << 20

    /// The exchanges, in the order in which they began.
    public var entries: [Entry]

    /// The entries of a file that were not read, each with its path and the reason; empty for a recording.
    public internal(set) var skippedEntries: [HARError] = []

    /// Creates an archive of `entries`.
    public init(entries: [Entry] = []) {
        self.entries = entries
    }

    /// An exchange.
    public struct Entry: Hashable, Sendable {
        /// The date on which the exchange began.
        public var startedAt: Date
        /// The method.
        public var method: HTTPMethod
        /// The URL, without fragment and userinfo.
        public var url: String
        /// The name of the version of HTTP, such as `HTTP/2`; nil if it is unknown.
        ///
        /// Other programs name versions differently, such as `h3` or `http/2.0`.
        public var httpVersion: String?
        /// The fields of the request.
        public var requestHeader: Header
        /// The body of the request; nil for none, and for one that was not recorded.
        public var requestBody: Content?
        /// The status; nil for an exchange without a response.
        public var status: HTTPStatus?
        /// The fields of the response.
        public var responseHeader: Header
        /// The body of the response, without content coding.
        public var responseBody: Content
        /// The durations of the stages.
        public var timings: Timings
        /// The error of an exchange that failed, and remarks; nil for none.
        public var comment: String?

        /// Creates an entry from its parts.
        public init(
            startedAt: Date, method: HTTPMethod, url: String, httpVersion: String? = nil,
            requestHeader: Header = .empty,
            requestBody: Content? = nil, status: HTTPStatus?, responseHeader: Header = .empty,
            responseBody: Content = Content(), timings: Timings = Timings(), comment: String? = nil
        ) {
            self.startedAt = startedAt
            self.method = method
            self.url = url
            self.httpVersion = httpVersion
            self.requestHeader = requestHeader
            self.requestBody = requestBody
            self.status = status
            self.responseHeader = responseHeader
            self.responseBody = responseBody
            self.timings = timings
            self.comment = comment
        }
    }

    /// A body.
    public struct Content: Hashable, Sendable {
        /// The media type as a field value; empty if it is unknown.
        public var mediaType: String
        /// The bytes; nil if they were not recorded.
        public var data: Data?
        /// The length in bytes, also if the body was not recorded.
        ///
        /// For an unrecorded body with a content coding, it is the number of coded bytes that were read.
        public var size: Int

        /// Creates a body with these bytes.
        public init(mediaType: String = "", data: Data? = Data()) {
            self.mediaType = mediaType
            self.data = data
            size = data?.count ?? 0
        }
    }

    /// The durations of the stages of an exchange; nil for a stage that does not apply.
    ///
    /// A negative duration counts as zero, and one of more than a year as a year.
    public struct Timings: Hashable, Sendable {
        /// The time in a queue.
        public var blocked: Duration?
        /// The time to look up the host.
        public var lookup: Duration?
        /// The time to connect, TLS included.
        public var connect: Duration?
        /// The time of the TLS handshake, which is part of ``connect``.
        public var tls: Duration?
        /// The time to send the request.
        public var send = Duration.zero
        /// The time from the end of the request to the first byte of the response.
        public var wait = Duration.zero
        /// The time to receive the response.
        public var receive = Duration.zero

        /// Creates timings of zero.
        public init() {}

        /// The sum of the stages.
        public var total: Duration {
            [blocked, lookup, connect, send, wait, receive].reduce(.zero) { $0 + ($1 ?? .zero).counted }
        }
    }
}

extension Duration {
    /// The duration, limited to between zero and one year, so that sums and milliseconds can be represented.
    var counted: Duration { min(max(self, .zero), .seconds(365 * 24 * 3_600)) }

    /// The duration in milliseconds, rounded to microseconds.
    var milliseconds: Double {
        let (seconds, attoseconds) = components
        return (Double(seconds) * 1e6 + (Double(attoseconds) / 1e12).rounded()) / 1e3
    }
}

/// The error of a HAR file that cannot be read or written, or of an entry that is left out.
public struct HARError: Error, Hashable, CustomStringConvertible {
    /// The problem of an archive.
    @nonexhaustive
    public enum Problem: Hashable, Sendable {
        /// An entry cannot be replayed, such as one for a data URL or a CONNECT.
        case unsupported
        /// The file is not JSON.
        case notJSON
        /// A member is missing.
        case missingMember
        /// A member has a value of the wrong type, or one that is not permitted.
        case invalidMember
        /// The file has more than 256 MiB.
        case tooLarge
        /// The file cannot be read or written.
        case inaccessible
        /// The file exists, and is not replaced: a recording could be lost.
        case fileExists
    }

    /// The problem.
    public let problem: Problem
    /// The path of the member, such as `log.entries[2].request.url`; empty if no member is the cause.
    public let path: String
    /// The problem in one sentence.
    public let description: String

    init(_ problem: Problem, at path: String = "", _ description: String) {
        self.problem = problem
        self.path = path
        self.description = path.isEmpty ? description : "\(path): \(description)"
    }
}
