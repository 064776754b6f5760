import Requests
import RequestsHTTP1
import RequestsPOSIX
import Synchronization

/// One call: one request on the wire and its response, sent a second time only where nothing can have come of the first.
///
/// What needs no wait is done in ``advance(_:)``, for a task and for a blocked thread alike; those two differ in how they
/// wait.
final class Exchange: @unchecked Sendable {  // one task, or one blocked thread, at a time performs it
    private let request: PreparedRequest
    private let handle: PoolHandle
    private let origin: Origin
    private let payload: Payload
    private let head: [UInt8]
    // Nobody else can be changing these two meanwhile: not asked at run time.
    @exclusivity(unchecked) private var patience: Patience
    @exclusivity(unchecked) private var metrics = RawResponse.Metrics()
    /// Whether the remaining work of a blocking call has begun.
    private let isResumed = Atomic(false)

    /// Checks everything that can be known before a connection is asked for.
    init(_ request: PreparedRequest, over handle: PoolHandle) throws(RequestError) {
        self.request = request
        self.handle = handle
        let pool = handle.pool
        patience = Patience(request)
        do throws(RequestError) {
            let route = try pool.route(to: request.target.host)
            origin = try Origin(of: request, by: pool.destination, through: route?.target)
            payload = try Payload(request)
            head = try RequestHeadWriter.head(
                of: request, framing: request.framing(ofLength: payload.length),
                form: route == nil ? .origin : .absolute, adding: route?.fields ?? pool.additions)
        } catch {
            throw error.beforeSending()
        }
    }

    private var pool: ConnectionPool { handle.pool }
}

// MARK: Performing

extension Exchange {
    /// Sends the request and gives the response.
    func run() async throws(RequestError) -> RawResponse {
        try await run(on: idleConnection())
    }

    private func run(on idle: Connection?) async throws(RequestError) -> RawResponse {
        var connection: Connection
        if let idle { connection = idle } else { connection = try await obtainConnection() }
        while true {
            var transfer = makeBoxedTransfer(on: connection)
            do throws(RequestError) {
                if !isSentAtOnce { try await send(&transfer) }
                while let pause = try advance(&transfer.value, looking: connection.wasAlone) {
                    try await transfer.value.take(pause)
                }
            } catch {
                connection = try await replace(connection, after: loss(error, &transfer.value))
                continue
            }
            // A small answer is here by now; the frame that any other needs is not made for it.
            if let body = try wholeBodyAtOnce(&transfer.value) { return response(&transfer.value, body) }
            return try await deliver(transfer)
        }
    }

    /// The same on a connection that is idle, blocking the calling thread where it has to wait.
    ///
    /// What a task has to do is handed back: all of it when there is no such connection, or when body or delivery may
    /// have to suspend, and what follows the loss of the connection.
    func runInPlace() throws(RequestError) -> BlockingExecution {
        guard isSentAtOnce, case .collected(let limit) = request.delivery, let connection = try idleConnection() else {
            return .suspended { [self] () async throws(RequestError) in
                try checkResumed()
                return try await run()
            }
        }
        connection.endReports()
        var transfer = makeTransfer(on: connection)
        do throws(RequestError) {
            while let pause = try advance(&transfer, looking: false) { try transfer.takeInPlace(pause) }
        } catch {
            let loss = try self.loss(error, &transfer)
            return .suspended { [self] () async throws(RequestError) in
                try checkResumed()
                return try await run(on: replace(connection, after: loss))
            }
        }
        if let body = try transfer.wholeBodyAtOnce(limit) { return .response(response(&transfer, body)) }
        let head = responseHead(&transfer)
        if let drain = request.drain(of: head) {
            return .response(response(head, .bytes(try transfer.drainInPlace(drain, head)), transfer.trailers))
        }
        if isStreamedAsCoded(head) {
            return .response(response(head, .stream(streamOfContent(head, UniqueBox(transfer)))))
        }
        let body = try transfer.collectInPlace(limit, head)
        return .response(response(head, .bytes(body), transfer.trailers))
    }

    /// Refuses to perform the remaining work twice: two tasks would then change this at the same time.
    private func checkResumed() throws(RequestError) {
        guard !isResumed.exchange(true, ordering: .relaxed) else {
            throw RequestError(
                .other,
                detail: "the remaining work of a blocking call was called twice; call it once, in a task, and "
                    + "executeBlocking(_:) again for another exchange", request: request)
        }
    }

    @inline(never)
    private func send(_ transfer: inout UniqueBox<Transfer>) async throws(RequestError) {
        try await transfer.value.send(head, payload, of: request)
    }
}

// MARK: Steps

// None of them is part of the function that suspends, the frame of which would hold their variables for as long as it waits.
// They take a transfer `inout` also where they only look: what is borrowed out of its box is copied into that frame first.
extension Exchange {
    @inline(never)
    private func makeBoxedTransfer(on connection: Connection) -> UniqueBox<Transfer> {
        UniqueBox(makeTransfer(on: connection))
    }

    private func makeTransfer(on connection: Connection) -> Transfer {
        Transfer(request, sending: payload.length, over: connection, patience)
    }

    /// Whether the request has no body, or one in memory that need not be asked for.
    @inline(never)
    private var isSentAtOnce: Bool { payload.inMemory != nil && request.continueWait == nil }

    /// Goes on as far as it can without a wait: why it cannot; nil when the head of the answer is here.
    ///
    /// A peer on the same machine may have answered by the time the request is sent: with `looking` that is looked for,
    /// since to suspend costs more. Among many calls it seldom has, and a wait in place receives by itself.
    @inline(never)
    private func advance(_ transfer: inout Transfer, looking: Bool) throws(RequestError) -> Pause? {
        if !transfer.hasSent {
            if let pause = try transfer.sendAtOnce(head, payload.inMemory ?? Data()) { return pause }
            if !looking, transfer.isUploadComplete { return try transfer.pause() }
        }
        return try transfer.hasHeadAtOnce() ? nil : transfer.pause()
    }

    /// The body, where it is to be collected and has come whole with the head.
    @inline(never)
    private func wholeBodyAtOnce(_ transfer: inout Transfer) throws(RequestError) -> Data? {
        guard case .collected(let limit) = request.delivery else { return nil }
        return try transfer.wholeBodyAtOnce(limit)
    }

    @inline(never)
    private func response(_ transfer: inout Transfer, _ body: Data) -> RawResponse {
        response(responseHead(&transfer), .bytes(body))
    }
}

// MARK: Connections

extension Exchange {
    /// A connection that waits for a request, if there is one.
    @inline(never)
    private func idleConnection() throws(RequestError) -> Connection? {
        do throws(RequestError) {
            try patience.check()
        } catch {
            throw error.beforeSending()
        }
        guard let connection = pool.takeIdle(origin, at: patience.began) else { return nil }
        if connection.wasAlone { connection.endReports() }
        metrics.reusedConnection = true
        return connection
    }

    private func obtainConnection() async throws(RequestError) -> Connection {
        do throws(RequestError) {
            let lease = try await pool.lease(origin, patience)
            switch lease {
            case .connection(let connection):
                metrics.reusedConnection = true
                return connection
            case .slot(let slot): return try await connect(in: slot)
            }
        } catch {
            throw error.beforeSending()
        }
    }

    private func connect(in slot: Slot) async throws(RequestError) -> Connection {
        let connector = Connector(configuration: pool.configuration, reactor: try pool.reactor(), patience: patience)
        let connection = Connection(try await connector.connect(to: origin), in: slot)
        metrics.reusedConnection = false
        metrics.connecting = patience.elapsed()
        return connection
    }

    /// How a connection was lost on which the request is not lost.
    private struct Loss {
        let error: RequestError
        let hasWritten: Bool
    }

    /// What allows to send the request once more, on a fresh connection; throws `error` when nothing does.
    ///
    /// A connection that was idle turned out to be dead, nothing of an answer came, and the server cannot have acted on
    /// the request, or may act on it twice.
    @inline(never)
    private func loss(_ error: RequestError, _ transfer: inout Transfer) throws(RequestError) -> Loss {
        let hasWritten = transfer.written > 0
        guard metrics.reusedConnection, error.reason == .connectionLost, !transfer.hasBegunAnswer,
            !hasWritten || (request.method.isIdempotent && request.body.isReplayable)
        else { throw hasWritten ? error : error.beforeSending() }
        metrics.sendings += 1
        return Loss(error: error, hasWritten: hasWritten)
    }

    /// A fresh connection in the place of one that is dead; its slot stays ours.
    @inline(never)
    private func replace(_ connection: Connection, after loss: Loss) async throws(RequestError) -> Connection {
        patience.renewConnecting()
        do throws(RequestError) {
            return try await connect(in: connection.slot)
        } catch {
            // What is true of the second connection, that nothing was sent, may not be true of the first.
            throw loss.hasWritten && !error.mayHaveReachedServer ? loss.error : error
        }
    }
}

// MARK: Handing over

extension Exchange {
    @inline(never)
    private func responseHead(_ transfer: inout Transfer) -> ResponseHead {
        metrics.untilHead = patience.elapsed(at: transfer.now)
        metrics.isHTTP10 = transfer.isHTTP10
        return ResponseHead(status: transfer.status ?? 0, header: transfer.header, target: request.target)
    }

    @inline(never)
    private func response(
        _ head: consuming ResponseHead, _ body: consuming ResponseBody, _ trailers: consuming Header = .empty
    ) -> RawResponse {
        RawResponse(head: head, body: body, trailers: trailers, metrics: metrics)
    }

    private func deliver(_ transfer: consuming UniqueBox<Transfer>) async throws(RequestError) -> RawResponse {
        var transfer = transfer
        let head = responseHead(&transfer.value)
        if let drain = request.drain(of: head) {
            return response(head, .bytes(try await transfer.value.drain(drain, head)), transfer.value.trailers)
        }
        switch request.delivery {
        case .collected(let limit):
            if isStreamedAsCoded(head) { return response(head, .stream(try await stream(head, transfer))) }
            let body = try await transfer.value.collect(limit, head)
            return response(head, .bytes(body), transfer.value.trailers)
        case .streamed: return response(head, .stream(try await stream(head, transfer)))
        case .file(let path) where head.status.isSuccess:
            try await transfer.value.save(to: path, head)
            return response(head, .file(path: path), transfer.value.trailers)
        case .file:
            let body = try await transfer.value.collect(Delivery.errorBodyLimit, head, isWhole: false)
            return response(head, .bytes(body), transfer.value.trailers)
        }
    }

    private func stream(
        _ head: ResponseHead, _ transfer: consuming UniqueBox<Transfer>
    ) async throws(RequestError) -> ResponseStream {
        var transfer = transfer
        guard transfer.value.expectedLength != 0 else {
            // Read to its end at once, so that nobody has to ask for the connection back.
            try await transfer.value.finishEmptyBody()
            return ResponseStream(Data())
        }
        return streamOfContent(head, transfer)
    }

    @inline(never)
    private func streamOfContent(
        _ head: ResponseHead, _ transfer: consuming UniqueBox<Transfer>
    ) -> ResponseStream {
        ResponseStream(length: transfer.value.expectedLength, PulledBody(StreamedBody(transfer), request, head))
    }

    /// Whether the body is to be collected, but has a content coding, and who asked undoes it as it arrives.
    @inline(never)
    private func isStreamedAsCoded(_ head: ResponseHead) -> Bool {
        request.streamsCodedBodies && head.header.contains(.contentEncoding)
    }
}
