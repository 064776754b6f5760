@_spi(Lock) import Requests

/// A request that observers watch.
final class ObservedExchange: Sendable {
    private let observation: Observing.Observation
    /// The request with the fields of the observers.
    private let request: PreparedRequest
    private let handlers: [Observing.Handler]
    private let clock: Retrying.Clock
    private let start: Deadline
    private let date: Date
    /// The progress that was last reported; nil if it is not watched.
    private let progress = Lock<TransferProgress?>(nil)

    init(_ observation: Observing.Observation, _ handlers: [Observing.Handler], _ clock: Retrying.Clock) {
        self.observation = observation
        request = observation.changedRequest
        self.handlers = handlers
        self.clock = clock
        date = clock.date()
        start = Deadline(clock.now())
    }

    /// The context that is current while the request is performed; nil for no change.
    var context: TraceContext? { observation.context }

    /// The request to pass on; its progress is watched if its bytes cannot be counted in another way.
    var watchedRequest: PreparedRequest {
        guard !handlers.isEmpty, request.hasBody || request.isForFile else { return request }
        var request = request
        let handler = request.progressHandler
        request.progressHandler = { [self] progress in
            self.progress.withLock { $0 = progress }
            handler?(progress)
        }
        return request
    }

    func end(_ error: RequestError) {
        guard !handlers.isEmpty else { return }
        var report = report(.failed(error), error.response, nil)
        report.sentRequest = error.request
        report.secretsOfExecutor = error.secretsOfExecutor
        report.responseBodyLength = error.body?.count ?? receivedCount ?? (error.response == nil ? nil : 0)
        if let body = error.body { report.body = Data(body.prefix(observation.bodyLimit)) }
        send(.end(report))
    }

    /// Reports a response, and returns it; the end of a streamed body is reported when it is reached.
    func receive(_ response: RawResponse) -> RawResponse {
        guard !handlers.isEmpty else { return response }
        if case .stream(let stream) = response.body {
            var head = response
            head.body = .bytes(Data())
            send(.head(head))
            let observer = BodyCounter(stream, of: head, self, limit: observation.bodyLimit)
            return response.observed(by: observer, to: request)
        }
        var report = report(.complete, response, response.metrics)
        report.trailers = response.trailers
        switch response.body {
        case .bytes(let data):
            report.responseBodyLength = data.count
            if observation.bodyLimit > 0 { report.body = Data(data.prefix(observation.bodyLimit)) }
        case .file, .stream: report.responseBodyLength = receivedCount
        }
        send(.end(report))
        return response
    }

    /// Reports the end of a streamed body.
    ///
    /// `count` bytes were delivered, and `body` contains the first of them.
    fileprivate func end(
        _ stream: ResponseStream, of response: RawResponse, _ outcome: Observing.Report.Outcome, _ count: Int,
        _ body: Data
    ) {
        // The stream measures its own exchange only.
        var metrics = stream.metrics ?? response.metrics
        metrics.addRecords(of: response.metrics)
        var report = report(outcome, response, metrics)
        report.trailers = stream.trailers
        report.isStreamed = true
        report.responseBodyLength = count
        report.body = body
        send(.end(report))
    }

    private var receivedCount: Int? { progress.withLock { $0?.bytesReceived } }

    private func report(
        _ outcome: Observing.Report.Outcome, _ response: RawResponse, _ metrics: RawResponse.Metrics?
    ) -> Observing.Report {
        var report = report(outcome, response.head, metrics)
        report.sentRequest = response.request
        report.secretsOfExecutor = response.secretsOfExecutor
        return report
    }

    private func report(
        _ outcome: Observing.Report.Outcome, _ response: ResponseHead?, _ metrics: RawResponse.Metrics?
    ) -> Observing.Report {
        var report = Observing.Report(
            of: request, at: observation.seat, start: date,
            duration: max(.zero, start.instant.duration(to: clock.now())), outcome: outcome, response: response,
            resendCount: observation.resendCount)
        report.metrics = metrics
        let length = request.body.knownLength
        report.requestBodyLength =
            progress.withLock { $0?.bytesSent } ?? (response == nil && length != 0 ? nil : length)
        return report
    }

    /// Sends `event` to the handlers, the innermost first.
    private func send(_ event: Observing.Event) {
        for handler in handlers.reversed() { handler(event) }
    }
}

extension PreparedRequest {
    fileprivate var hasBody: Bool {
        if case .none = body { false } else { true }
    }

    fileprivate var isForFile: Bool {
        if case .file = delivery { true } else { false }
    }
}

/// An observer that counts the bytes of a streamed body, keeps the first ones, and reports the end.
private struct BodyCounter: BodyObserver {
    private let stream: ResponseStream
    private let response: RawResponse
    private let exchange: ObservedExchange
    private let limit: Int
    private var count = 0
    private var beginning = Data()

    init(_ stream: ResponseStream, of response: RawResponse, _ exchange: ObservedExchange, limit: Int) {
        self.stream = stream
        self.response = response
        self.exchange = exchange
        self.limit = limit
    }

    mutating func receive(_ chunk: Data) {
        count += chunk.count
        let missing = limit - beginning.count
        if missing > 0 { beginning.append(chunk.prefix(missing)) }
    }

    func end(_ end: BodyEnd) {
        let outcome: Observing.Report.Outcome =
            switch end {
            case .complete: .complete
            case .failed(let error): .failed(error)
            case .released: .abandoned
            }
        exchange.end(stream, of: response, outcome, count, beginning)
    }
}
