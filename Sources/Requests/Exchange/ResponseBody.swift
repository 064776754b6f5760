/// The body of a response, in the form that the request's ``ResponseBody/Delivery`` specifies.
public enum ResponseBody: Sendable {
    /// The whole body in memory.
    case bytes(Data)
    /// The file to which the body has been written.
    case file(path: String)
    /// The body as it arrives, in chunks.
    case stream(ResponseStream)
}

/// A response body that is read in chunks while it arrives, and only once.
///
/// Nothing is read ahead, so a slow consumer slows the sender. Reading to the end frees the connection for the next
/// request; releasing the last reference before the end closes the connection, or resets its HTTP/2 stream.
///
/// A response can begin before its request was sent. Reading the stream then also sends the remainder of the request,
/// the stream ends when both have ended, and releasing it also ends the request.
///
/// A stream keeps its request in memory, body included, until it is released: its errors contain the request as it was
/// sent, and even the last line, event or value can be malformed.
public final class ResponseStream: Sendable {
    private let source: any ResponseBody.Source
    /// The request and the response for errors; set when a call has accepted the response.
    private let context = Lock<Context?>(nil)

    private struct Context {
        let request: PreparedRequest
        let response: ResponseHead
        let attempts: Int
        let secretsOfExecutor: [Field]
    }

    /// The total length in bytes; nil if the header does not specify it.
    public let length: Int?

    /// The whole body if it is in memory and reading it involves no wait, trailers or report; otherwise nil.
    package let contents: Data?

    /// Creates a stream of the chunks that `source` produces.
    public init(length: Int? = nil, _ source: any ResponseBody.Source) {
        self.length = length
        self.source = source
        contents = nil
    }

    /// Creates a stream of `contents`; `source` produces the same bytes without a wait.
    package init(of contents: Data, _ source: any ResponseBody.Source) {
        length = contents.count
        self.source = source
        self.contents = contents
    }

    /// Returns the next bytes, never empty, or nil at the end and from then on.
    ///
    /// - Throws: The error that ended the body early. After an error or a cancellation, every further call throws as
    ///   well.
    public func next() async throws(RequestError) -> Data? {
        do throws(RequestError) {
            return try await source.next()
        } catch {
            throw failure(error)
        }
    }

    /// The trailer fields (RFC 9110 §6.5); empty until the end has been read.
    public var trailers: Header { source.trailers }

    /// The measurements of the exchange, complete up to the end of the body.
    ///
    /// It is nil until the end has been read, and if the executor measures nothing.
    public var metrics: RawResponse.Metrics? { source.metrics }

    /// Returns the remaining bytes.
    ///
    /// - Parameter limit: The maximum number of bytes. The default is 64 MiB.
    /// - Returns: The bytes that have not been read yet.
    /// - Throws: ``RequestError/Reason/tooLarge(limit:)`` if there are more bytes than `limit`, or the error that ended
    ///   the body early.
    public func collect(limit: Int = ResponseBody.Delivery.defaultLimit) async throws(RequestError) -> Data {
        if let length, length > limit { throw failure(Self.tooLarge(limit)) }
        var whole = Data()
        while let chunk = try await next() {
            guard chunk.count <= limit - whole.count else { throw failure(Self.tooLarge(limit)) }
            whole.append(chunk)
        }
        return whole
    }

    /// Sets the request and the response that errors of this stream contain.
    func setContext(_ response: RawResponse, to request: PreparedRequest, attempts: Int) {
        let context = Context(
            request: response.request ?? request.outsideOfCall, response: response.head, attempts: attempts,
            secretsOfExecutor: response.secretsOfExecutor)
        self.context.withLock { $0 = context }
    }

    /// Returns `error` with the request and the response of the call, if they are known.
    func failure(_ error: RequestError) -> RequestError {
        guard let context = context.withLock({ $0 }) else { return error }
        return error.adding(request: context.request, response: context.response, attempts: context.attempts)
            .adding(secretsOfExecutor: context.secretsOfExecutor)
    }

    /// Returns the error for a body of more than `limit` bytes.
    static func tooLarge(_ limit: Int) -> RequestError {
        RequestError(
            .tooLarge(limit: limit), detail: "the response body is longer than \(ErrorText.bytes(limit))")
    }
}

extension ResponseBody {
    /// A type that produces the chunks of a response body; an executor implements it to stream bodies.
    ///
    /// Calls do not overlap: a call while another one is in progress throws. If the last reference is released before
    /// the end, the source closes its resources.
    public protocol Source: AnyObject, Sendable {
        /// Returns the next bytes, never empty, or nil at the end and from then on.
        func next() async throws(RequestError) -> Data?

        /// The trailer fields; empty until the end has been read.
        var trailers: Header { get }

        /// The measurements of the exchange; nil until the end has been read. The default implementation always returns
        /// nil.
        var metrics: RawResponse.Metrics? { get }
    }
}

extension ResponseBody.Source {
    /// No measurements.
    public var metrics: RawResponse.Metrics? { nil }
}
