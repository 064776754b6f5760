import Requests
import RequestsPOSIX

// The loops that provide what an exchange and its connection need, and suspend for it.

/// Functions that send a request, once or several times; each transmission is an exchange on a connection.
enum Transmissions {
    /// Sends `request`, and returns the response; `transmission` is nil unless a proxy with an authenticator forwards
    /// it.
    static func perform(
        _ request: PreparedRequest, over handle: PoolHandle, as transmission: ForwardedTransmission? = nil
    ) async throws(RequestError) -> RawResponse {
        if handle.pool.mustMeasure(request) {
            return try await performMeasured(request, over: handle, as: transmission)
        }
        switch try Beginning(request, over: handle, as: transmission) {
        case .connected(let transmission): return try await perform(transmission)
        case .planned(let plan): return try await perform(connected(plan))
        }
    }

    /// Sends `request` with a Content-Length, to a peer that has responded with HTTP/1.0.
    private static func performMeasured(
        _ request: PreparedRequest, over handle: PoolHandle, as transmission: ForwardedTransmission?
    ) async throws(RequestError) -> RawResponse {
        try await perform(request.measuredForHTTP10(), over: handle, as: transmission)
    }

    private static func perform(_ transmission: consuming Transmission) async throws(RequestError) -> RawResponse {
        switch consume transmission {
        case .http1(let exchange): try await perform(exchange)
        case .http2(let exchange): try await perform(exchange)
        }
    }

    private static func perform<C>(
        _ exchange: consuming UniqueBox<SocketExchange<C>>
    ) async throws(RequestError) -> RawResponse {
        var exchange = exchange
        do throws(RequestError) {
            try await exchange.value.run()
        } catch {
            return try await performAnother(after: exchange, error)
        }
        return exchange.response()
    }

    /// Performs another exchange of the request: on a new connection in the slot of the lost one, or on any connection
    /// if the lost one was shared.
    ///
    /// - Throws: The error of the call, unless the request can be sent again.
    @inline(never)  // saves 1.1 KB in the frame of each call that waits
    private static func performAnother<C>(
        after exchange: consuming UniqueBox<SocketExchange<C>>, _ error: RequestError
    ) async throws(RequestError) -> RawResponse {
        // Other calls may use a shared connection. Its slot is released, because a call that kept it could wait for it.
        let slot = exchange.value.connection.isShared ? nil : exchange.value.connection.slot
        let plan = try exchange.repeated(after: error)
        guard let slot else { return try await perform(connected(plan)) }
        return try await perform(reconnected(plan, in: slot))
    }

    /// Returns the transmission over a new connection in `slot`.
    private static func reconnected(
        _ plan: consuming UniqueBox<PlannedExchange>, in slot: Slot
    ) async throws(RequestError) -> Transmission {
        let connection: Connection
        do throws(RequestError) {
            var new = try plan.value.newConnection(in: slot)
            connection = try await new.value.connection()
        } catch {
            throw plan.value.error(after: error)
        }
        return plan.transmission(over: connection, isNew: true)
    }

    /// Returns the transmission, after a wait for a connection if necessary.
    private static func connected(
        _ plan: consuming UniqueBox<PlannedExchange>
    ) async throws(RequestError) -> Transmission {
        var acquisition = plan.acquisition()
        let connection: Connection
        do throws(RequestError) {
            connection = try await acquisition.value.connection()
        } catch {
            throw plan.value.error(after: error)
        }
        return plan.transmission(over: connection, isNew: acquisition.value.hasEstablished)
    }
}

extension SocketExchange {
    /// Advances the exchange until it is done, and suspends for what it needs.
    mutating func run() async throws(RequestError) {
        let thread = CallingThread.current
        // Exchanges that never wait must not keep the thread of a blocking call from checking its cancellation.
        if let thread, thread.isCheckDue { await Task.yield() }
        prepareReceiving(on: thread)
        defer { exchange.transfer.carrier.pause() }
        while let need = try advance() {
            switch need {
            case .event(let wanted, let limit, let phase):
                try await wait(for: wanted, until: limit, in: phase, on: thread)
            case .turn: try await takeTurn()
            case .piece: try beginProducing()
            }
        }
    }

    private mutating func wait(
        for wanted: Interest, until limit: Deadline, in phase: RequestError.Phase, on thread: CallingThread?
    ) async throws(RequestError) {
        let deadline = beginWait(until: limit)
        do throws(WaitError) {
            let isolation: (any Actor)? = #isolation
            let caller: WaitingCaller = isolation != nil ? .actor : thread != nil ? .thread : .task
            switch exchange.transfer.carrier.beginWait(for: wanted, by: caller) {
            case .socket(let directions): try await connection.wait(for: directions, by: deadline, on: thread)
            case .event(let event, let place, let directions, let end):
                try await connection.wait(
                    for: event, of: place, inPlace: directions, until: end, by: deadline, on: thread)
            case .turn: try await connection.takeTurn(by: deadline)
            }
        } catch {
            try endWait(with: error, until: limit, in: phase)
        }
    }

    private mutating func endWait(
        with error: WaitError, until limit: Deadline, in phase: RequestError.Phase
    ) throws(RequestError) {
        if case .timedOut = error, exchange.transfer.carrier.continuesAfterTimeOut() { return }
        do throws(RequestError) {
            try exchange.fail(error, until: limit, in: phase)
        } catch let failure {
            if case .timedOut = error { exchange.transfer.carrier.timeOut() }
            throw failure
        }
    }

    private mutating func takeTurn() async throws(RequestError) {
        try checkTurn()
        await Task.yield()
    }
}

extension NewSocketConnection {
    static func established(
        to origin: Origin, in slot: Slot, with connector: Connector
    ) async throws(RequestError) -> Connection {
        var new = UniqueBox(NewSocketConnection(to: origin, in: slot, over: connector))
        return try await new.value.connection()
    }
}

extension ConnectionSource where Self: ~Copyable, Network == Connector {
    /// Advances until there is a connection, and suspends for what it needs.
    fileprivate mutating func connection() async throws(RequestError) -> Connection {
        while true {
            switch try advance() {
            case .connected(let connection): return connection
            case .needs(let need):
                do throws(WaitError) {
                    try await need.wait()
                } catch {
                    try fail(error, need)
                }
            }
        }
    }
}

extension ConnectionNeed<Connector> {
    fileprivate func wait() async throws(WaitError) {
        switch self {
        case .signal(let event, let limit, _): try await event.wait(by: limit)
        case .socket(let channel, let wanted, let limit, _):
            try await channel.wait(for: wanted, by: limit, on: .current)
        case .turn(let limit, _):
            try limit.checkTurn()
            await Task.yield()
        }
    }
}

/// The first part of an exchange, which never waits: it has an idle connection, or must obtain one.
private enum Beginning: ~Copyable {
    case connected(Transmission)
    case planned(UniqueBox<PlannedExchange>)

    init(
        _ request: PreparedRequest, over handle: PoolHandle, as transmission: ForwardedTransmission?
    ) throws(RequestError) {
        let plan = try PlannedExchange(request, over: handle, as: transmission)
        if let connection = plan.idleConnection() {
            self = .connected(UniqueBox(plan).transmission(over: connection, isNew: false))
        } else {
            self = .planned(UniqueBox(plan))
        }
    }
}
