import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX

// Receiving frames, and passing their events to the exchanges.
extension HTTP2SessionState {
    /// The maximum number of receives in a row, after which other tasks run and time limits are checked.
    static var receives: Int { 16 }
    /// The maximum number of bytes that are reserved for the declared length of a body.
    private static var reservedSize: Int { 64 << 10 }

    /// Receives at most `limit` bytes, and passes the events to the places; returns whether anything has arrived.
    mutating func receive(from bytes: inout ByteStream, upTo limit: Int = WideMemory.size) -> Bool {
        guard !isOver else { return false }
        reader = nil
        let memory = WideMemory.take()
        defer { WideMemory.recycle(memory) }
        let space = UnsafeMutableRawBufferPointer(rebasing: memory.prefix(limit))
        do throws(StreamError) {
            switch try bytes.read(into: space) {
            case .bytes(let count):
                read(UnsafeRawBufferPointer(rebasing: space[..<count]))
                // A receive that does not fill the buffer leaves nothing; over TLS, another record may remain.
                let isShort = count < space.count && !bytes.isSecured && !bytes.channel.hasFaults
                mayHaveArrived = !isShort
                return true
            case .end:
                hasEnded = true
                wakeAll()
            case .wouldBlock:
                mayHaveArrived = bytes.directions(for: .reading).isEmpty || bytes.channel.takeDelay()
                // The receive may have read what TLS needed to send.
                if isFull, bytes.isSecured { flush(to: &bytes) }
            }
        } catch {
            // The reason in GOAWAY is more precise than the loss of the connection.
            if goAway != nil, error.isConnectionLoss { hasEnded = true } else { receiveFailure = error }
            wakeAll()
        }
        return false
    }

    /// Receives everything that has arrived, in at most ``receives`` steps.
    mutating func receiveAll(from bytes: inout ByteStream) {
        for _ in 0..<Self.receives { guard receive(from: &bytes) else { break } }
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer) {
        do throws(HTTP2Error) {
            try frames.receive(Span(_unsafeBytes: bytes), at: .now, into: &events)
            handleEvents(of: bytes)
        } catch {
            handleEvents(of: bytes)
            fail(error)
        }
    }

    private mutating func fail(_ error: HTTP2Error) {
        for place in places { place.arrivals.fail(RequestError(error, limits)) }
        wakeAll()
    }

    /// Passes events to the places that they concern; the bytes of bodies are ranges of `bytes`.
    mutating func handleEvents(
        of bytes: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        if events.isEmpty { return }
        // First, because GOAWAY follows the resets of the streams that it excludes, and their errors contain it.
        for case .goAway(let goAway) in events { self.goAway = goAway }
        for event in events { handle(event, bytes) }
        events.removeAll(keepingCapacity: true)
    }

    private mutating func handle(_ event: ConnectionEvent, _ bytes: UnsafeRawBufferPointer) {
        switch event {
        case .interim(let stream, let status, let header):
            deliver(to: stream) { $0.add(.interim(status, header)) }
        case .head(let stream, .response(let status, let header)):
            hasResponded = true
            if let place = place(of: stream), let limit = place.collectingLimit {
                let length = frames.widen(stream, upTo: limit, at: .now)
                // A lone call receives its body at its destination.
                if let length, !isAlone { place.arrivals.reserveBody(max(0, min(length, limit, Self.reservedSize))) }
            }
            deliver(to: stream) { $0.add(.head(status, header)) }
        case .data(let stream, let range):
            guard let place = place(of: stream) else { break }
            place.addBody(UnsafeRawBufferPointer(rebasing: bytes[range]))
            wake(place)
        case .trailers(let stream, let trailers): deliver(to: stream) { $0.add(trailers) }
        case .ended(let stream): deliver(to: stream) { $0.complete() }
        case .reset(let stream, let reset):
            hasResponded = true
            let error = RequestError(reset, goAway, limits)
            let requiresHTTP1 = reset.code == .http11Required || goAway?.code == .http11Required
            // In a burst, each new connection may refuse the request before the settings of the server arrive.
            let isEarly = goAway == nil && place(of: stream)?.isEarly == true
            let unprocessed: StreamRefusal =
                requiresHTTP1 ? .requiresHTTP1 : isEarly ? .excluded : refusalOfUnprocessed
            deliver(to: stream) { $0.reset(error, with: reset.code, as: reset.isUnprocessed ? unprocessed : .reset) }
        case .capacity(let stream): if let place = place(of: stream) { wake(place) }
        case .places(let count): for place in waitingForStream.prefix(count) { wake(place) }
        case .settled, .draining, .goAway: for place in waitingForStream { wake(place) }
        case .head(_, .request): break
        }
    }

    /// The places whose calls wait to open a stream.
    var waitingForStream: [ExchangePlace] {
        places.filter { $0.stream == nil && $0.wait?.wanted.contains(.writing) == true }
    }

    private func place(of stream: StreamSlot) -> ExchangePlace? {
        guard stream.index < streams.count, let place = streams[stream.index], place.stream == stream else {
            return nil
        }
        return place
    }

    private mutating func deliver(to stream: StreamSlot, _ add: (inout StreamArrivals) -> Void) {
        guard let place = place(of: stream) else { return }
        add(&place.arrivals)
        wake(place)
    }

    /// Frees the places of streams that were reset long ago, and ends the connection if a PING was not acknowledged in
    /// time.
    mutating func expire(over bytes: inout ByteStream, at now: Deadline = .now) {
        // The acknowledgement may have arrived.
        if mayHaveArrived, frames.deadline <= now { receiveAll(from: &bytes) }
        do throws(HTTP2Error) {
            try frames.expire(at: now, into: &events)
            handleEvents()
        } catch {
            handleEvents()
            fail(error)
        }
    }

    /// Returns the error of a response whose connection has ended at `place`.
    func ended(_ place: WireError.Place, after failure: StreamError? = nil) -> RequestError {
        goAway.map { RequestError($0, cause: failure) } ?? RequestError(WireError.truncated(place), cause: failure)
    }

    /// Reads what arrived while the connection carried no exchange, and returns whether it can carry one.
    mutating func idleState(_ bytes: inout ByteStream) -> IdleState {
        var count = 0
        while receive(from: &bytes) {
            count += 1
            if count == Self.receives { return .unusable }
        }
        expire(over: &bytes)
        flush(to: &bytes)
        if isUsable, !frames.isInDoubt { return .usable }
        // Without this, the task that sends the output would keep the connection and its slot while it waits.
        if outputCount > 0 { failSending(.system(.peerIsGone)) }
        return goAway == nil && (hasEnded || receiveFailure != nil || sendFailure != nil) ? .closed : .unusable
    }

    /// Ends the connection, with GOAWAY if the socket accepts it.
    ///
    /// GOAWAY is sent only after the last stream has ended: some servers close the connection when they receive it.
    mutating func close(_ bytes: inout ByteStream) {
        frames.drain()
        if !hasEnded { flush(to: &bytes) }
    }
}
