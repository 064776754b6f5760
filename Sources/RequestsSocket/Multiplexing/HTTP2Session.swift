import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX

/// HTTP/2 on a connection that carries one exchange at a time (RFC 9113); no function waits.
// The exchange that owns the connection owns it.
final class HTTP2Session: @unchecked Sendable {
    /// Whether a connection carries several streams at once.
    static let carriesSeveralStreams = false
    private let limits: HTTP2Limits
    private var state: ConnectionState
    private var events: [ConnectionEvent] = []
    /// The output that is being sent, with copies of the body bytes in it.
    private var output: [UInt8] = []
    /// The number of bytes of `output` that were sent.
    private var sent = 0
    /// Whether the peer sends nothing more.
    private var hasEnded = false
    /// Whether a transfer has failed, so that the connection carries no further exchange.
    private var hasFailed = false
    /// The number of bytes that were sent.
    private(set) var written = 0
    private var goAway: Frame.GoAway?

    init(_ limits: HTTP2Limits, at now: Deadline) {
        self.limits = limits
        state = ConnectionState(.client, limits: limits, at: now)
    }

    /// Whether the connection can carry another exchange.
    var isUsable: Bool { !hasEnded && !hasFailed && !state.isDraining && state.freePlaces > 0 }

    /// Whether the peer sends and reads nothing more.
    var isOver: Bool { hasEnded || state.failure != nil }

    /// Whether output remains to be sent.
    var hasOutput: Bool { sent < output.count || state.outputCount > 0 }

    /// Returns whether ``open(_:endsStream:for:)`` or ``queue(_:of:endsStream:)`` would achieve anything now.
    func canQueue(for stream: StreamSlot?) -> Bool {
        stream.map { state.hasRoom(for: $0) } ?? (state.isDraining || state.freePlaces > 0)
    }

    /// Returns whether the peer may have received a byte of the head of the request.
    func hasSentHead(of stream: StreamSlot) -> Bool { sent > 0 || state.hasSentHead(of: stream) }
}

// MARK: The stream

extension HTTP2Session {
    /// Opens the stream of `inbox` with the head of a request; returns whether it is open.
    func open(_ fields: OutgoingFields, endsStream: Bool, for inbox: inout StreamInbox) -> Bool {
        expire()
        switch state.open(fields, respondsToHead: inbox.isHEAD, endsStream: endsStream, at: .now) {
        case .opened(let stream):
            inbox.stream = stream
            return true
        case .full: break
        case .draining: inbox.fail(ended(inbox), as: .unprocessed)
        case .headTooLarge(let limit):
            let detail = "the request header is larger than the \(ErrorText.bytes(limit)) that the server accepts"
            inbox.fail(RequestError(.tooLarge(limit: limit), detail: detail))
        }
        return false
    }

    /// Queues the first of `count` bytes of the body, and returns their number.
    func queue(_ count: Int, of stream: StreamSlot, endsStream: Bool) -> Int {
        var queued = 0
        while queued < count {
            let part = state.write(stream, count - queued, endsStream: endsStream)
            if part == 0 { break }
            queued += part
        }
        return queued
    }

    /// Queues the end of the request.
    func end(_ stream: StreamSlot, _ trailers: OutgoingFields?) {
        state.end(stream, trailers: trailers)
    }

    /// Records that `count` bytes of the body were taken, so that the peer may send as many more.
    func consumed(_ count: Int, of stream: StreamSlot) {
        state.consumed(stream, count, at: .now)
    }

    /// Resets the stream unless both sides have ended it.
    func reset(_ stream: StreamSlot) {
        state.reset(stream, .cancel, at: .now)
    }
}

// MARK: Sending

extension HTTP2Session {
    /// Sends what is queued, and returns whether that was all; `body` has the bytes of the body that are queued.
    ///
    /// They are copied into the output, so call ``finishOutput(to:)`` before they are queued.
    func flush(
        to bytes: inout ByteStream, body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws(StreamError) -> Bool {
        guard try finishOutput(to: &bytes) else { return false }
        takeOutput(body)
        return try finishOutput(to: &bytes)
    }

    /// Sends what is left of the output that was begun, and returns whether that was all.
    func finishOutput(to bytes: inout ByteStream) throws(StreamError) -> Bool {
        while sent < output.count {
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            let result = output.withUnsafeBytes { output in
                Result { () throws(StreamError) in
                    try bytes.write(UnsafeRawBufferPointer(rebasing: output[sent...]), nothing)
                }
            }
            let count: Int
            do throws(StreamError) {
                guard case .bytes(let moved) = try result.get() else { return false }
                count = moved
            } catch {
                hasFailed = true
                throw error
            }
            sent += count
            written += count
        }
        guard sent > 0 else { return true }
        state.written(sent, at: .now, into: &events)
        // They concern capacity, which the exchange requests again.
        events.removeAll(keepingCapacity: true)
        output.removeAll(keepingCapacity: output.capacity <= 4 << 10)
        sent = 0
        return true
    }

    private func takeOutput(_ body: UnsafeRawBufferPointer) {
        guard state.outputCount > 0 else { return }
        var body = body[...]
        output.reserveCapacity(state.outputCount)
        for piece in state.output() {
            switch piece {
            case .frames(let frames): output += frames
            case .body(_, let count):
                output += body.prefix(count)
                body = body.dropFirst(count)
            }
        }
    }

    /// Ends the connection, and announces it to the peer if the socket accepts that.
    func close(_ bytes: inout ByteStream) {
        state.drain()
        guard !hasEnded else { return }
        _ = try? flush(to: &bytes)
    }
}

// MARK: Receiving

extension HTTP2Session {
    /// The maximum number of receives in a row, after which other tasks run and time limits are checked.
    static let receives = 16

    /// Receives what has arrived, at most 64 KiB, and passes what concerns the stream of `inbox` to it.
    func receive(from bytes: inout ByteStream, into inbox: inout StreamInbox) throws(StreamError) -> TransferResult {
        if isOver { return .end }
        let result = withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { space in
            let result = Result { () throws(StreamError) in try bytes.read(into: space) }
            if case .success(.bytes(let count)) = result {
                read(UnsafeRawBufferPointer(rebasing: space[..<count]), into: &inbox)
            }
            return result
        }
        do throws(StreamError) {
            let received = try result.get()
            if case .end = received { hasEnded = true }
            return received
        } catch {
            hasFailed = true
            // What the server has announced is the better error.
            guard goAway != nil, error.isConnectionLoss else { throw error }
            hasEnded = true
            return .end
        }
    }

    private func read(_ bytes: UnsafeRawBufferPointer, into inbox: inout StreamInbox) {
        do throws(HTTP2Error) {
            try state.receive(Span(_unsafeBytes: bytes), at: .now, into: &events)
            deliver(to: &inbox, from: bytes)
        } catch {
            deliver(to: &inbox, from: bytes)
            inbox.fail(RequestError(error, limits))
        }
    }

    /// Passes the events of a stream to its inbox; the bytes of bodies are ranges of `bytes`.
    private func deliver(to inbox: inout StreamInbox, from bytes: UnsafeRawBufferPointer) {
        // It follows the streams that it excludes.
        for case .goAway(let goAway) in events { self.goAway = goAway }
        for event in events {
            switch event {
            case .interim(inbox.stream, let status, let header): inbox.addInterim(status, header)
            case .head(inbox.stream, .response(let status, let header)):
                inbox.addHead(status, header)
                widenWindow(of: inbox)
            case .data(inbox.stream, let range): inbox.addBody(UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .trailers(inbox.stream, let trailers): inbox.addTrailers(trailers)
            case .ended(inbox.stream): inbox.complete()
            case .reset(inbox.stream, let reset):
                inbox.reset(RequestError(reset, goAway, limits), with: reset)
            default: break
            }
        }
        events.removeAll(keepingCapacity: true)
    }

    /// Makes the window as large as a collected body needs.
    private func widenWindow(of inbox: borrowing StreamInbox) {
        guard let stream = inbox.stream, let limit = inbox.collectingLimit else { return }
        state.widen(stream, for: min(inbox.bodyLength ?? .max, limit), at: .now)
    }

    /// Frees the places of streams that were reset long ago.
    private func expire() {
        // An error is that of a connection that is not usable.
        try? state.expire(at: .now, into: &events)
        events.removeAll(keepingCapacity: true)
    }

    /// Returns the error of a connection that has ended before the response.
    func ended(_ inbox: borrowing StreamInbox, after failure: StreamError? = nil) -> RequestError {
        if let goAway { return RequestError(goAway, cause: failure) }
        let place: WireError.Place = inbox.hasHead ? .body : inbox.hasBegun ? .afterInterim : .beforeMessage
        return RequestError(WireError.truncated(place), cause: failure)
    }

    /// Reads what arrived while the connection carried no exchange, and returns whether it can carry one.
    func idleState(_ bytes: inout ByteStream) -> IdleState {
        var inbox = StreamInbox()
        do throws(StreamError) {
            var count = 0
            while case .bytes = try receive(from: &bytes, into: &inbox) {
                count += 1
                if count == Self.receives { return .unusable }
            }
        } catch {
            return .closed
        }
        expire()
        if isUsable { return .usable }
        return hasEnded && goAway == nil ? .closed : .unusable
    }
}
