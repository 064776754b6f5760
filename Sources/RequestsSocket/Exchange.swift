import Requests
import RequestsHTTP1
import RequestsPOSIX
import Synchronization

/// One call: a request and its response.
///
/// The request is sent a second time only if a reused connection ended before the response, and the server cannot have
/// acted on the request or may act on it twice. Work that needs no wait is done in ``advance(_:receivingAtOnce:)``, for
/// a task and for a blocked thread alike, which differ only in how they wait (decision 0010).
final class Exchange: @unchecked Sendable {  // one task, or one blocked thread, at a time performs it
    private let request: PreparedRequest
    private let handle: PoolHandle
    private let origin: Origin
    private let payload: Payload
    private let head: [UInt8]
    // Only the one task or thread above changes these two, so exclusivity needs no check at run time.
    @exclusivity(unchecked) private var timeLimits: SocketTimeLimits
    @exclusivity(unchecked) private var metrics = RawResponse.Metrics()
    /// Whether the deferred work of a blocking call has been called.
    private let isResumed = Atomic(false)

    /// Checks the request as far as possible without a connection.
    init(_ request: PreparedRequest, over handle: PoolHandle) throws(RequestError) {
        self.request = request
        self.handle = handle
        let pool = handle.pool
        timeLimits = SocketTimeLimits(request)
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
    /// Sends the request and returns the response.
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
                while let pause = try advance(&transfer.value, receivingAtOnce: connection.wasAlone) {
                    try await transfer.value.take(pause)
                }
            } catch {
                connection = try await replace(connection, after: retryableFailure(error, &transfer.value))
                continue
            }
            // A small response is complete here, without the frame that any other needs.
            if let body = try wholeBodyAtOnce(&transfer.value) { return response(&transfer.value, body) }
            return try await deliver(transfer)
        }
    }

    /// Performs the exchange on an idle connection, blocking the calling thread for each wait.
    ///
    /// It defers to a task all that may have to suspend: the exchange, without an idle connection or with a body or
    /// delivery that may suspend; otherwise the second attempt after the connection was lost.
    func runInPlace() throws(RequestError) -> BlockingExecution {
        guard isSentAtOnce, case .collected(let limit) = request.delivery, let connection = try idleConnection() else {
            return .deferred { [self] () async throws(RequestError) in
                try checkNotResumed()
                return try await run()
            }
        }
        connection.endReports()
        var transfer = makeTransfer(on: connection)
        do throws(RequestError) {
            while let pause = try advance(&transfer, receivingAtOnce: false) { try transfer.takeInPlace(pause) }
        } catch {
            let failure = try retryableFailure(error, &transfer)
            return .deferred { [self] () async throws(RequestError) in
                try checkNotResumed()
                return try await run(on: replace(connection, after: failure))
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

    /// Refuses a second call of the deferred work: two tasks would then change the exchange at the same time.
    private func checkNotResumed() throws(RequestError) {
        // Relaxed is enough: the flag only counts the calls and publishes no other memory.
        guard !isResumed.exchange(true, ordering: .relaxed) else {
            throw RequestError(
                .other,
                detail: "the deferred work of a blocking call was called twice; call it once, in a task, and "
                    + "executeBlocking(_:) again for another exchange", request: request)
        }
    }

    @inline(never)  // keeps the frame of sending out of `run` (decision 0012)
    private func send(_ transfer: inout UniqueBox<Transfer>) async throws(RequestError) {
        try await transfer.value.send(head, payload, of: request)
    }
}

// MARK: Steps

// None of them is inlined into the function that suspends, whose frame would hold their variables while it waits
// (decision 0012); the same is true of the functions below that are not inlined. They take a transfer `inout` even to
// read it: a borrowed one would be copied from its box into that frame first.
extension Exchange {
    @inline(never)
    private func makeBoxedTransfer(on connection: Connection) -> UniqueBox<Transfer> {
        UniqueBox(makeTransfer(on: connection))
    }

    private func makeTransfer(on connection: Connection) -> Transfer {
        Transfer(request, sending: payload.length, over: connection, timeLimits)
    }

    /// Whether the request has no body, or one in memory for which it does not expect 100 (Continue).
    @inline(never)
    private var isSentAtOnce: Bool { payload.inMemory != nil && request.continueTimeout == nil }

    /// Continues as far as possible without a wait, and returns the reason why it cannot; nil when the head of the
    /// response has arrived.
    ///
    /// A peer on the same machine may have responded by the time the request is sent: with `receivingAtOnce` the
    /// response is received without a wait, because suspending costs more. Among many calls it has rarely arrived, and
    /// a wait in place receives anyway.
    @inline(never)
    private func advance(_ transfer: inout Transfer, receivingAtOnce: Bool) throws(RequestError) -> Pause? {
        if !transfer.hasSent {
            if let pause = try transfer.sendAtOnce(head, payload.inMemory ?? Data()) { return pause }
            if !receivingAtOnce, transfer.isUploadComplete { return try transfer.pause() }
        }
        return try transfer.hasHeadAtOnce() ? nil : transfer.pause()
    }

    /// Returns the body if it is to be collected and has arrived whole with the head.
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
    /// Returns an idle connection, or nil if there is none.
    @inline(never)
    private func idleConnection() throws(RequestError) -> Connection? {
        do throws(RequestError) {
            try timeLimits.check()
        } catch {
            throw error.beforeSending()
        }
        guard !needsNewConnection, let connection = pool.takeIdle(origin, at: timeLimits.began) else { return nil }
        if connection.wasAlone { connection.endReports() }
        return reuse(connection)
    }

    private func reuse(_ connection: Connection) -> Connection {
        metrics.isReusedConnection = true
        connection.isReused = true
        return connection
    }

    /// Whether the request cannot be sent again, and the peer is known to close connections after each response.
    private var needsNewConnection: Bool {
        request.method != .get && !request.method.isIdempotent && pool.closesAfterResponses(origin)
    }

    private func obtainConnection() async throws(RequestError) -> Connection {
        do throws(RequestError) {
            let isContinuation = request.redirectedFrom != nil
            let lease = try await pool.lease(origin, timeLimits, isContinuation: isContinuation)
            switch lease {
            case .connection(let connection):
                // The new connection takes the slot of the idle one, which is closed.
                return needsNewConnection ? try await connect(in: connection.slot) : reuse(connection)
            case .slot(let slot): return try await connect(in: slot)
            }
        } catch {
            throw error.beforeSending()
        }
    }

    private func connect(in slot: Slot) async throws(RequestError) -> Connection {
        let connection = Connection(try await pool.connector(timeLimits).connect(to: origin), in: slot)
        metrics.isReusedConnection = false
        metrics.timeToConnect = timeLimits.elapsed()
        return connection
    }

    /// The error of a lost connection after which the request can be sent again.
    private struct RetryableFailure {
        let error: RequestError
        let hasWritten: Bool
    }

    /// Returns `error` if the request can be sent again, on a new connection; otherwise throws it.
    ///
    /// That is so if a reused connection ended before the first byte of a response, and the server cannot have acted on
    /// the request, or may act on it twice.
    @inline(never)
    private func retryableFailure(
        _ error: RequestError, _ transfer: inout Transfer
    ) throws(RequestError) -> RetryableFailure {
        let hasWritten = transfer.written > 0
        let isStale = metrics.isReusedConnection && error.reason == .connectionLost && !transfer.hasBegunResponse
        if isStale { pool.noteClosing(by: origin) }
        guard isStale, !hasWritten || (request.method.isIdempotent && request.body.isReplayable) else {
            throw hasWritten ? error : error.beforeSending()
        }
        metrics.transmissions += 1
        return RetryableFailure(error: error, hasWritten: hasWritten)
    }

    /// Returns a new connection in place of a lost one, whose slot it takes.
    @inline(never)
    private func replace(
        _ connection: Connection, after failure: RetryableFailure
    ) async throws(RequestError) -> Connection {
        timeLimits.renewConnecting()
        do throws(RequestError) {
            return try await connect(in: connection.slot)
        } catch {
            // The second attempt sent nothing; the first may have.
            throw failure.hasWritten && !error.mayHaveReachedServer ? failure.error : error
        }
    }
}

// MARK: Delivering

extension Exchange {
    @inline(never)
    private func responseHead(_ transfer: inout Transfer) -> ResponseHead {
        metrics.timeToResponseHead = timeLimits.elapsed(at: transfer.now)
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
            let body = try await transfer.value.collect(ResponseBody.Delivery.errorBodyLimit, head, isWhole: false)
            return response(head, .bytes(body), transfer.value.trailers)
        }
    }

    private func stream(
        _ head: ResponseHead, _ transfer: consuming UniqueBox<Transfer>
    ) async throws(RequestError) -> ResponseStream {
        var transfer = transfer
        guard transfer.value.expectedLength != 0 else {
            // Read to its end at once, so that the connection is returned without a further read.
            try await transfer.value.finishEmptyBody()
            return ResponseStream(Data())
        }
        return streamOfContent(head, transfer)
    }

    @inline(never)
    private func streamOfContent(
        _ head: ResponseHead, _ transfer: consuming UniqueBox<Transfer>
    ) -> ResponseStream {
        ResponseStream(length: transfer.value.expectedLength, PulledBody(SocketBodySource(transfer), request, head))
    }

    /// Whether the body is to be collected, but has a content coding that the caller decodes as it arrives.
    @inline(never)
    private func isStreamedAsCoded(_ head: ResponseHead) -> Bool {
        request.streamsCodedBodies && head.header.contains(.contentEncoding)
    }
}
