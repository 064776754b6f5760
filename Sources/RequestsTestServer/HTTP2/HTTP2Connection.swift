@_spi(Lock) import Requests
import RequestsHTTP2
import RequestsPOSIX

/// The frames and streams of an HTTP/2 connection, which all its threads share.
///
/// Each exchange has its own thread, which queues frames here; the thread of the connection transfers them.
final class HTTP2Connection: Sendable {
    private struct State: ~Copyable, Sendable {
        var connection: ConnectionState
        /// The frames that wait to be sent, with the bytes of bodies between them.
        var output: [UInt8] = []
        var sentCount = 0
        /// The number of bytes after which the connection is closed.
        var end: Int
        /// Whether the connection is reset when it is closed.
        var isReset = false
        /// Whether the connection is closed after its last exchange.
        var isDraining = false
        /// Whether the client has violated a rule of the connection.
        var hasFailed = false
        var isStopping = false
        /// Whether the connection has been closed.
        var isOver = false
        /// Whether the thread of the connection is still handling events of received bytes.
        var isHandling = false
        /// The number of open streams that was last reported, and the maximum since then.
        var reportedStreams = 0
        var mostStreams = 0
        /// The exchanges that have not ended.
        var exchanges: [StreamID: HTTP2Exchange] = [:]

        /// Moves the queued frames to the output; `content` is the body bytes of the DATA frame among them.
        mutating func moveOutput(_ content: Data = Data(), at now: Deadline, into events: inout [ConnectionEvent]) {
            for piece in connection.output() {
                switch piece {
                case .frames(let bytes): output += bytes
                case .body(_, let count): output += content.prefix(count)
                }
            }
            connection.written(connection.outputCount, at: now, into: &events)
        }

        /// Closes the connection after the first `count` bytes of the output, or all of them.
        mutating func close(after count: Int = .max) {
            end = min(end, sentCount + min(count, output.count))
        }

        /// The number of streams that have not ended.
        var streamCount: Int { isOver ? 0 : connection.streamCount }

        /// Returns the unreported change of the number of streams; nil if there is none.
        ///
        /// The end of a stream is reported only after it was handled, when the record of its request is complete.
        mutating func takeStreamChange() -> StreamChange? {
            guard !isHandling || streamCount > reportedStreams else { return nil }
            let change = StreamChange(difference: streamCount - reportedStreams, maximum: mostStreams)
            guard change.difference != 0 || mostStreams > streamCount else { return nil }
            (reportedStreams, mostStreams) = (streamCount, streamCount)
            return change
        }

        /// Moves the last frames of a response to the output, and ends it; a stream that was reset has no frames.
        mutating func finish(
            _ ending: Ending, _ content: Data = Data(), at now: Deadline, into events: inout [ConnectionEvent]
        ) {
            let start = output.count
            moveOutput(content, at: now, into: &events)
            guard output.count > start else { return }
            // The client cannot have the last byte yet.
            ending.record()
            output += ending.bytes
            if ending.closes { close() }
        }
    }

    /// A change of the number of open streams.
    struct StreamChange: Sendable {
        let difference: Int
        /// The largest number since the previous change.
        let maximum: Int
    }

    /// The end of a response.
    struct Ending: Sendable {
        /// A function that is called before the last byte is sent.
        let record: @Sendable () -> Void
        /// Bytes that follow the response.
        var bytes: [UInt8] = []
        /// Whether the connection is closed after them.
        var closes = false
    }

    /// The number of bytes in the output above which exchanges wait.
    private static let outputLimit = 64 << 10

    private let state: Lock<State>
    /// Ends the wait of the connection's thread.
    let wake: WakeSignal

    private let onStreams: @Sendable (StreamChange) -> Void

    init(
        _ limits: HTTP2Limits, closingAfter end: Int, onStreams: @escaping @Sendable (StreamChange) -> Void
    ) throws(SystemError) {
        self.onStreams = onStreams
        wake = try WakeSignal()
        state = Lock(State(connection: ConnectionState(.server, limits: limits, at: .now), end: end))
    }

    /// Changes the state, and notifies the thread of the connection and the exchanges that can continue.
    @discardableResult
    private func change<Value: Sendable>(
        _ body: @Sendable (inout State, Deadline, inout [ConnectionEvent]) -> Value
    ) -> Value {
        let (value, exchanges, change) = state.withLock { state -> (Value, [HTTP2Exchange], StreamChange?) in
            let now = Deadline.now
            var events: [ConnectionEvent] = []
            let value = body(&state, now, &events)
            state.moveOutput(at: now, into: &events)
            state.mostStreams = max(state.mostStreams, state.streamCount)
            return (value, Self.exchanges(with: events, in: state), state.takeStreamChange())
        }
        if let change { onStreams(change) }
        wake.signal()
        for exchange in exchanges { exchange.resume() }
        return value
    }

    /// Returns the exchanges that can write.
    private static func exchanges(with events: [ConnectionEvent], in state: borrowing State) -> [HTTP2Exchange] {
        var exchanges: [HTTP2Exchange] = []
        for case .capacity(let slot) in events {
            if let exchange = state.exchanges[slot.stream] { exchanges.append(exchange) }
        }
        return exchanges
    }

    /// Ends the connection; can be called on any thread.
    func stop() {
        change { state, _, _ in state.isStopping = true }
    }
}

// MARK: The thread of the connection

extension HTTP2Connection {
    /// Reads received bytes, and returns the resulting events; after a violation of the client, the connection is
    /// closed.
    ///
    /// Call ``recordHandled()`` when the events have been handled.
    func receive(_ bytes: [UInt8]) -> [ConnectionEvent] {
        change { state, now, events in
            state.isHandling = true
            do throws(HTTP2Error) {
                try state.connection.receive(bytes.span, at: now, into: &events)
            } catch {
                // GOAWAY contains the reason.
                state.hasFailed = true
            }
            return events
        }
    }

    /// Records that the events of received bytes were handled, and reports the streams that have ended.
    func recordHandled() {
        change { state, _, _ in state.isHandling = false }
    }

    /// The bytes to send next, up to the byte after which the connection is closed.
    var nextOutput: ArraySlice<UInt8> {
        state.withLock { $0.output.prefix(min(Self.outputLimit, $0.end - $0.sentCount)) }
    }

    func recordSent(_ count: Int) {
        let exchanges = state.withLock { state in
            let wasFull = state.output.count >= Self.outputLimit
            state.output.removeFirst(count)
            state.sentCount += count
            return wasFull && state.output.count < Self.outputLimit ? Array(state.exchanges.values) : []
        }
        for exchange in exchanges { exchange.resume() }
    }

    /// The next step of the connection's thread.
    enum Step {
        /// It waits until the socket can be read or, if there is output, written.
        case transfer(hasOutput: Bool, acceptsInput: Bool, until: Deadline)
        /// It closes the connection at once.
        case close(resetting: Bool)
        /// It closes the connection when the client has, or after a while.
        case linger
        case stop
    }

    /// Returns what the thread of the connection does next; `hasArrivals` is whether any request has arrived only in
    /// part.
    func nextStep(hasArrivals: Bool) -> Step {
        state.withLock { state in
            if state.isStopping { return .stop }
            if state.sentCount >= state.end { return .close(resetting: state.isReset) }
            let isComplete = state.hasFailed || state.isDraining && !hasArrivals && state.exchanges.isEmpty
            if isComplete, state.output.isEmpty { return .linger }
            // A client that does not read could otherwise fill the memory with acknowledgements.
            let acceptsInput = !state.hasFailed && state.output.count < 4 * Self.outputLimit
            return .transfer(
                hasOutput: !state.output.isEmpty, acceptsInput: acceptsInput,
                until: state.connection.deadline)
        }
    }

    /// Ends the turns of exchanges that do not write, so that others can.
    func expire() {
        change { state, now, events in
            // It fails only after a PING, which a server does not send.
            try? state.connection.expire(at: now, into: &events)
        }
    }

    /// Whether no exchange is in progress.
    var isIdle: Bool { state.withLock { $0.exchanges.isEmpty } }

    func add(_ exchange: HTTP2Exchange) {
        state.withLock { $0.exchanges[exchange.slot.stream] = exchange }
    }

    /// Cancels the exchange of a stream that was reset.
    func cancel(_ stream: StreamID) {
        state.withLock { $0.exchanges[stream] }?.cancel()
    }

    /// Cancels all exchanges, because the connection is closed.
    func end() {
        let exchanges = change { state, _, _ in
            state.isOver = true
            return Array(state.exchanges.values)
        }
        for exchange in exchanges { exchange.cancel() }
    }

    /// Returns the credit of body bytes to the client.
    func consume(_ slot: StreamSlot, _ count: Int) {
        change { state, now, _ in state.connection.consumed(slot, count, at: now) }
    }
}

// MARK: The threads of exchanges

extension HTTP2Connection {
    func remove(_ exchange: HTTP2Exchange) {
        change { state, _, _ in state.exchanges[exchange.slot.stream] = nil }
    }

    /// Queues an interim response.
    func respond(to slot: StreamSlot, interim status: HTTPStatus) {
        change { state, _, _ in
            state.connection.respond(to: slot, OutgoingFields(status: status, .empty), isInterim: true)
        }
    }

    /// Queues a head; `ending` is the end of a response without a body.
    func respond(to slot: StreamSlot, _ fields: OutgoingFields, ending: Ending? = nil) {
        change { state, now, events in
            state.connection.respond(to: slot, fields, endsStream: ending != nil)
            if let ending { state.finish(ending, at: now, into: &events) }
        }
    }

    /// Queues a head; the connection is closed after the first `count` bytes of its frames.
    func respond(to slot: StreamSlot, _ fields: OutgoingFields, closingAfter count: Int) {
        change { state, now, events in
            let start = state.output.count
            state.connection.respond(to: slot, fields)
            state.moveOutput(at: now, into: &events)
            state.close(after: start + min(max(0, count), state.output.count - start))
        }
    }

    /// Queues as many bytes of a body as there is room for; `ending` is the end of the response after the last of them.
    ///
    /// - Returns: The number of bytes queued; after 0, the exchange is resumed when there is room.
    func write(_ bytes: Data, to slot: StreamSlot, ending: Ending?) -> Int {
        change { state, now, events in
            guard state.output.count < Self.outputLimit else { return 0 }
            let count = state.connection.write(slot, bytes.count, endsStream: ending != nil)
            if let ending, count == bytes.count {
                state.finish(ending, bytes, at: now, into: &events)
            } else {
                state.moveOutput(bytes, at: now, into: &events)
            }
            return count
        }
    }

    /// Queues the end of a body, and trailers if there are any.
    func end(_ slot: StreamSlot, trailers: OutgoingFields?, ending: Ending) {
        change { state, now, events in
            state.connection.end(slot, trailers: trailers)
            state.finish(ending, at: now, into: &events)
        }
    }

    /// Resets a stream that has not ended.
    func reset(_ slot: StreamSlot, _ code: HTTP2ErrorCode) {
        change { state, now, _ in state.connection.reset(slot, code, at: now) }
    }

    /// Queues bytes between frames, and closes the connection after them if `closes` is true.
    func send(_ bytes: [UInt8], closing closes: Bool = false) {
        change { state, _, _ in
            state.output += bytes
            if closes { state.close() }
        }
    }

    /// Queues GOAWAY; the connection is closed when the streams up to `lastStream` have ended, unless that is the
    /// largest number.
    func goAway(_ lastStream: StreamID, _ code: HTTP2ErrorCode, _ debugText: String) {
        change { state, _, _ in
            var writer = FrameWriter()
            writer.goAway(lastStream: lastStream, code, debugText: debugText)
            state.output += writer.bytes
            if lastStream < .largest { state.isDraining = true }
        }
    }

    /// Announces with GOAWAY that the connection accepts no more streams, and closes it when the others have ended.
    func drain() {
        change { state, _, _ in
            // A later GOAWAY cannot allow more streams than an earlier one.
            if !state.isDraining { state.connection.drain() }
            state.isDraining = true
        }
    }

    /// Closes the connection when everything queued has been sent.
    func close(resetting isReset: Bool = false) {
        change { state, _, _ in
            state.close()
            state.isReset = isReset
        }
    }
}
