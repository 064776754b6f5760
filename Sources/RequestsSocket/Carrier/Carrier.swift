package import Requests
package import RequestsPOSIX

/// The carrier of an exchange: an HTTP/1.1 connection, an HTTP/2 stream, or a script for tests.
///
/// No function waits. Bytes of a response stay in the carrier until they are taken.
package protocol Carrier: ~Copyable, Sendable {
    // MARK: The request

    /// Begins an exchange of `request`, whose head is sent with the first piece of its body.
    mutating func begin(_ request: borrowing OutgoingRequest)

    /// Begins a further piece of the body, of `count` bytes.
    mutating func beginPiece(of count: Int)

    /// Completes the present piece before a pause; returns whether more bytes must be sent for that.
    mutating func endPiece() -> Bool

    /// Ends a body of unknown length, with an empty piece.
    ///
    /// - Throws: An error if the trailer fields cannot be sent.
    mutating func endBody(with trailers: Header) throws(RequestError)

    /// Sends the present piece from `offset` on, after any bytes that precede it. Returns how many bytes of the piece
    /// were sent.
    mutating func send(_ piece: Data, from offset: Int) throws(StreamError) -> TransferResult

    /// Whether bytes that precede the present piece, such as the head, remain to be sent.
    var hasUnsentPrefix: Bool { get }

    /// Sends `count` bytes of a file, from `position` on, without reading them.
    mutating func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult

    /// Whether the peer may have received a byte of the request.
    var hasWritten: Bool { get }

    /// Whether the request waits until the peer allows another stream of HTTP/2.
    var awaitsPlace: Bool { get }

    /// The reason why an HTTP/2 stream has ended before its response; nil for another failure, and over HTTP/1.1.
    var refusal: StreamRefusal? { get }

    /// Whether the carrier sends large files without reading them (decision 0014).
    var sendsFiles: Bool { get }

    // MARK: The response

    /// Receives what has arrived, to be read with ``nextEvent()``.
    mutating func receive() throws(StreamError) -> TransferResult

    /// Returns the next event in the bytes received; bytes of the body remain until ``takeBody(into:)``.
    ///
    /// - Throws: The error of a response that is malformed or exceeds a limit.
    mutating func nextEvent() throws(RequestError) -> ResponseEvent

    /// Records that the peer sends nothing more, which may end a body.
    ///
    /// - Parameter failure: The error that ended sending before, if any.
    /// - Throws: The error of a response that is truncated.
    mutating func receiveEnd(after failure: StreamError?) throws(RequestError)

    /// Whether the next bytes belong to the body and should be received directly at their destination.
    var receivesDirectly: Bool { get }

    /// Receives bytes of the body at their destination; returns 0 bytes if ``nextEvent()`` must read what has arrived.
    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult

    /// Copies body bytes that have been received into `space`, and returns their number.
    mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int

    /// Returns a body that has arrived completely, and of which nothing was taken; nil if it has not, or exceeds
    /// `limit`.
    mutating func takeWholeBody(upTo limit: Int) -> Data?

    /// The number of bytes received that have not been taken.
    var unread: Int { get }

    /// The number of body bytes that ``nextEvent()`` has reported and that have not been taken yet.
    var pending: Int { get }

    /// Whether the next bytes to arrive are bytes of the body.
    var expectsBody: Bool { get }

    /// Whether a byte of the response has arrived.
    var hasBegunResponse: Bool { get }

    /// Whether the next bytes begin the final response, or an interim one.
    var awaitsResponse: Bool { get }

    // MARK: The message

    /// The length of the response's body in bytes, if the head declares it.
    var bodyLength: Int? { get }

    /// Whether the body is chunked, so that its length is known only at its end.
    var isChunked: Bool { get }

    /// Whether the peer continues to read the request after its response has ended.
    var persists: Bool { get }

    /// Checks whether another exchange can follow.
    ///
    /// - Parameters:
    ///   - isWhole: Whether the request was sent whole.
    ///   - hasRespondedFirst: Whether the response ended before the request.
    /// - Returns: Whether the connection can be used again.
    func isReusable(afterWholeRequest isWhole: Bool, hasRespondedFirst: Bool) -> Bool

    /// The version of the final response.
    var httpVersion: RawResponse.Metrics.HTTPVersion { get }
}

/// The reason why an HTTP/2 stream ends before its response.
package enum StreamRefusal: Sendable {
    /// The peer has reset the stream, and may have acted on the request.
    case reset
    /// The peer has declared that it has not acted on the request, or nothing of the request was sent.
    case unprocessed
    /// The peer has not acted on the request: it has ended the connection after other requests, or refused a stream
    /// that was opened before its settings were known.
    case excluded
    /// The peer has not acted on the request, and requires HTTP/1.1 for it (RFC 9113 §7).
    case requiresHTTP1
}
