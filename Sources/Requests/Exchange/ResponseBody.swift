/// The body of a response, in the form its request's ``Delivery`` asked for.
public enum ResponseBody: Sendable {
    /// The whole body.
    case bytes(Data)
    /// The file the body has been written to.
    case file(path: String)
    /// The body as it arrives.
    case stream(ResponseStream)
}

/// A body that is still arriving: pulled chunk by chunk, once.
///
/// Nothing is read ahead, so a slow consumer slows the sender. Reading to the end frees the connection for the next
/// request; dropping the last reference before that closes it.
public final class ResponseStream: Sendable {
    private let source: any ResponseBodySource

    /// The number of bytes in all, when the header tells.
    public let length: Int?

    /// A stream of what `source` produces.
    public init(length: Int? = nil, _ source: any ResponseBodySource) {
        self.length = length
        self.source = source
    }

    /// The next bytes, never empty; nil at the end, and ever after.
    ///
    /// - Throws: What ended the body early; after an error or a cancellation every further call throws as well.
    public func next() async throws(RequestError) -> Data? {
        try await source.next()
    }

    /// The fields after the body (RFC 9110 §6.5); empty until the end has been read.
    public var trailers: Header { source.trailers }

    /// Reads the rest, at most `limit` bytes.
    ///
    /// - Throws: ``RequestError/Reason/tooLarge(limit:)`` when there is more, or what ended the body early.
    public func collect(limit: Int = Delivery.defaultLimit) async throws(RequestError) -> Data {
        if let length, length > limit { throw RequestError(.tooLarge(limit: limit)) }
        var whole = Data()
        while let chunk = try await next() {
            guard chunk.count <= limit - whole.count else { throw RequestError(.tooLarge(limit: limit)) }
            whole.append(chunk)
        }
        return whole
    }
}

/// Produces the chunks of a response's body; what an executor implements to stream.
///
/// Calls do not overlap: a second call while one is under way throws. When the last reference goes before the end, the
/// source closes what it holds.
public protocol ResponseBodySource: AnyObject, Sendable {
    /// The next bytes, never empty; nil at the end, and ever after.
    func next() async throws(RequestError) -> Data?

    /// The fields after the body; empty until the end has been read.
    var trailers: Header { get }
}
