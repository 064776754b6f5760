import Requests
import Synchronization

/// An observer that writes requests and responses to a log, without secrets.
///
/// ```swift
/// let logging = RequestLogging(responses: .headers) { entry in
///     logger.info("\(entry)")
/// }
/// let executor = SocketExecutor().retrying().observing(.calls, by: logging)
/// ```
///
/// By default, one line is written for a request and one for its response:
///
/// ```
/// [1] GET https://api.example.com/users?token=<redacted>
/// [1] 200 OK to GET https://api.example.com/users?token=<redacted>, 1.2 ms
/// ```
///
/// ``trace(bodies:redaction:sink:)`` writes the messages line by line, as curl does. An entry is written when the
/// request begins, when the head of a streamed response arrives, and when the request ends.
///
/// The values of the fields, query items, form fields and JSON members that `redaction` names are replaced. The secrets
/// of the request are also replaced wherever else they occur, in each of the encodings in common use. Bodies are
/// written only if ``RequestDetail/everything`` or ``ResponseDetail/everything`` requests it: at most ``bodyLimit``
/// bytes, and only of text in UTF-8 without a content coding. The bodies of exchanges with a token server are never
/// written, nor are multipart bodies.
///
/// Text cannot break a line: control characters and similar ones are escaped as `\n` or `\u{1B}`, and a backslash is
/// doubled.
public struct RequestLogging: Observing.Observer {
    /// The parts of a request that are written.
    @nonexhaustive
    public enum RequestDetail: Hashable, Sendable {
        /// Logs nothing.
        case nothing
        /// The method and the URL.
        case url
        /// The method, the URL and the header.
        case headers
        /// The method, the URL, the header and the body.
        case everything
    }

    /// The parts of a response that are written.
    @nonexhaustive
    public enum ResponseDetail: Hashable, Sendable {
        /// Nothing; nor are errors.
        case nothing
        /// The status and the duration.
        case status
        /// The status, the duration and the header.
        case headers
        /// The status, the duration, the header and the body.
        case everything
    }

    /// The importance of an entry.
    @nonexhaustive
    public enum Level: Hashable, Sendable {
        /// An entry for a request, or for a response with a status below 400.
        case info
        /// An entry for a response with a status of 400 or higher, or for a cancellation.
        case warning
        /// An error.
        case error
    }

    /// One or more lines of the log.
    public struct Entry: Sendable, CustomStringConvertible {
        /// The importance.
        public var level: Level

        /// The number of the request in this log, from 1; all entries of a request have the same.
        public var number: Int

        /// The lines, without line ends.
        public var lines: [String]

        /// The status of the response, in the entries for its head and its end; nil before, and without a response.
        public var status: HTTPStatus?

        /// The report, in the entry that ends a request; nil before.
        public var report: Observing.Report?

        /// The lines, each preceded by the number of the request.
        public var description: String {
            lines.map { "[\(number)] \($0)" }.joined(separator: "\n")
        }
    }

    /// The parts of requests that are written; the default is ``RequestDetail/url``.
    public var requests: RequestDetail

    /// The parts of responses that are written; the default is ``ResponseDetail/status``.
    public var responses: ResponseDetail

    /// The names of the response fields that are written; nil for all.
    ///
    /// The default is Content-Type, Last-Modified and Set-Cookie, the last without its value.
    public var responseFields: Set<Field.Name>? = [.contentType, .lastModified, .setCookie]

    /// The maximum number of bytes of a body that are written, at most 1 MiB; the default is 4 KiB.
    public var bodyLimit = 4 << 10

    /// The names of the fields, query items and members whose values are not written.
    public var redaction = Redaction.standard

    /// A function that returns whether entries of a level are written; by default it always returns true.
    ///
    /// It is called before the text of an entry is created, so that a log which is off costs no text.
    public var isEnabled: @Sendable (Level) -> Bool = { _ in true }

    private let isTrace: Bool
    private let sink: @Sendable (Entry) -> Void
    private let numbers = Numbers()

    private final class Numbers: Sendable {
        let last = Atomic(0)
    }

    /// Creates an observer that passes the entries of its log to `sink`.
    ///
    /// - Parameters:
    ///   - requests: The parts of requests that are written.
    ///   - responses: The parts of responses that are written.
    ///   - sink: A function that writes an entry; it is called on the thread of the exchange.
    public init(
        requests: RequestDetail = .url, responses: ResponseDetail = .status, sink: @escaping @Sendable (Entry) -> Void
    ) {
        self.init(requests, responses, isTrace: false, sink)
    }

    private init(
        _ requests: RequestDetail, _ responses: ResponseDetail, isTrace: Bool,
        _ sink: @escaping @Sendable (Entry) -> Void
    ) {
        self.requests = requests
        self.responses = responses
        self.isTrace = isTrace
        self.sink = sink
    }

    /// Returns an observer that writes messages line by line, in the format of `curl --verbose`, without secrets.
    ///
    /// Lines of the request begin with `>`, of the response with `<`, of bodies with `}` and `{`; notes about the
    /// connection and the times begin with `*`. It is meant for the seat `.attempts`, nearest to the executor, where it
    /// sees all fields except those that the executor adds.
    ///
    /// - Parameters:
    ///   - bodies: Whether the bodies are written.
    ///   - redaction: The names of the fields, query items and members whose values are not written.
    ///   - sink: A function that writes an entry.
    /// - Returns: The observer.
    public static func trace(
        bodies: Bool = false, redaction: Redaction = .standard, sink: @escaping @Sendable (Entry) -> Void
    ) -> RequestLogging {
        var logging = RequestLogging(
            bodies ? .everything : .headers, bodies ? .everything : .headers, isTrace: true, sink)
        logging.responseFields = nil
        logging.redaction = redaction
        return logging
    }

    var isOff: Bool { requests == .nothing && responses == .nothing }

    /// Writes the request, and returns the function that writes its response.
    public func begin(_ observation: inout Observing.Observation) -> Observing.Handler? {
        guard !isOff else { return nil }
        let number = numbers.last.add(1, ordering: .relaxed).newValue
        let request = observation.request
        if requests != .nothing, isEnabled(.info) {
            let lines = lines(for: request, ExchangeRedaction(request, redaction))
            sink(Entry(level: .info, number: number, lines: lines.begin(observation.resendCount)))
        }
        guard responses != .nothing else { return nil }
        if responses == .everything {
            observation.bodyLimit = max(observation.bodyLimit, LogBody.needed(for: shownBodyLimit))
        }
        return { [self] event in
            switch event {
            case .head(let response):
                let level = response.head.level
                guard isEnabled(level) else { return }
                let lines = lines(
                    for: request,
                    ExchangeRedaction(
                        request, redaction, sent: response.request, secretsOfExecutor: response.secretsOfExecutor,
                        response: response.head))
                let text = lines.head(response.head, response.metrics, note: ", streamed")
                sink(Entry(level: level, number: number, lines: text, status: response.head.status))
            case .end(let report):
                guard isEnabled(report.level) else { return }
                let lines = lines(
                    for: report.request,
                    ExchangeRedaction(
                        report.request, redaction, sent: report.sentRequest,
                        secretsOfExecutor: report.secretsOfExecutor, response: report.response))
                let text = lines.end(report)
                let status = report.response?.status
                sink(Entry(level: report.level, number: number, lines: text, status: status, report: report))
            }
        }
    }

    private func lines(for request: PreparedRequest, _ redaction: ExchangeRedaction) -> LogLines {
        LogLines(request, requests, responses, responseFields, shownBodyLimit, redaction, isTrace: isTrace)
    }

    /// The limit of a body, between 0 and 1 MiB.
    private var shownBodyLimit: Int { max(0, min(bodyLimit, 1 << 20)) }
}

extension ResponseHead {
    fileprivate var level: RequestLogging.Level { status.code >= 400 ? .warning : .info }
}

extension Observing.Report {
    fileprivate var level: RequestLogging.Level {
        if let error { error.isCancellation ? .warning : .error } else { response?.level ?? .info }
    }
}
