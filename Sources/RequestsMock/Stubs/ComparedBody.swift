@_spi(Lock) import Requests

/// The error for a body that must be read before it can be compared.
struct UnreadBody: Error {
    let body: ComparedBody
}

/// The body of a request, whose content is read and parsed at most once.
final class ComparedBody: Sendable {
    enum Content: Sendable {
        case known(BodyContent)
        /// The body can be read only once, and the program under test needs it.
        case once
        case unreadable(RequestError)
    }

    private let request: PreparedRequest?
    private let content: Lock<Content?>

    /// Creates the body of `request`; nil has an empty body.
    init(_ request: PreparedRequest?) {
        self.request = request
        let isOnce = request.map { !$0.body.isReplayable } ?? false
        content = Lock(request == nil ? .known(.empty) : isOnce ? .once : nil)
    }

    /// The error of reading the body; nil if there was none.
    var problem: RequestError? {
        if case .unreadable(let error) = content.withLock({ $0 }) { error } else { nil }
    }

    /// The content, if it is in memory; nil otherwise.
    var contentInMemory: BodyContent? {
        if case .known(let content) = loaded { content } else { nil }
    }

    /// The content, which is parsed if it is in memory; nil if the body must be read first.
    private var loaded: Content? {
        content.withLock { content in
            if content == nil, let request, let data = request.body.bytesInMemory {
                content = .known(BodyContent(data, request.header[.contentType] ?? ""))
            }
            return content
        }
    }

    /// Returns whether `other` has the content that this body of a stub requires.
    ///
    /// A body that can be read only once requires nothing.
    ///
    /// - Throws: ``UnreadBody`` if one of the bodies must be read first.
    func accepts(_ other: ComparedBody) throws(UnreadBody) -> Bool {
        if hasSameBytes(as: other) { return true }
        guard let expected = loaded else { throw UnreadBody(body: self) }
        if case .once = expected { return true }
        guard let received = other.loaded else { throw UnreadBody(body: other) }
        guard case .known(let left) = expected, case .known(let right) = received else { return false }
        return left == right
    }

    /// Returns whether both bodies are known to be equal without parsing: both are in memory and have the same type and
    /// bytes.
    private func hasSameBytes(as other: ComparedBody) -> Bool {
        guard let request, let received = other.request, let left = request.body.bytesInMemory,
            let right = received.body.bytesInMemory, left == right
        else { return false }
        return (request.header[.contentType] ?? "").hasSameBytes(as: received.header[.contentType] ?? "")
    }

    /// Reads the body, which is a file or a stream that can be produced again.
    ///
    /// - Throws: `RequestError` with `cancelled`. Any other error is kept as ``problem``.
    func read() async throws(RequestError) {
        guard var request, loaded == nil else { return }
        request.trailers = nil
        var progress = ProgressReporter(nil)
        let read: Content
        do throws(RequestError) {
            let received = try await request.received(reportingTo: &progress)
            read = .known(BodyContent(received.body.bytesInMemory ?? Data(), request.header[.contentType] ?? ""))
        } catch {
            // A later request reads the body again.
            if error.reason == .cancelled { throw error }
            read = .unreadable(error)
        }
        content.withLock { $0 = read }
    }
}
