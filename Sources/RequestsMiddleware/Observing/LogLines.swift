import Requests

/// The lines of a log about one request, without secrets and without text that could break a line.
struct LogLines {
    private let request: PreparedRequest
    private let requests: RequestLogging.RequestDetail
    private let responses: RequestLogging.ResponseDetail
    /// The names of the response fields that are written; nil for all.
    private let responseFields: Set<Field.Name>?
    private let bodyLimit: Int
    private let redaction: ExchangeRedaction
    /// Whether each line begins with a mark for its direction.
    private let isTrace: Bool

    /// The maximum number of bytes that are shown of a URL or a field value.
    private static let textLimit = 8 << 10
    private static let fieldLimit = 200

    init(
        _ request: PreparedRequest, _ requests: RequestLogging.RequestDetail,
        _ responses: RequestLogging.ResponseDetail, _ responseFields: Set<Field.Name>?, _ bodyLimit: Int,
        _ redaction: ExchangeRedaction, isTrace: Bool
    ) {
        self.request = request
        self.requests = requests
        self.responses = responses
        self.responseFields = responseFields
        self.bodyLimit = bodyLimit
        self.isTrace = isTrace
        self.redaction = redaction
    }

    // MARK: Requests

    func begin(_ resendCount: Int) -> [String] {
        guard isTrace else {
            if requests == .url { return [summary] }
            return [summary] + fields(request.header, nil) + requestBody()
        }
        let target = Self.escaped(redaction.reference(request.target.requestTarget))
        // The version is known only when the response has arrived.
        let line = "> \(shown(request.method.rawValue)) \(target) HTTP"
        let header = ["Host: \(shown(request.target.authority))"] + fields(request.header, nil)
        let note = resendCount > 0 ? ["* request \(resendCount + 1) of the call"] : []
        return ["* \(summary)"] + note + [line] + header.map { "> \($0)" } + [">"] + requestBody().map { "} \($0)" }
    }

    /// The method and the URL.
    private var summary: String {
        "\(shown(request.method.rawValue)) \(Self.escaped(redaction.url(request.target)))"
    }

    private func requestBody() -> [String] {
        guard requests == .everything else { return [] }
        switch request.body {
        case .none: return []
        case .bytes(let data):
            let beginning = data.prefix(LogBody.needed(for: bodyLimit))
            return body(Data(beginning), data.count, request.header)
        default: return ["<\(shown("\(request.body)"))>"]
        }
    }

    // MARK: Responses

    func head(_ head: ResponseHead, _ metrics: RawResponse.Metrics?, note: String) -> [String] {
        let status = shown("\(head.status)")
        guard isTrace else {
            return ["\(status) to \(summary)\(note)"]
                + (responses == .status ? [] : fields(head.header, responseFields))
        }
        let version = metrics?.httpVersion?.rawValue ?? "HTTP"
        return ["< \(version) \(status)"] + fields(head.header, responseFields).map { "< \($0)" } + ["<"]
    }

    func end(_ report: Observing.Report) -> [String] {
        var lines = isTrace ? connection(report).map { "* \($0)" } : []
        let sizes = sizes(of: report)
        if let response = report.response, !report.isStreamed, report.error == nil || isTrace {
            lines += head(response, report.metrics, note: sizes)
        } else if report.error == nil, !isTrace {
            lines.append("\(report.isAbandoned ? "abandoned" : "end of") \(summary)\(sizes)")
        }
        if let error = report.error {
            // Its text can have several lines, such as a mock's report.
            let text = redaction.text("\(error)").splitBytes(at: "\n").map { shown(String($0)) }
            lines += text.prefix(50).enumerated().map { "\(isTrace ? "* " : "")\($0 == 0 ? "failed: " : "  ")\($1)" }
            if !isTrace, !lines.isEmpty { lines[0] += sizes }
        }
        if responses == .everything { lines += responseBody(report).map { isTrace ? "{ \($0)" : $0 } }
        if responses != .status {
            let retries = (report.error?.retries ?? report.metrics?.retries ?? []).prefix(20)
            lines += retries.enumerated().map { "\(isTrace ? "* " : "")attempt \($0 + 1): \($1)" }
        }
        // The text of an error has the note already.
        if report.error == nil, let metrics = report.metrics,
            let note = metrics.retryRefusal?.note(after: metrics.retries)
        {
            lines.append("\(isTrace ? "* " : "")\(note)")
        }
        if isTrace {
            lines += fields(report.trailers, responseFields).map { "< \($0)" }
            lines.append("* \(report.isAbandoned ? "abandoned" : "ended")\(sizes)")
        }
        return lines
    }

    private func sizes(of report: Observing.Report) -> String {
        var text = ", \(ErrorText.milliseconds(report.duration))"
        if let count = report.requestBodyLength, count > 0 { text += ", \(ErrorText.bytes(count)) sent" }
        if let count = report.responseBodyLength { text += ", \(ErrorText.bytes(count)) received" }
        return text
    }

    private func responseBody(_ report: Observing.Report) -> [String] {
        guard let response = report.response, !report.body.isEmpty else { return [] }
        // A body can repeat the cookies that its header sets; searching for many would take long.
        guard response.header.values(of: .setCookie).count <= ExchangeRedaction.searchedCookies else {
            return ["body not written: the response sets more than \(ExchangeRedaction.searchedCookies) cookies"]
        }
        return body(report.body, report.responseBodyLength, response.header)
    }

    /// Returns notes about the connection and the stages of an exchange.
    private func connection(_ report: Observing.Report) -> [String] {
        guard let metrics = report.metrics, report.seat == .attempts else { return [] }
        var notes: [String] = []
        if metrics.isReusedConnection { notes.append("reused connection") }
        if metrics.transmissions > 1 { notes.append("sent again on a new connection") }
        if let tls = metrics.tls { notes.append(shown("\(tls)")) }
        let phases = Observing.Phases(metrics)
        let times = [
            ("lookup", phases.lookup), ("connecting", phases.connecting), ("securing", phases.securing),
            ("sending", phases.sending), ("waiting", phases.waiting), ("receiving", phases.receiving),
        ].compactMap { name, time in time.map { "\(name) \(ErrorText.milliseconds($0))" } }
        if !times.isEmpty { notes.append(times.joined(separator: ", ")) }
        return notes
    }

    // MARK: Text

    private func body(_ data: Data, _ count: Int?, _ header: Header) -> [String] {
        LogBody(redaction: redaction, limit: bodyLimit).lines(of: data, count: count, header)
    }

    /// Returns the fields of `header` with names in `names`, or all for nil.
    private func fields(_ header: Header, _ names: Set<Field.Name>?) -> [String] {
        let shownFields = header.filter { names?.contains($0.name) ?? true }
        let lines = shownFields.prefix(Self.fieldLimit).map {
            "\(shown($0.name.rawValue)): \(Self.escaped(redaction.value(of: $0)))"
        }
        return shownFields.count > Self.fieldLimit ? lines + ["… (\(shownFields.count) fields)"] : lines
    }

    /// Returns `text` on one line, without the secrets of the exchange.
    private func shown(_ text: String) -> String { Self.escaped(redaction.text(text)) }

    /// Returns `text`, which has been redacted, on one line.
    private static func escaped(_ text: String) -> String { LogText.escaped(text, limit: textLimit) }
}

extension Observing.Report {
    fileprivate var isAbandoned: Bool {
        if case .abandoned = outcome { true } else { false }
    }
}
