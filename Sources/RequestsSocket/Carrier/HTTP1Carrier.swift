package import Requests
package import RequestsPOSIX

/// A carrier that uses HTTP/1.1: a connection, or a script for tests.
package protocol HTTP1Carrier: Carrier, ~Copyable {
    var message: HTTP1Message { get set }

    /// Receives the bytes that have arrived.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult
}

extension HTTP1Carrier where Self: ~Copyable {
    package mutating func receive() throws(StreamError) -> TransferResult {
        let result = try read(into: message.space())
        if case .bytes(let count) = result { message.add(count) }
        return result
    }

    package mutating func receiveBody(
        into space: UnsafeMutableRawBufferPointer
    ) throws(StreamError) -> TransferResult {
        let result = try read(into: message.directSpace(in: space))
        if case .bytes(let count) = result { message.advance(count) }
        return result
    }

    package mutating func nextEvent() throws(RequestError) -> ResponseEvent { try message.nextEvent() }

    package mutating func receiveEnd(after failure: StreamError?) throws(RequestError) {
        try message.receiveEnd(after: failure)
    }

    package mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int { message.takeBody(into: space) }

    package mutating func takeWholeBody(_ length: Int) -> Data { message.takeWholeBody(length) }

    package var receivesDirectly: Bool { message.receivesDirectly }
    package var unread: Int { message.unread }
    package var pending: Int { message.pending }
    package var expectsBody: Bool { message.expectsBody }
    package var hasBegunResponse: Bool { message.hasBegunResponse }
    package var awaitsResponse: Bool { message.awaitsResponse }
    package var bodyLength: Int? { message.bodyLength }
    package var isChunked: Bool { message.isChunked }
    package var persists: Bool { message.persists }
    package var isHTTP10: Bool { message.isHTTP10 }
}
