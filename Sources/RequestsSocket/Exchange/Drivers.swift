@_spi(Lock) import Requests
import RequestsPOSIX

// The two ways to provide what an exchange needs: a task suspends, a blocked thread waits in place. No other code of
// this executor waits for a connection that is established.

// MARK: A task

extension SocketExchange {
    /// Sends `request`, and returns the response; `isContinuation` as in ``PlannedExchange``.
    static func perform(
        _ request: PreparedRequest, over handle: PoolHandle, isContinuation: Bool = false
    ) async throws(RequestError) -> RawResponse {
        switch try Beginning(request, over: handle, isContinuation: isContinuation) {
        case .connected(let exchange): return try await perform(exchange)
        case .planned(let plan): return try await perform(connected(plan))
        }
    }

    private static func perform(_ exchange: consuming UniqueBox<SocketExchange>) async throws(RequestError)
        -> RawResponse
    {
        var exchange = exchange
        try await exchange.value.run()
        return exchange.response()
    }

    /// Returns the exchange on a connection that it may have to wait for.
    @inline(never)
    private static func connected(
        _ plan: consuming UniqueBox<PlannedExchange>
    ) async throws(RequestError) -> UniqueBox<SocketExchange> {
        let connection = try await plan.value.connection()
        return plan.exchange(on: connection)
    }

    /// Advances the exchange until it has nothing more to do, and suspends for what it needs.
    mutating func run() async throws(RequestError) {
        var source: (any RequestBody.Source)?
        while let need = try advance() {
            switch need {
            case .event(let wanted, let limit, let phase): try await wait(for: wanted, until: limit, in: phase)
            case .turn: try await takeTurn()
            case .piece:
                if source == nil { source = try makeSource() }
                try await offer(from: &source)
            case .connection:
                source = nil
                try await reconnect()
            }
        }
    }

    @inline(never)
    private mutating func wait(
        for wanted: Interest, until limit: Deadline, in phase: RequestError.Phase
    ) async throws(RequestError) {
        let deadline = beginWait(until: limit)
        do throws(WaitError) {
            try await connection.wait(for: wanted, by: deadline, atHead: isAtHead)
        } catch {
            try exchange.fail(error, until: limit, in: phase)
        }
    }

    @inline(never)
    private mutating func takeTurn() async throws(RequestError) {
        try checkTurn()
        await connection.channel.yield()
    }

    @inline(never)
    private mutating func offer(from source: inout (any RequestBody.Source)?) async throws(RequestError) {
        do throws(RequestError) {
            try exchange.offer(try await source?.nextPiece() ?? nil)
        } catch {
            try exchange.fail(error)
        }
    }

    /// Sends the request again on a new connection, in the slot of the one that was lost.
    @inline(never)
    private mutating func reconnect() async throws(RequestError) {
        let plan = planAgain()
        do throws(RequestError) {
            restart(on: try await plan.value.connect(in: connection.slot))
        } catch {
            try exchange.fail(error)
        }
    }
}

/// What can be done of an exchange without a wait: it has an idle connection, or needs one.
private enum Beginning: ~Copyable {
    case connected(UniqueBox<SocketExchange>)
    case planned(UniqueBox<PlannedExchange>)

    @inline(never)
    init(_ request: PreparedRequest, over handle: PoolHandle, isContinuation: Bool) throws(RequestError) {
        let plan = try PlannedExchange(request, over: handle, isContinuation: isContinuation)
        if let connection = plan.idleConnection() {
            self = .connected(UniqueBox(plan.exchange(on: connection)))
        } else {
            self = .planned(UniqueBox(plan))
        }
    }
}

// MARK: A blocked thread

extension SocketExchange {
    /// Sends `request` on the calling thread, which blocks; what remains needs a task (decision 0010).
    static func performInPlace(
        _ request: PreparedRequest, over handle: PoolHandle
    ) throws(RequestError) -> BlockingExecution {
        let plan = try PlannedExchange(request, over: handle)
        guard let connection = plan.idleConnection() else {
            let remaining = RemainingWork(UniqueBox(plan), of: request)
            return .deferred { () async throws(RequestError) in
                try await perform(connected(remaining.take()))
            }
        }
        connection.endReports()
        var exchange = plan.exchange(on: connection, looksAtOnce: false)
        guard try exchange.runInPlace() else {
            let remaining = RemainingWork(UniqueBox(exchange), of: request)
            return .deferred { () async throws(RequestError) in try await perform(remaining.take()) }
        }
        if exchange.exchange.isStreaming { return .response(UniqueBox(exchange).response()) }
        return .response(exchange.exchange.response())
    }

    /// Advances the exchange until it has nothing more to do, or needs a task; returns false in that case.
    private mutating func runInPlace() throws(RequestError) -> Bool {
        while let need = try advance() {
            switch need {
            case .event(let wanted, let limit, let phase): try waitInPlace(for: wanted, until: limit, in: phase)
            case .turn: try checkTurn()
            // A source and the establishing of a connection suspend.
            case .piece, .connection: return false
            }
        }
        return true
    }

    private mutating func waitInPlace(
        for wanted: Interest, until limit: Deadline, in phase: RequestError.Phase
    ) throws(RequestError) {
        let deadline = beginWait(until: limit)
        if wanted == .reading, isAtHead, try receiveHeadInPlace(by: deadline) { return }
        do throws(WaitError) {
            try connection.waitInPlace(for: wanted, by: deadline)
        } catch {
            try exchange.fail(error, until: limit, in: phase)
        }
    }

    /// Waits for a head by receiving for at most 10 ms, unless `deadline` is nearer; returns whether something has
    /// arrived (decision 0010).
    private mutating func receiveHeadInPlace(by deadline: Deadline) throws(RequestError) -> Bool {
        guard deadline > Deadline.now.advanced(byNanoseconds: 10_000_000) else { return false }
        let result: TransferResult
        do throws(StreamError) {
            result = try exchange.transfer.carrier.receiveHeadInPlace()
        } catch {
            try exchange.fail(exchange.transfer.lost(error))
            return true
        }
        do throws(RequestError) {
            return try exchange.transfer.record(result)
        } catch {
            try exchange.fail(error)
            return true
        }
    }
}

/// The part of a blocking call that remains for a task, which runs once.
private final class RemainingWork<Work: ~Copyable & Sendable>: Sendable {
    private let work: Lock<Work?>
    private let request: PreparedRequest

    init(_ work: consuming Work, of request: PreparedRequest) {
        self.work = Lock(work)
        self.request = request
    }

    /// Returns the work; throws if it was taken before, because two tasks would then change the exchange at once.
    func take() throws(RequestError) -> Work {
        guard let work = work.withLock({ $0.take() }) else {
            throw RequestError(
                .other,
                detail: "the deferred work of a blocking call was called twice; call it once, in a task",
                request: request)
        }
        return work
    }
}
