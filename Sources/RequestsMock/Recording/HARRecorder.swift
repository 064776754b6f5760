@_spi(Lock) import Requests

/// Middleware that records the exchanges of any executor, without their secrets.
///
/// An exchange is recorded when its response has been read to its end, or when it has failed. Before that, the values
/// of secret fields, query items, and members of JSON and forms are replaced by ``/Requests/Redaction/placeholder``,
/// and secrets of the request in every other text. Bodies of token requests, which contain passwords, are not kept.
/// Bodies of responses are recorded without their content coding, so a recorder may be in front of the middleware that
/// decodes it, or behind it. A body that cannot be decoded, or was not read to its end, is not kept, and the comment of
/// its entry contains the reason. Copies share their recording.
public struct HARRecorder: Middleware {
    /// The limits of a recording; negative limits count as 0.
    public struct Limits: Hashable, Sendable {
        /// The maximum number of exchanges; the default is 10,000, beyond which the oldest are removed.
        public var entries = 10_000
        /// The maximum length of a recorded body in bytes; the default is 4 MiB.
        ///
        /// Of a longer body, only the size is recorded. The limit applies before and after decoding.
        public var bodyBytes = 4 << 20
        /// The maximum total length of all bodies in bytes; the default is 64 MiB, beyond which the oldest are removed.
        public var totalBytes = 64 << 20

        /// Creates limits with the default values.
        public init() {}
    }

    private final class Book: Sendable {
        let entries: Lock<BoundedRecord<HARArchive.Entry>>

        init(_ limits: Limits) {
            entries = Lock(BoundedRecord(count: limits.entries, size: limits.totalBytes))
        }
    }

    private let redaction: Redaction
    private let limits: Limits
    private let book: Book

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - redaction: The names of fields, query items and members whose values are secrets.
    ///   - limits: The limits of the recording.
    public init(redaction: Redaction = .standard, limits: Limits = Limits()) {
        self.redaction = redaction
        self.limits = limits
        book = Book(limits)
    }

    /// The recorded exchanges, in the order in which they began.
    public var archive: HARArchive {
        let entries = book.entries.withLock { $0.elements }
        return HARArchive(entries: entries.sorted { $0.startedAt < $1.startedAt })
    }

    /// The number of recorded exchanges, including those that limits have removed.
    package var recordedCount: Int { book.entries.withLock { $0.total } }

    /// Performs the exchange and records it.
    ///
    /// - Throws: The ``/Requests/RequestError`` of `next`, which is recorded too.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let exchange = RecordedExchange(request, redaction, max(0, limits.bodyBytes)) { entry in
            let size = (entry.requestBody?.data?.count ?? 0) + (entry.responseBody.data?.count ?? 0)
            book.entries.withLock { _ = $0.append(entry, size: size) }
        }
        let response: RawResponse
        do throws(RequestError) {
            response = try await next.execute(request)
        } catch {
            exchange.fail(error)
            throw error
        }
        exchange.receive(response)
        switch response.body {
        case .bytes(let data):
            exchange.append(data)
            exchange.end(response.metrics)
        case .file(let path):
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            let data = size.map { $0 <= limits.bodyBytes } == true ? try? Data(contentsOf: URL(filePath: path)) : nil
            if let data { exchange.append(data) } else { exchange.omitBody(ofSize: size ?? 0) }
            exchange.end(response.metrics)
        case .stream(let stream):
            let recorder = StreamRecorder(stream: stream, exchange: exchange, headMetrics: response.metrics)
            return response.observed(by: recorder, to: request)
        }
        return response
    }
}

private struct StreamRecorder: BodyObserver {
    let stream: ResponseStream
    let exchange: RecordedExchange
    let headMetrics: RawResponse.Metrics

    func receive(_ chunk: Data) { exchange.append(chunk) }

    func end(_ end: BodyEnd) {
        let metrics = stream.metrics ?? headMetrics
        switch end {
        case .complete: exchange.end(metrics)
        case .failed(let error): exchange.fail(error)
        case .released: exchange.abandon(metrics, length: stream.length)
        }
    }
}
