@_spi(Lock) import Requests
import RequestsPOSIX

final class RecordedExchange: Sendable {
    private struct State: Sendable {
        var entry: HARArchive.Entry
        var head: ResponseHead?
        /// The request as it was sent, with the fields of all middleware.
        var sent: PreparedRequest?
        var secretsOfExecutor: [Field] = []
        var body = Data()
        var size = 0
        var headTime: Duration?
        var isEnded = false
    }

    private let request: PreparedRequest
    private let names: Redaction
    private let bodyLimit: Int
    private let start = ContinuousClock.now
    private let record: @Sendable (HARArchive.Entry) -> Void
    private let state: Lock<State>

    init(
        _ request: PreparedRequest, _ redaction: Redaction, _ bodyLimit: Int,
        _ record: @escaping @Sendable (HARArchive.Entry) -> Void
    ) {
        self.request = request
        names = redaction
        self.bodyLimit = bodyLimit
        self.record = record
        state = Lock(State(entry: HARRedaction(ExchangeRedaction(request, redaction)).entry(of: request, bodyLimit)))
    }

    /// The redaction for all secrets that have been sent so far.
    private var redaction: HARRedaction {
        let (sent, secrets, head) = state.withLock { ($0.sent, $0.secretsOfExecutor, $0.head) }
        return HARRedaction(
            ExchangeRedaction(request, names, sent: sent, secretsOfExecutor: secrets, response: head))
    }

    func receive(_ response: RawResponse) {
        state.withLock { state in
            state.head = response.head
            state.sent = response.request
            state.secretsOfExecutor = response.secretsOfExecutor
        }
        let header = redaction.redacted(response.header)
        state.withLock { state in
            state.entry.status = response.status
            state.entry.responseHeader = header
            state.headTime = .now - start
        }
    }

    func append(_ bytes: Data) {
        state.withLock { state in
            state.size += bytes.count
            if state.size <= bodyLimit { state.body.append(bytes) } else { state.body = Data() }
        }
    }

    func omitBody(ofSize size: Int) {
        state.withLock { state in state.size = max(size, bodyLimit + 1) }
    }

    func end(_ metrics: RawResponse.Metrics) { end(metrics, comment: nil) }

    /// Ends an exchange whose body, of `length` bytes or of unknown length, is not read to its end.
    func abandon(_ metrics: RawResponse.Metrics, length: Int?) {
        let isWhole = state.withLock { $0.size == length }
        end(metrics, comment: isWhole ? nil : "the body was not read to its end", isWhole: isWhole)
    }

    func fail(_ error: RequestError) {
        state.withLock { state in
            state.sent = error.request
            state.secretsOfExecutor = error.secretsOfExecutor
        }
        end(RawResponse.Metrics(), comment: redaction.text("failed: \(error.reason)"), isWhole: false, isFailure: true)
    }

    private func end(
        _ metrics: RawResponse.Metrics, comment: String?, isWhole: Bool = true, isFailure: Bool = false
    ) {
        let end = ContinuousClock.now - start
        let ended: State? = state.withLock { state in
            if state.isEnded { return nil }
            state.isEnded = true
            return state
        }
        guard let ended else { return }
        var entry = ended.entry
        entry.httpVersion = metrics.httpVersion?.rawValue
        entry.timings = HARArchive.Timings(metrics, headAt: ended.headTime ?? end, endAt: end)
        entry.comment = comment
        var body: Data?
        do throws(CodingFault) {
            // A part of a body cannot be replayed.
            if isWhole, ended.size <= bodyLimit { body = try decoded(ended) }
        } catch {
            entry.comment = redaction.text("the body cannot be decoded: \(error.problem)")
        }
        entry.responseBody = redaction.content(body, ended.head?.header ?? .empty, size: ended.size)
        if isFailure {
            // A response that was lost is replayed as the error.
            entry.status = nil
        }
        record(entry)
    }

    /// Returns the whole body without its content codings, so that a replay needs no decoder.
    ///
    /// An empty body has no codings.
    private func decoded(_ ended: State) throws(CodingFault) -> Data {
        guard let head = ended.head, !ended.body.isEmpty else { return ended.body }
        return try ContentCodingList(head.header)
            .decode(ended.body, limit: bodyLimit, mayBeCut: request.permitsCutCoding(of: head))
    }
}

extension HARArchive.Timings {
    /// Creates timings from what an executor measured.
    ///
    /// Times that it did not measure are part of the wait for the response.
    package init(_ metrics: RawResponse.Metrics, headAt head: Duration, endAt end: Duration) {
        self.init()
        var last = Duration.zero
        let stage = { (time: Duration?) -> Duration? in
            guard let time else { return nil }
            defer { last = max(last, time) }
            return max(.zero, time - last)
        }
        if !metrics.isReusedConnection {
            lookup = stage(metrics.timeToLookup)
            let connected = stage(metrics.timeToConnect)
            tls = stage(metrics.timeToTLS)
            if connected != nil || tls != nil { connect = (connected ?? .zero) + (tls ?? .zero) }
        }
        send = stage(metrics.timeToRequestSent) ?? .zero
        wait = stage(metrics.timeToFirstByte ?? metrics.timeToResponseHead ?? head) ?? .zero
        receive = stage(metrics.timeToEnd ?? end) ?? .zero
    }
}

struct HARRedaction: Sendable {
    private let redaction: ExchangeRedaction

    init(_ redaction: ExchangeRedaction) {
        self.redaction = redaction
    }

    func text(_ text: String) -> String { redaction.text(text) }

    func redacted(_ header: Header) -> Header {
        Header(header.map { Field(name: $0.name, value: redaction.value(of: $0)) })
    }

    /// Returns the entry of a request that begins now.
    func entry(of request: PreparedRequest, _ bodyLimit: Int) -> HARArchive.Entry {
        let body: HARArchive.Content? =
            switch request.body {
            case .none: nil
            case .bytes(let data): content(data.count <= bodyLimit ? data : nil, request.header, size: data.count)
            default:
                content(
                    request.body.knownLength == 0 ? Data() : nil, request.header, size: request.body.knownLength ?? 0)
            }
        return HARArchive.Entry(
            startedAt: Date(), method: request.method, url: url(of: request.target),
            requestHeader: redacted(request.header), requestBody: body, status: nil)
    }

    private func url(of target: TargetURI) -> String {
        // Without userinfo and fragment, and with a placeholder that a URL can contain.
        let text = target.origin + redaction.reference(target.requestTarget)
        return text.replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "<"): "%3C"
            case UInt8(ascii: ">"): "%3E"
            default: nil
            }
        }
    }

    /// Returns a body of `size` bytes without its secrets; `data` is nil if it is not kept.
    func content(_ data: Data?, _ header: Header, size: Int) -> HARArchive.Content {
        let kept = redaction.hidesBodies ? nil : data.map { Data(redaction.body(Array($0), header)) }
        let mediaType = header[.contentType].map(redaction.text) ?? ""
        var content = HARArchive.Content(mediaType: mediaType, data: data?.isEmpty == true ? Data() : kept)
        content.size = kept?.count ?? size
        return content
    }
}
