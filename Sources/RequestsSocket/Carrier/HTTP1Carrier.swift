package import Requests
package import RequestsPOSIX

/// A carrier that uses HTTP/1.1: a connection, or a script for tests.
package protocol HTTP1Carrier: Carrier, ~Copyable {
    var request: HTTP1Request { get set }
    var response: HTTP1Response { get set }

    /// Sends two buffers, one after the other; after `.wouldBlock` the next call must begin with the same bytes.
    mutating func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(StreamError) -> TransferResult

    /// Whether the peer may have received bytes of a write that returned `.wouldBlock`.
    var hasPartialWrite: Bool { get }

    /// Receives the bytes that have arrived.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult
}

// MARK: The request

extension HTTP1Carrier where Self: ~Copyable {
    package mutating func begin(_ request: borrowing OutgoingRequest) {
        self.request.begin(request)
        response.begin(respondsToHead: request.request.hasMethod(.head))
    }

    package mutating func beginPiece(of count: Int) {
        request.beginPiece(of: count)
    }

    package mutating func endPiece() -> Bool { request.endPiece() }

    package mutating func endBody(with trailers: Header) throws(RequestError) { try request.end(with: trailers) }

    /// Sends the bytes that precede the piece, and at most 1 MiB of the piece itself.
    package mutating func send(_ piece: Data, from offset: Int) throws(StreamError) -> TransferResult {
        let (prefix, sentOfPrefix) = (request.prefix, request.sentOfPrefix)
        let result = prefix.withUnsafeBytes { prefix in
            piece.withUnsafeBytes { piece in
                let first = UnsafeRawBufferPointer(rebasing: prefix[sentOfPrefix...])
                let second = UnsafeRawBufferPointer(rebasing: piece[offset..<min(piece.count, offset + (1 << 20))])
                return Result<TransferResult, StreamError> { () throws(StreamError) in try write(first, second) }
            }
        }
        guard case .bytes(let count) = try result.get() else { return .wouldBlock }
        return .bytes(request.advance(count))
    }

    package var hasUnsentPrefix: Bool { request.hasUnsentPrefix }
    package var hasWritten: Bool { request.hasWritten || hasPartialWrite }
    package var refusal: StreamRefusal? { nil }

    package var awaitsPlace: Bool { false }
}

// MARK: The response

extension HTTP1Carrier where Self: ~Copyable {
    package mutating func receive() throws(StreamError) -> TransferResult {
        let result = try read(into: response.space())
        if case .bytes(let count) = result { response.add(count) }
        return result
    }

    package mutating func receiveBody(
        into space: UnsafeMutableRawBufferPointer
    ) throws(StreamError) -> TransferResult {
        let result = try read(into: response.directSpace(in: space))
        if case .bytes(let count) = result { response.advance(count) }
        return result
    }

    package mutating func nextEvent() throws(RequestError) -> ResponseEvent { try response.nextEvent() }

    package mutating func receiveEnd(after failure: StreamError?) throws(RequestError) {
        try response.receiveEnd(after: failure)
    }

    package mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int { response.takeBody(into: space) }

    package mutating func takeWholeBody(upTo limit: Int) -> Data? {
        guard let length = response.bodyLength, length <= limit, response.unread >= length else { return nil }
        return response.takeWholeBody(length)
    }

    package var receivesDirectly: Bool { response.receivesDirectly }
    package var unread: Int { response.unread }
    package var pending: Int { response.pending }
    package var expectsBody: Bool { response.expectsBody }
    package var hasBegunResponse: Bool { response.hasBegunResponse }
    package var awaitsResponse: Bool { response.awaitsResponse }
    package var bodyLength: Int? { response.bodyLength }
    package var isChunked: Bool { response.isChunked }
    package var persists: Bool { response.persists }

    package func isReusable(afterWholeRequest isWhole: Bool, hasRespondedFirst: Bool) -> Bool {
        isWhole && !hasRespondedFirst && response.persists && response.unread == 0
    }

    package var httpVersion: RawResponse.Metrics.HTTPVersion { response.isHTTP10 ? .http10 : .http11 }
}
