package import Requests

/// An HTTP/2 connection (RFC 9113) as a value that performs no I/O and has no clock.
///
/// Pass the received bytes to ``receive(_:at:into:)``, and send the pieces that ``output()`` returns. All functions are
/// called under one lock. Bodies are never copied: events and ``OutputPiece/body(_:count:)`` refer to bytes that their
/// owner keeps.
// The getters that each request calls are mutating: to call another getter, the compiler copies the whole value.
package struct ConnectionState: ~Copyable, Sendable {
    let role: HTTP2Role
    let limits: HTTP2Limits

    var reader: FrameReader
    var decoder = HPACKDecoder()
    var encoder = HPACKEncoder()
    var queue = OutputQueue()

    // MARK: Streams
    var streams = StreamTable()
    var closed = ClosedStreams()
    /// The number of the next stream that a client opens; above 2^31 - 1 when all are used.
    var nextStream: StreamID
    /// The number of the last stream that the client of this server has opened.
    var lastPeerStream: StreamID = 0
    /// The streams that wait for the window of the connection or for space in the queue, in their turn.
    var turns: [StreamSlot] = []
    /// The number of streams for which room is reserved: they were notified of their turn and have not written yet.
    var grants = 0
    /// The instant at which these reservations end.
    var grantsExpire = Deadline.distantFuture

    // MARK: Windows
    /// The number of bytes of all bodies that may be sent.
    package internal(set) var sendWindow = WindowSize.initial
    var receiveWindow: ReceiveWindow
    /// The receive windows of all streams together, in bytes.
    var streamWindows = 0
    /// The maximum initial receive window of a collected body, in bytes: 1 MiB, or the largest stream window so far.
    var collectingWindow = HTTP2Limits.collectingWindow

    // MARK: The peer
    var peerSettings = ReceivedSettings()
    /// Whether the peer's SETTINGS have arrived.
    package internal(set) var isSettled = false
    var goAway: Frame.GoAway?
    var liveness: Liveness

    // MARK: Ends and budgets
    /// The places of streams that we have reset, which the peer may still count.
    var heldPlaces: [HeldPlace] = []
    /// The number of free places that was last reported to the user.
    var knownPlaces = 0
    /// Whether the user of a client has been notified that the connection accepts no more streams.
    var hasReportedDraining = false
    /// Whether we accept no more streams: after ``drain()``, too many cancellations or ENHANCE_YOUR_CALM, or if the
    /// peer may be lost.
    var hasDrained = false
    /// Whether ``drain()`` has sent GOAWAY.
    var hasAnnouncedEnd = false
    /// The last stream in the GOAWAY that we have sent, which later ones must not exceed.
    var announcedLast = StreamID.largest
    package internal(set) var failure: HTTP2Error?
    var emptyFrames = Allowance(HTTP2Limits.emptyFrames)
    /// The number of frames that may still arrive for streams that have ended, because the peer did not know it yet.
    var lateFrames = 0
    var streamErrors = Allowance(HTTP2Limits.streamErrors)
    var cancellations: LeakingCount
    var peerResets: LeakingCount

    /// Creates a connection, whose ``output()`` begins with the preface, SETTINGS and WINDOW_UPDATE.
    ///
    /// - Parameters:
    ///   - role: The side of this value.
    ///   - limits: The limits.
    ///   - firstStream: The number of the first stream of a client.
    ///   - now: The current instant.
    package init(
        _ role: HTTP2Role, limits: HTTP2Limits = HTTP2Limits(), firstStream: StreamID = 1, at now: Deadline
    ) {
        self.role = role
        self.limits = limits
        reader = FrameReader(role)
        nextStream = firstStream
        receiveWindow = ReceiveWindow(size: WindowSize.initial)
        liveness = Liveness(at: now)
        cancellations = LeakingCount(HTTP2Limits.cancellations, at: now)
        peerResets = LeakingCount(limits.resets, at: now)
        begin(at: now)
        knownPlaces = freePlaces
    }

    /// Reads received bytes, and appends the resulting events to `events`.
    ///
    /// Bytes of bodies are ranges of `bytes`. Pass all bytes, each once.
    ///
    /// - Throws: The connection error, after the events before it; all streams have ended. The output then ends with
    ///   GOAWAY. Later calls throw the same error.
    package mutating func receive(
        _ bytes: Span<UInt8>, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        if let failure { throw failure }
        do throws(HTTP2Error) {
            var position = 0
            while let frame = try reader.next(in: bytes, at: &position) {
                liveness.receive(frame, at: now)
                try process(frame, at: now, into: &events)
            }
        } catch {
            fail(error)
            throw error
        }
        reportCapacity(at: now, into: &events)
    }

    private mutating func process(
        _ frame: Frame, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        switch frame {
        case .data(let part): try receiveData(part, at: now, into: &events)
        case .headers(let stream, let endsStream):
            try receiveBlock(of: stream, endsStream: endsStream, at: now, into: &events)
        case .resetStream(let stream, let code): try receiveReset(of: stream, code, at: now, into: &events)
        case .settings(let settings): try receiveSettings(settings, into: &events)
        case .settingsAcknowledgement:
            if !liveness.receiveSettingsAcknowledgement(at: now) { try countEmptyFrame(.settings) }
        case .ping(let opaque):
            queue.insertAcknowledgement(ofPing: opaque)
            try checkAcknowledgements(in: .ping)
        case .pingAcknowledgement(let opaque):
            if !liveness.receiveAcknowledgement(of: opaque) { try countEmptyFrame(.ping) }
        case .goAway(let goAway): try receiveGoAway(goAway, into: &events)
        case .windowUpdate(let stream, let increment):
            try receiveWindowUpdate(of: stream, increment, at: now, into: &events)
        case .ignored(let type): try countEmptyFrame(type)
        case .streamError(let error): try receiveStreamError(error, at: now, into: &events)
        }
    }

    /// Ends the connection because of `error`; the output ends with GOAWAY.
    mutating func fail(_ error: HTTP2Error) {
        failure = error
        let last = min(lastPeerStream, announcedLast)
        queue.append { $0.goAway(lastStream: last, error.code, debugText: "\(error)") }
    }

    // MARK: Output

    /// Returns the pieces to send, in their order.
    ///
    /// They may be sent without the lock, because new pieces are appended after them. Exactly one call of
    /// ``written(_:at:into:)`` follows each call, with 0 if nothing could be sent.
    package mutating func output() -> [OutputPiece] { queue.pieces() }

    /// The number of bytes that the peer may send in bodies, when it has received ``output()``.
    package var receiveCredit: Int { receiveWindow.available }

    package var outputCount: Int { mutating get { queue.count } }

    /// Records that the first `count` bytes of ``output()`` were sent, and appends the streams that can write now.
    package mutating func written(_ count: Int, at now: Deadline, into events: inout [ConnectionEvent]) {
        queue.remove(count)
        if failure == nil { reportCapacity(at: now, into: &events) }
    }

    /// Appends the events of streams that have their turn to write, and of places that have become free.
    mutating func reportCapacity(at now: Deadline, into events: inout [ConnectionEvent]) {
        grantTurns(at: now, into: &events)
        let places = freePlaces
        if places > knownPlaces { events.append(.places(places)) }
        knownPlaces = places
        guard role == .client, isDraining, goAway == nil, !hasReportedDraining else { return }
        hasReportedDraining = true
        events.append(.draining)
    }

    /// Records that fewer places are free than were last reported, so that an event follows when there are more.
    mutating func noteFewerPlaces() { knownPlaces = min(knownPlaces, freePlaces) }

    // MARK: Budgets

    mutating func countEmptyFrame(_ type: FrameType?, on stream: StreamID = 0) throws(HTTP2Error) {
        guard emptyFrames.take() else { throw HTTP2Error(.manyEmptyFrames, in: type, on: stream) }
    }

    /// Counts a frame of a closed stream as one that carries nothing, unless it may have been sent before the peer knew
    /// of the end.
    mutating func countLateFrame(_ type: FrameType?, on stream: StreamID) throws(HTTP2Error) {
        guard lateFrames == 0 else { return lateFrames -= 1 }
        try countEmptyFrame(type, on: stream)
    }

    mutating func checkAcknowledgements(in type: FrameType) throws(HTTP2Error) {
        guard queue.acknowledgements <= HTTP2Limits.acknowledgements else {
            throw HTTP2Error(.manyAcknowledgements, in: type)
        }
    }
}
