import Requests
import RequestsHTTP1
import RequestsPOSIX

/// The origin of a request, with the pool of connections to it.
///
/// It cannot be copied, so that moving it from a plan to its exchange counts no references.
struct PooledOrigin: ~Copyable, Sendable {
    let handle: PoolHandle
    let origin: Origin

    var pool: ConnectionPool { handle.pool }
}

/// A checked request that has no connection yet.
struct PlannedExchange: ~Copyable, Sendable {
    private let place: PooledOrigin
    private let outgoing: OutgoingRequest
    /// Whether the request continues a running call, which may complete while the executor drains.
    private let isContinuation: Bool
    /// The lost transmission that this one repeats; nil for the first.
    private let earlier: LostTransmission?

    /// Checks the request as far as possible without a connection.
    init(
        _ request: PreparedRequest, over handle: PoolHandle, as transmission: ForwardedTransmission? = nil
    ) throws(RequestError) {
        do throws(RequestError) {
            let timeLimits = SocketTimeLimits(request)
            let origin = try handle.pool.origin(of: request)
            let outgoing = try OutgoingRequest(
                request, through: origin.isForwarded ? origin.proxy : nil, as: transmission, timeLimits)
            try timeLimits.check()
            try request.checkDelivery()
            self.outgoing = outgoing
            place = PooledOrigin(handle: handle, origin: origin)
            isContinuation = transmission?.isRepetition == true || request.redirectedFrom != nil
            earlier = nil
        } catch {
            throw error.beforeSending()
        }
    }

    /// Plans another transmission of a request, whose connect limit starts now.
    fileprivate init(
        _ outgoing: consuming OutgoingRequest, to place: consuming PooledOrigin, after earlier: LostTransmission
    ) {
        var outgoing = outgoing
        outgoing.timeLimits.renewConnecting()
        self.outgoing = outgoing
        self.place = place
        isContinuation = true
        self.earlier = earlier
    }
}

// MARK: Connections

extension PlannedExchange {
    /// Returns an idle connection; nil if there is none.
    func idleConnection() -> Connection? {
        if needsNewConnection { return nil }
        guard let connection = place.pool.takeIdle(place.origin, at: outgoing.timeLimits.began) else { return nil }
        connection.beginReuse()
        return connection
    }

    /// Whether the request cannot be sent again, and the peer is known to close connections after each response.
    private var needsNewConnection: Bool {
        !outgoing.request.isIdempotent && place.pool.closesAfterResponses(place.origin)
    }

    func acquisition() -> SocketAcquisition {
        SocketAcquisition(
            from: place.pool, to: place.origin, outgoing.timeLimits, isContinuation: isContinuation,
            isIdempotent: outgoing.request.isIdempotent)
    }

    func newConnection(in slot: Slot) throws(RequestError) -> UniqueBox<NewSocketConnection> {
        let connector = try place.pool.connector(to: place.origin, outgoing.timeLimits)
        return UniqueBox(NewSocketConnection(to: place.origin, in: slot, over: connector))
    }

    /// Returns the error for a transmission that got no connection.
    func error(after error: RequestError) -> RequestError { earlier?.error(after: error) ?? error }

    fileprivate consuming func exchange<C>(on carrier: C) -> UniqueBox<SocketExchange<C>> {
        let connection = carrier.connection
        if earlier != nil { place.pool.recordUse(of: connection) }
        let (isReused, stamps, tls) = (carrier.isReused, carrier.stamps, connection.tls)
        return UniqueBox(
            SocketExchange(
                place,
                exchange: Exchange(
                    outgoing, on: carrier, isReused: isReused, stamps: stamps, tls: tls, after: earlier)))
    }
}

extension UniqueBox<PlannedExchange> {
    func acquisition() -> UniqueBox<SocketAcquisition> {
        UniqueBox<SocketAcquisition>(value.acquisition())
    }

    /// Returns the transmission over `connection`; `isNew` is true for the exchange that has established it.
    consuming func transmission(over connection: Connection, isNew: Bool) -> Transmission {
        if let http2 = connection.http2 {
            return .http2(take().exchange(on: HTTP2Stream(on: connection, http2, isNew: isNew)))
        }
        return .http1(take().exchange(on: connection))
    }
}

extension UniqueBox where Value: ~Copyable {
    /// Ends the exchange, which failed with `error`, and returns the plan of another transmission.
    ///
    /// - Throws: `error`, unless the request can be sent again.
    consuming func repeated<C>(after error: RequestError) throws(RequestError) -> UniqueBox<PlannedExchange>
    where Value == SocketExchange<C> {
        UniqueBox<PlannedExchange>(try take().repeated(after: error))
    }
}

/// A transmission of a request over a connection, in its version of HTTP.
enum Transmission: ~Copyable {
    case http1(UniqueBox<SocketExchange<Connection>>)
    case http2(UniqueBox<SocketExchange<HTTP2Stream>>)
}

/// An exchange of the socket executor, with the pool of its connection.
///
/// Its connection returns to the pool when the response has ended, or is closed with this value.
struct SocketExchange<C: PooledCarrier>: ~Copyable, Sendable {
    private let place: PooledOrigin
    var exchange: Exchange<C>
    /// The source of a produced body, while the body is sent.
    private var feed: BodyFeed?
    /// Whether the source of the body has begun to produce, so that it cannot begin again.
    private var hasBegunSource = false
    private var hasReturnedConnection = false
    private var hasRecordedVersion = false

    init(_ place: consuming PooledOrigin, exchange: consuming Exchange<C>) {
        self.place = place
        self.exchange = exchange
    }

    var connection: Connection { exchange.transfer.carrier.connection }
}

// MARK: Steps

extension SocketExchange {
    /// Continues as far as possible, and returns what the exchange needs next; nil when it has nothing more to do.
    mutating func advance() throws(RequestError) -> ExchangeNeed? {
        defer { recordVersion() }
        try offerPiece()
        let need = try exchange.advance()
        if !exchange.state.isUploading { feed = nil }
        if need == nil { returnConnection() }
        return need
    }

    /// Notifies the pool if the peer responds with HTTP/1.0.
    private mutating func recordVersion() {
        guard case .http10 = exchange.metrics.httpVersion, !hasRecordedVersion else { return }
        hasRecordedVersion = true
        place.pool.recordHTTP10(of: place.origin)
    }

    /// Ends the exchange, which failed with `error`, and returns the plan for another transmission.
    fileprivate consuming func repeated(after error: RequestError) throws(RequestError) -> PlannedExchange {
        guard let lost = exchange.lost else { throw error }
        if lost.isStale { place.pool.recordClosing(by: place.origin) }
        let request = exchange.outgoing.request
        if lost.refusal == .requiresHTTP1 {
            guard place.pool.recordHTTP1Requirement(of: place.origin) else { throw error }
            connection.slot.retire()
        }
        guard lost.allowsAnother(of: request), !hasBegunSource || request.body.isReplayable else { throw error }
        return PlannedExchange(exchange.end(), to: place, after: lost)
    }

    /// Returns the connection to the pool if the response has ended and another exchange can follow.
    private mutating func returnConnection() {
        guard !hasReturnedConnection, exchange.isCarrierReusable else { return }
        hasReturnedConnection = true
        exchange.transfer.carrier.end()
        place.pool.park(connection, at: exchange.transfer.end ?? .now)
    }

    /// Records that a wait begins, and returns when it must end.
    mutating func beginWait(until limit: Deadline) -> Deadline {
        exchange.pause()
        return min(exchange.outgoing.timeLimits.total, limit)
    }

    /// Checks the limits of the call between two portions of work, neither of which waits.
    mutating func checkTurn() throws(RequestError) {
        exchange.pause()
        do throws(RequestError) {
            try exchange.outgoing.timeLimits.check()
        } catch {
            try exchange.fail(error)
        }
    }

    /// Determines whether the exchange tries to receive before it waits; see ``Exchange/receivesAtOnce``.
    mutating func prepareReceiving(on thread: CallingThread?) {
        exchange.receivesAtOnce = exchange.transfer.carrier.receivesAtOnce(on: thread)
    }

    /// Begins to produce the next piece of the body, whose arrival ends the wait of the exchange.
    mutating func beginProducing() throws(RequestError) {
        guard case .stream(_, let make) = exchange.outgoing.payload else { return }
        let readiness = exchange.transfer.carrier.readiness
        do throws(RequestError) {
            if feed == nil { feed = BodyFeed(try RequestError.wrapping(.bodyEncodingFailed, make)) }
            feed?.begin(readiness)
            hasBegunSource = true
        } catch {
            try exchange.fail(error)
        }
    }

    /// Passes the produced piece to the exchange.
    private mutating func offerPiece() throws(RequestError) {
        do throws(RequestError) {
            guard exchange.state.isProducing, let piece = try feed?.take() else { return }
            // A source that produces slowly may never let the exchange wait.
            try exchange.outgoing.timeLimits.check()
            try exchange.offer(piece.data)
        } catch {
            try exchange.fail(error)
        }
    }

    /// Prepares to read the next piece of a streamed body.
    mutating func beginPiece() throws(RequestError) {
        try exchange.outgoing.timeLimits.check()
        do throws(SystemError) {
            // In a forked child the bytes belong to the parent.
            try connection.channel.reactor.checkProcess()
        } catch {
            throw RequestError(.connectionLost, detail: error.description, underlying: error)
        }
        exchange.beginPiece()
    }
}
