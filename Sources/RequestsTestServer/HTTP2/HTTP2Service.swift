import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX

/// The service of one HTTP/2 connection.
///
/// Its thread belongs to the connection until the end: it reads requests, and sends the output of the exchanges.
struct HTTP2Service: ConnectionService {
    /// A request whose end has not arrived.
    private struct Arrival {
        let exchange: HTTP2Exchange
        var request: ArrivingRequest
        /// Whether the exchange already has its thread, because it responds early.
        var hasStarted = false
        var trailers = Header.empty
        let deadline: Deadline
    }

    private let connection: ServerConnection
    private let server: ServerState
    private let negotiation: TLSConfiguration.Negotiation?
    private let frames: HTTP2Connection
    private var arrivals: [StreamID: Arrival] = [:]
    private var exchangeCount = 0
    /// The last stream in GOAWAY; requests on later streams are not processed.
    private var lastStream = StreamID.largest
    private var buffer: [UInt8] = []
    private var lastTransfer = Deadline.now
    /// The instant by which the client must have sent its preface and SETTINGS.
    private var prefaceDeadline: Deadline

    init(
        _ connection: ServerConnection, _ server: ServerState, _ settings: TestServer.HTTP2Settings,
        _ negotiation: TLSConfiguration.Negotiation?
    ) throws(SystemError) {
        self.connection = connection
        self.server = server
        self.negotiation = negotiation
        let limits = settings.limits(headBytes: server.limits.headBytes)
        let end = max(0, settings.closesAfterByte ?? .max)
        frames = try HTTP2Connection(limits, closingAfter: end) { [weak server] change in
            server?.change { $0.changeStreams(change) }
        }
        deadline = server.limits.idleTime.map(Deadline.after) ?? .distantFuture
        prefaceDeadline = .distantFuture
    }

    /// The instant by which the first bytes must have arrived.
    let deadline: Deadline

    /// Serves the connection to its end, and returns false.
    mutating func run() -> Bool {
        prefaceDeadline = server.limits.headTime.map(Deadline.after) ?? .distantFuture
        connection.onStop { [frames] in frames.stop() }
        server.setFrames(frames, of: connection.index)
        defer { server.setFrames(nil, of: connection.index) }
        do throws(ConnectionEnd) {
            try transfer()
        } catch {
            // Every error ends the connection.
        }
        frames.end()
        for stream in arrivals.keys { abandonArrival(of: stream) }
        return false
    }

    private mutating func transfer() throws(ConnectionEnd) {
        while true {
            switch frames.nextStep(hasArrivals: !arrivals.isEmpty) {
            case .stop: return
            case .close(let isReset):
                if isReset { try? connection.socket.setResetOnClose() } else { connection.endOutput() }
                // A connection that is closed with unread bytes is reset, and the client could lose what was sent.
                _ = try connection.receive(into: &buffer)
                return
            case .linger: return try linger()
            case .transfer(let hasOutput, let acceptsInput, let deadline):
                var hasMoved = false
                if acceptsInput, try receive() { hasMoved = true }
                if hasOutput, try send() { hasMoved = true }
                try checkLimits(hasOutput: hasOutput, hasMoved: hasMoved)
                if hasMoved { continue }
                let wanted: Interest = [acceptsInput ? .reading : .none, hasOutput ? .writing : .none]
                guard !(try connection.wait(forAny: wanted, by: min(deadline, nextLimit), orUntil: frames.wake)) else {
                    continue
                }
                frames.expire()
            }
        }
    }

    /// Receives and handles bytes; returns false if none have arrived.
    private mutating func receive() throws(ConnectionEnd) -> Bool {
        buffer.removeAll(keepingCapacity: true)
        guard let (count, _) = try connection.receive(into: &buffer) else { throw .closed }
        guard count > 0 else { return false }
        server.count(receivedBytes: count)
        let events = frames.receive(buffer)
        for (index, event) in events.enumerated() {
            guard case .head(let slot, .request(let head)) = event else {
                handle(event)
                continue
            }
            var hasBody = true
            if index + 1 < events.count, case .ended(slot) = events[index + 1] { hasBody = false }
            begin(slot, ReceivedRequest(head, hasBody: hasBody))
        }
        frames.recordHandled()
        return true
    }

    private func send() throws(ConnectionEnd) -> Bool {
        let bytes = frames.nextOutput
        guard !bytes.isEmpty, let count = try connection.sendAvailable(bytes) else { return false }
        frames.recordSent(count)
        return true
    }

    /// Ends the output, and reads until the client closes the connection or the time for that has passed.
    private mutating func linger() throws(ConnectionEnd) {
        frames.end()
        connection.endOutput()
        let deadline = Deadline.after(server.limits.drainTime)
        while try connection.wait(forAny: .reading, by: deadline, orUntil: frames.wake), !deadline.hasPassed {
            buffer.removeAll(keepingCapacity: true)
            guard case .linger = frames.nextStep(hasArrivals: false), try connection.receive(into: &buffer) != nil
            else { return }
        }
    }
}

// MARK: Requests

extension HTTP2Service {
    private mutating func begin(_ slot: StreamSlot, _ head: ReceivedRequest) {
        let index = exchangeCount
        exchangeCount += 1
        let behavior = server.behavior(connection.index, index)
        if let goAway = behavior.goAway {
            lastStream = min(lastStream, goAway.lastStream ?? slot.stream)
            frames.goAway(lastStream, HTTP2ErrorCode(rawValue: goAway.code), goAway.debugText)
        }
        guard slot.stream <= lastStream, server.countExchange() else {
            return frames.reset(slot, .refusedStream)
        }
        let exchange = HTTP2Exchange(slot, head, behavior, frames, server)
        var arrival = Arrival(
            exchange: exchange, request: ArrivingRequest(server),
            deadline: server.limits.bodyTime.map(Deadline.after) ?? .distantFuture)
        frames.add(exchange)
        do throws(ConnectionEnd) {
            try arrival.request.begin(head, connection: connection.index, index: index, tls: negotiation)
        } catch {
            arrivals[slot.stream] = arrival
            return refuse(slot.stream, error)
        }
        arrivals[slot.stream] = arrival
        if case .resetStream(let code, nil) = behavior.fault {
            frames.reset(slot, HTTP2ErrorCode(rawValue: code))
            abandonArrival(of: slot.stream)
        } else if head.framing != .none, let early = behavior.earlyResponse {
            arrivals[slot.stream]?.hasStarted = true
            start(arrival, .respondEarly(early))
        } else if head.expectsContinue, behavior.sendsContinue {
            frames.respond(to: slot, interim: 100)
        }
    }

    private mutating func handle(_ event: ConnectionEvent) {
        switch event {
        case .data(let slot, let range):
            if var arrival = arrivals[slot.stream] {
                do throws(ConnectionEnd) {
                    try arrival.request.append(Data(buffer[range]))
                    arrivals[slot.stream] = arrival
                } catch {
                    refuse(slot.stream, error)
                }
            }
            if arrivals[slot.stream]?.exchange.readsBody ?? true { frames.consume(slot, range.count) }
        case .trailers(let slot, let trailers): arrivals[slot.stream]?.trailers = trailers
        case .ended(let slot):
            guard var arrival = arrivals.removeValue(forKey: slot.stream) else { return }
            arrival.request.end(with: arrival.trailers)
            if arrival.hasStarted {
                arrival.request.release()
            } else {
                start(arrival, .execute(body: arrival.request.body))
            }
        case .reset(let slot, _):
            frames.cancel(slot.stream)
            abandonArrival(of: slot.stream)
        case .settled: prefaceDeadline = .distantFuture
        case .head, .interim, .capacity, .places, .draining, .goAway: break
        }
    }

    /// Refuses a request whose end has not arrived.
    private mutating func refuse(_ stream: StreamID, _ reason: ConnectionEnd) {
        guard case .refused(let status, let detail, let fields) = reason, let arrival = endArrival(of: stream) else {
            return
        }
        if arrival.hasStarted {
            frames.reset(arrival.exchange.slot, .noError)
            // The exchange could otherwise wait until it can write to the stream, which has ended.
            frames.cancel(stream)
        } else {
            start(arrival, .refuse(status, detail, fields))
        }
    }

    /// Ends a request whose remainder will not arrive, and its exchange.
    private mutating func abandonArrival(of stream: StreamID) {
        if let arrival = endArrival(of: stream) { frames.remove(arrival.exchange) }
    }

    /// Records what has arrived of a request, and releases it.
    private mutating func endArrival(of stream: StreamID) -> Arrival? {
        guard var arrival = arrivals.removeValue(forKey: stream) else { return nil }
        arrival.request.stop()
        arrival.request.release()
        return arrival
    }

    /// Starts the thread of an exchange; without a thread, its stream is refused.
    private func start(_ arrival: Arrival, _ work: HTTP2Exchange.Work) {
        let (exchange, frames) = (arrival.exchange, frames)
        let record = arrival.request.statusRecorder
        do throws(SystemError) {
            try server.startThread(named: "test-stream") {
                exchange.perform(work, recording: record)
                frames.remove(exchange)
            }
        } catch {
            if case .execute(let body) = work { server.release(body.count) }
            frames.reset(exchange.slot, .refusedStream)
            frames.remove(exchange)
        }
    }
}

// MARK: Limits

extension HTTP2Service {
    /// The instant at which the next time limit passes.
    private var nextLimit: Deadline {
        let idleLimit = server.limits.idleTime.map { lastTransfer.advanced(by: $0) } ?? .distantFuture
        return arrivals.values.reduce(min(idleLimit, prefaceDeadline)) { min($0, $1.deadline) }
    }

    private mutating func checkLimits(hasOutput: Bool, hasMoved: Bool) throws(ConnectionEnd) {
        if hasMoved { lastTransfer = .now }
        guard nextLimit.hasPassed else { return }
        if prefaceDeadline.hasPassed { throw .closed }
        for (stream, arrival) in arrivals where arrival.deadline.hasPassed {
            refuse(stream, .refused(408, "the request did not arrive in time"))
        }
        guard let idleTime = server.limits.idleTime, lastTransfer.advanced(by: idleTime).hasPassed else { return }
        if hasOutput { throw .closed }
        lastTransfer = .now
        if frames.isIdle { frames.drain() }
    }
}

extension ReceivedRequest {
    /// Creates a request from an HTTP/2 head, whose authority becomes the field Host (RFC 9113 §8.3.1).
    fileprivate init(_ head: MessageHead.RequestHead, hasBody: Bool) {
        var header = head.header
        if let authority = head.authority {
            header.removeFields(named: { $0 == .host })
            header = Header([Field(name: .host, value: authority)] + header.list)
        }
        let length = header[.contentLength].flatMap { Int($0) }
        let framing: BodyFraming = length.map { .counted(bytes: $0) } ?? (hasBody ? .chunked : .none)
        let target = head.path ?? head.authority ?? ""
        let line = RequestLine(method: head.method, target: target, version: HTTPVersion(major: 2, minor: 0))
        self.init(line: line, header: header, framing: framing, isReusable: true)
    }
}
