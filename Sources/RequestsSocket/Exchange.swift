import Requests
import RequestsHTTP1
import RequestsPOSIX

/// One call: one request on the wire and its response, sent a second time only where nothing can have come of the first.
///
/// A class, so that the frames of the functions that suspend hold a reference.
final class Exchange {
    private let pool: ConnectionPool
    private let origin: Origin
    private var patience: Patience
    private let payload: Payload
    private let head: [UInt8]
    private var metrics = RawResponse.Metrics()

    /// Checks everything that can be known before a connection is asked for.
    init(_ request: PreparedRequest, over pool: ConnectionPool) throws(RequestError) {
        self.pool = pool
        patience = Patience(request)
        do throws(RequestError) {
            let route = try pool.route(to: request.target.host)
            origin = try Origin(of: request, by: pool.destination, through: route?.target)
            payload = try Payload(request)
            var head: [UInt8] = []
            let framing = request.framing(ofLength: payload.length)
            try RequestHeadWriter.append(
                request, framing: framing, form: route == nil ? .origin : .absolute,
                adding: route?.fields ?? pool.additions, to: &head)
            self.head = head
        } catch {
            throw error.beforeSending()
        }
    }

    /// Sends the request and gives the response.
    func run(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        var connection: Connection
        if let idle = try idleConnection() { connection = idle } else { connection = try await obtainConnection() }
        while true {
            var transfer = Transfer(request, sending: payload.length, over: connection, of: pool, patience)
            let loss: RequestError
            do throws(RequestError) {
                return try await perform(request, &transfer)
            } catch {
                guard canResend(request, after: error, transfer) else {
                    throw transfer.written == 0 ? error.beforeSending() : error
                }
                loss = error
            }
            metrics.sendings += 1
            patience.renewConnecting()
            do throws(RequestError) {
                // The slot stays ours: the fresh connection takes the place of the dead one.
                let slot = connection.slot
                connection = try await connect(in: slot)
            } catch {
                // What is true of the second connection, that nothing was sent, may not be true of the first.
                throw transfer.written > 0 && !error.mayHaveReachedServer ? loss : error
            }
        }
    }

    /// A connection that waits for a request, if there is one.
    private func idleConnection() throws(RequestError) -> Connection? {
        do throws(RequestError) {
            try patience.check()
        } catch {
            throw error.beforeSending()
        }
        guard let connection = pool.takeIdle(origin, at: patience.began) else { return nil }
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
        metrics.connecting = patience.elapsed
        return connection
    }

    /// Whether the request may be sent once more, on a fresh connection: a connection that was idle turned out to be
    /// dead, nothing of an answer came, and the server cannot have acted on it, or may act on it twice.
    private func canResend(_ request: PreparedRequest, after error: RequestError, _ transfer: Transfer) -> Bool {
        guard metrics.reusedConnection, error.reason == .connectionLost, !transfer.hasBegunAnswer else { return false }
        return transfer.written == 0 || (request.method.isIdempotent && request.body.isReplayable)
    }

    private func perform(
        _ request: PreparedRequest, _ transfer: inout Transfer
    ) async throws(RequestError) -> RawResponse {
        if transfer.sendAtOnce(head, payload, of: request) {
            // A look would find nothing yet.
            try await transfer.pause()
        } else {
            try await transfer.send(head, payload, of: request)
        }
        while true {
            if let answer = try transfer.headAtOnce() {
                metrics.untilHead = patience.elapsed
                let head = ResponseHead(status: answer.line.status, header: answer.header, target: request.target)
                return try await deliver(head, request, &transfer)
            }
            try await transfer.pause()
        }
    }
}

// MARK: Handing over

extension Exchange {
    private func deliver(
        _ head: ResponseHead, _ request: PreparedRequest, _ transfer: inout Transfer
    ) async throws(RequestError) -> RawResponse {
        let body: ResponseBody
        switch request.delivery {
        case .collected(let limit):
            if let whole = try transfer.wholeBodyAtOnce(limit) {
                body = .bytes(whole)
            } else {
                body = .bytes(try await transfer.collect(limit, head))
            }
        case .streamed: body = .stream(try await stream(head, request, transfer))
        case .file(let path) where head.status.isSuccess:
            try await transfer.save(to: path, head)
            body = .file(path: path)
        case .file: body = .bytes(try await transfer.collect(Delivery.errorBodyLimit, head, isWhole: false))
        }
        return RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: metrics)
    }

    private func stream(
        _ head: ResponseHead, _ request: PreparedRequest, _ transfer: Transfer
    ) async throws(RequestError) -> ResponseStream {
        var transfer = transfer
        let length = transfer.expectedLength
        guard length != 0 else {
            // Read to its end at once, so that nobody has to ask for the connection back.
            try await transfer.finishEmptyBody()
            return ResponseStream(Data())
        }
        return ResponseStream(length: length, StreamedBody(transfer, request, head))
    }
}
