import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX

/// An HTTP/2 stream, which carries one exchange (RFC 9113 §8.1).
///
/// When it is released before its end, the stream is reset.
final class HTTP2Stream: PooledCarrier, @unchecked Sendable {  // one exchange owns it
    let connection: Connection
    let isReused: Bool
    let stamps: RawResponse.Metrics.Stamps
    private let session: HTTP2Session
    /// The place on the connection; nil when the exchange has ended.
    private var place: ExchangePlace?
    private var inbox = StreamInbox()
    /// The head of the request, until the stream is open.
    private var fields: OutgoingFields?
    /// The number of bytes of the body that remain to be queued; nil if its length is unknown.
    private var remaining: Int?
    /// The fields that end a body of unknown length, possibly none; nil before its end.
    private var trailers: Header?
    /// Whether the end of the request was queued.
    private var hasQueuedEnd = false
    /// Whether the exchange blocks a thread.
    private var blocksThread = false
    private var isTimedOut = false
    /// Whether the exchange has already continued once after its time limit; reset when it makes progress.
    private var hasLooked = false

    /// Creates a stream on a connection; `isNew` is true for the exchange that has established it.
    init(on connection: Connection, _ session: HTTP2Session, isNew: Bool) {
        self.connection = connection
        self.session = session
        isReused = !isNew && session.access { $0.hasResponded }
        stamps = isNew ? connection.stamps : RawResponse.Metrics.Stamps()
    }

    deinit {
        end()
    }

    /// Leaves the connection, once; a stream that has not ended is reset.
    func end() {
        guard let place = place.take() else { return }
        // A forked child sends nothing, and a thread that does not exist in it may have held the lock (decision 0019).
        if isInherited { return }
        let hasRespondedFirst = inbox.hasEnded && fields == nil && !hasQueuedEnd
        access { state in
            // A server that responds early without a reset of the stream may be about to close the connection.
            if hasRespondedFirst, !place.arrivals.isReset { state.retire() }
            state.leave(place, isTimedOut: isTimedOut, over: &connection.stream)
            sendOutput(of: &state, isLast: true)
        }
        connection.slot.returnPlace()
    }

    private var isInherited: Bool { connection.channel.reactor.isInherited }

    private func access<Value: Sendable, Failure: Error>(
        _ body: (inout HTTP2SessionState) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try connection.access(session, body)
    }
}

// MARK: Waiting

extension HTTP2Stream {
    /// Returns whether an exchange tries to receive before it waits; see ``Exchange/receivesAtOnce``.
    func receivesAtOnce(on thread: CallingThread?) -> Bool {
        blocksThread = thread != nil
        return thread == nil && !isInherited && session.access { $0.isAlone }
    }

    func beginWait(for wanted: Interest, by caller: WaitingCaller) -> CarrierWait {
        guard let place, !isInherited else { return .turn }
        return access { state in
            let mayUseSocket = caller == .thread && state.isAlone && !wanted.isEmpty
            let needed = state.outputCount > 0 ? .both : wanted
            let inPlace = mayUseSocket ? connection.stream.directions(for: needed) : .none
            let event = state.beginWait(
                of: place, for: wanted, caller, onSocket: !inPlace.isEmpty, with: connection.channel.reactor)
            guard let event else { return .turn }
            return .event(event, of: place, inPlace: inPlace, until: state.waitEnd(of: place))
        }
    }

    /// Stops using the socket until the exchange continues; another call may have to receive meanwhile.
    func pause() {
        guard let place, !isInherited else { return }
        access { state in
            sendOutput(of: &state)
            state.pause(place)
        }
    }

    func continuesAfterTimeOut() -> Bool {
        guard let place, !hasLooked, !isInherited else { return false }
        hasLooked = true
        return access { $0.mayHaveArrived || place.arrivals.count > 0 }
    }

    func timeOut() {
        isTimedOut = true
    }

    var readiness: @Sendable () -> Void {
        guard let place else { return {} }
        return { [session] in session.access { $0.notify(place) } }
    }
}

// MARK: The request

extension HTTP2Stream {
    func begin(_ request: borrowing OutgoingRequest) {
        fields = request.fields()
        remaining = request.length
        let limit: Int? = if case .collected(let limit) = request.request.delivery { limit } else { nil }
        let isHEAD = request.request.hasMethod(.head)
        place = ExchangePlace(isHEAD: isHEAD, collectingUpTo: limit)
        inbox = StreamInbox(isHEAD: isHEAD)
    }

    func beginPiece(of count: Int) {}

    func endPiece() -> Bool { false }

    func endBody(with trailers: Header) {
        self.trailers = trailers
    }

    func send(_ piece: Data, from offset: Int) throws(StreamError) -> TransferResult {
        guard let place else { throw .system(.peerIsGone) }
        if isInherited { throw .system(.forkedChild) }
        for _ in 0..<HTTP2SessionState.receives {
            let result = try access { (state) throws(StreamError) -> TransferResult? in
                if let failure = state.sendFailure { throw failure }
                guard !state.isOver, !place.arrivals.isReset else {
                    // What has arrived shows whether the peer needs the remainder.
                    _ = take(from: place)
                    throw .system(.peerIsGone)
                }
                let queued = piece.withUnsafeBytes { piece in
                    queue(UnsafeRawBufferPointer(rebasing: piece[offset...]), at: place, &state)
                }
                if let queued {
                    recordProgress(at: place)
                    sendOutput(of: &state)
                    return .bytes(queued)
                }
                // Sent bytes make room, and frames of the peer may open the window.
                let hasProgressed = state.flush(to: &connection.stream) || state.receive(from: &connection.stream)
                return hasProgressed ? nil : .wouldBlock
            }
            if let result { return result }
        }
        return .wouldBlock
    }

    /// Queues bytes of the body, after the head; returns their number, or nil if nothing is accepted now.
    private func queue(_ bytes: UnsafeRawBufferPointer, at place: ExchangePlace, _ state: inout HTTP2SessionState)
        -> Int?
    {
        if let fields {
            guard state.open(place, fields, endsStream: remaining == 0, over: &connection.stream) else { return nil }
            self.fields = nil
            hasQueuedEnd = remaining == 0
        }
        guard let stream = place.stream else { return nil }
        let queued = state.queue(bytes, of: stream, endsStream: remaining == bytes.count)
        if let remaining, queued > 0 {
            self.remaining = remaining - queued
            hasQueuedEnd = remaining == queued
        }
        if queued == bytes.count, let trailers {
            let fields = OutgoingFields(trailers: trailers) { Redaction.standard.isSecret($0) }
            state.frames.end(stream, trailers: trailers.isEmpty ? nil : fields)
            hasQueuedEnd = true
            self.trailers = nil
        }
        return queued > 0 || bytes.isEmpty ? queued : nil
    }

    /// Sends the output at once, or together with the output of other tasks that are ready to run.
    ///
    /// If the exchange ends (`isLast`), a separate task sends what the socket does not accept.
    private func sendOutput(of state: inout HTTP2SessionState, isLast: Bool = false) {
        guard state.outputCount > 0 else { return }
        let isUrgent = state.isAlone || blocksThread || state.outputCount >= 16 << 10 || state.isFlushLate
        if isUrgent { state.flush(to: &connection.stream) }
        if isLast || !isUrgent { state.requestFlush() }
    }

    var hasUnsentPrefix: Bool { fields != nil || trailers != nil }

    var awaitsPlace: Bool { fields != nil }

    /// Frames are sent from memory.
    var sendsFiles: Bool { false }

    func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        .wouldBlock
    }

    var hasWritten: Bool {
        guard let place, !isInherited else { return true }
        return access { state in place.stream.map { state.hasSentHead(of: $0, over: connection.stream) } ?? false }
    }

    /// A request of which nothing was sent is unprocessed, whatever happened to the connection.
    var refusal: StreamRefusal? { inbox.refusal ?? (hasWritten ? nil : .unprocessed) }
}

// MARK: The response

extension HTTP2Stream {
    func receive() throws(StreamError) -> TransferResult { try receive(into: nil) }

    /// Receives what has arrived for all streams; the body of this one in `space`, unless earlier bytes are unread.
    ///
    /// - Parameter space: The destination of the body; nil to receive it in the inbox.
    /// - Returns: The number of body bytes in `space`, possibly 0. If `space` is nil, the number of bytes and events
    ///   that have arrived.
    /// - Throws: The error of the connection, after everything that arrived before it has been taken.
    private func receive(into space: UnsafeMutableRawBufferPointer?) throws(StreamError) -> TransferResult {
        guard let place else { return .end }
        if isInherited { throw .system(.forkedChild) }
        for turn in 0..<HTTP2SessionState.receives {
            let result = try access { (state) throws(StreamError) -> TransferResult? in
                state.endWait(of: place)
                if let count = take(from: place) { return .bytes(space == nil ? count : 0) }
                if let failure = state.receiveFailure { throw failure }
                if state.isOver { return .end }
                if state.flushRequest == nil || state.isFlushLate || blocksThread {
                    state.flush(to: &connection.stream)
                }
                // Little is received with a head: the remainder of a larger body is received at its destination.
                let isForHead = turn == 0 && state.isAlone && !inbox.hasHead
                let limit = isForHead ? ReceiveBuffer.headSize : WideMemory.size
                var hasReceived = false
                let direct = place.receiveBody(into: space) {
                    hasReceived = state.receive(from: &connection.stream, upTo: limit)
                }
                if direct > 0 { recordTaken(direct, from: place, &state) }
                let count = take(from: place)
                if direct > 0 { return .bytes(direct) }
                if let count { return .bytes(space == nil ? count : 0) }
                if hasReceived || state.isOver { return nil }
                // Only now, so that what had arrived before the failure is read first.
                if let failure = state.sendFailure { throw failure }
                return .wouldBlock
            }
            if let result { return result }
        }
        return .wouldBlock
    }

    /// Records that `count` bytes of the body have reached their destination, so that the peer may send more.
    private func recordTaken(_ count: Int, from place: ExchangePlace, _ state: inout HTTP2SessionState) {
        place.waitStart = nil
        hasLooked = false
        inbox.recordBody(count)
        if let stream = place.stream { state.consumed(count, of: stream) }
        // Sent now, because the caller may pause. A failure ends the next receive.
        sendOutput(of: &state)
    }

    private func take(from place: ExchangePlace) -> Int? {
        guard let count = inbox.take(&place.arrivals) else { return nil }
        recordProgress(at: place)
        return count
    }

    /// Records that the exchange has taken arrivals or queued a part of its request: at a time-out, only a wait after
    /// this shows how long the peer has been silent.
    private func recordProgress(at place: ExchangePlace) {
        place.waitStart = nil
        hasLooked = false
    }

    func nextEvent() throws(RequestError) -> ResponseEvent { try inbox.nextEvent() }

    func receiveEnd(after failure: StreamError?) throws(RequestError) {
        let place: WireError.Place = inbox.hasHead ? .body : inbox.hasBegun ? .afterInterim : .beforeMessage
        throw session.access { $0.ended(place, after: failure) }
    }

    var receivesDirectly: Bool { inbox.isReadyForBody }

    func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        try receive(into: space)
    }

    func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = inbox.takeBody(into: space)
        guard !inbox.hasEnded, let place, !isInherited else { return count }
        access { state in
            if let stream = place.stream { state.consumed(count, of: stream) }
            // Sent now, because the caller may pause. A failure ends the next receive.
            sendOutput(of: &state)
        }
        return count
    }

    func takeWholeBody(upTo limit: Int) -> Data? { inbox.takeWholeBody(upTo: limit) }

    var unread: Int { inbox.unread }
    var pending: Int { inbox.pending }
    var expectsBody: Bool { false }
    var hasBegunResponse: Bool { inbox.hasBegun }
    var awaitsResponse: Bool { !inbox.hasHead }
    var bodyLength: Int? { inbox.bodyLength }
    var isChunked: Bool { false }
    var persists: Bool { !inbox.isStopped }
    var httpVersion: RawResponse.Metrics.HTTPVersion { .http2 }

    /// True, because the session, not an exchange, determines whether the connection accepts another one.
    func isReusable(afterWholeRequest isWhole: Bool, hasRespondedFirst: Bool) -> Bool { true }
}
