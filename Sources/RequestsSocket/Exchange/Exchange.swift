package import Requests
package import RequestsPOSIX

/// One request and its response, as a state machine that never waits (decision 0031).
///
/// ``advance()`` continues as far as possible and returns what the exchange needs next; a driver provides it. It is
/// tested as tables, over a carrier that is a script.
package struct Exchange<C: Carrier & ~Copyable>: ~Copyable, Sendable {
    /// The state of an exchange.
    enum Stage {
        /// The request is being sent.
        case sending
        /// The carrier accepted no more of the request; the response may arrive early.
        case blocked
        /// The head has been sent; the body follows a 100 (Continue), or the instant (RFC 9110 §10.1.1).
        case expecting(until: Deadline)
        /// The request has been sent, as far as the carrier accepts it.
        case receivingHead
        /// The connection was lost, and the request can be sent again.
        case lost
        /// The body is being collected.
        case collecting
        /// The body of a redirect is being read until the instant, only so that the carrier can be used again.
        case draining(until: Deadline)
        /// The body is being written to a file.
        case saving
        /// The end of an empty streamed body is being read.
        case ending
        /// The caller has the response, and reads its body in pieces.
        case streaming
        /// A piece of a streamed body is being received.
        case receivingPiece
        /// The response is complete.
        case complete
    }

    let outgoing: OutgoingRequest
    var upload: UnsentRequest
    var stage = Stage.sending
    var transfer: Transfer<C>
    /// The time for which the body waits for 100 (Continue), until that wait has begun.
    var continueTimeout: Duration?
    /// Whether the response is received without a wait when the request has been sent.
    ///
    /// A peer on the same machine may have responded by then, and suspending takes longer than receiving. Among many
    /// calls it has rarely responded, and a wait in place receives in any case.
    var receivesAtOnce: Bool
    /// The bytes of a body that is collected.
    var collection: BodyCollection?
    /// The file to which a body is written.
    var download: FileDownload?
    /// The memory for a piece of a streamed body.
    var piece: BodyBuffer?
    var body = ResponseBody.bytes(Data())
    var metrics: RawResponse.Metrics
    /// The transmission before the present one.
    var lost: LostTransmission?
    /// Whether the peer had closed a reused connection, until that has been recorded.
    package var hasMetStaleConnection = false

    /// Creates an exchange of `outgoing` on `carrier`, which is new, or has carried exchanges before.
    package init(
        _ outgoing: consuming OutgoingRequest, on carrier: consuming C, isReused: Bool,
        stamps: RawResponse.Metrics.Stamps = RawResponse.Metrics.Stamps(), tls: TLSConfiguration.Negotiation? = nil,
        receivesAtOnce: Bool
    ) {
        upload = outgoing.upload(sendsFiles: outgoing.isLargeFile && carrier.sendsFiles)
        transfer = Transfer(outgoing.request, sending: outgoing.length, over: carrier, outgoing.timeLimits)
        continueTimeout = outgoing.continueTimeout
        metrics = RawResponse.Metrics(isReusedConnection: isReused)
        metrics.stamps = stamps
        if let tls { metrics.tls = tls }
        self.receivesAtOnce = receivesAtOnce
        self.outgoing = outgoing
    }

    /// Begins the second transmission on `carrier`, which is new.
    package mutating func restart(
        on carrier: consuming C, stamps: RawResponse.Metrics.Stamps, tls: TLSConfiguration.Negotiation? = nil,
        receivesAtOnce: Bool
    ) {
        upload = outgoing.upload(sendsFiles: outgoing.isLargeFile && carrier.sendsFiles)
        transfer = Transfer(outgoing.request, sending: outgoing.length, over: carrier, outgoing.timeLimits)
        continueTimeout = outgoing.continueTimeout
        metrics.isReusedConnection = false
        metrics.stamps = stamps
        metrics.tls = tls
        metrics.transmissions += 1
        self.receivesAtOnce = receivesAtOnce
        stage = .sending
    }
}

// MARK: Advancing

extension Exchange where C: ~Copyable {
    /// Continues as far as possible, and returns what the exchange needs next.
    ///
    /// Returns nil when the response is complete, or its body is to be read in pieces, or a piece has arrived.
    package mutating func advance() throws(RequestError) -> ExchangeNeed? {
        while true {
            do throws(RequestError) {
                switch stage {
                case .complete, .streaming: return nil
                default: if let need = try step() { return need }
                }
            } catch {
                try fail(error)
            }
        }
    }

    private mutating func step() throws(RequestError) -> ExchangeNeed? {
        switch stage {
        case .sending: return try send()
        case .blocked: stage = try transfer.hasResponse() ? .receivingHead : .sending
        case .expecting(let limit): return try expect(until: limit)
        case .receivingHead:
            guard try transfer.hasHead() else { return try transfer.needOfResponse() }
            try beginBody()
        case .lost: return .connection
        case .collecting: return try collect()
        case .draining(let limit): return try drain(until: limit)
        case .saving: return try save()
        case .ending: return try receiveEnd()
        case .receivingPiece: return try receivePiece()
        case .streaming, .complete: break
        }
        return nil
    }

    /// Records that a need is being provided.
    package mutating func pause() {
        transfer.pause()
    }

    /// Records that no event came: the wait that had to end at `limit`, in `phase`, ended with `error`.
    ///
    /// - Throws: The error of the exchange, unless it continues.
    @inline(never)  // keeps its variables out of the frame of the function that suspends (decision 0012)
    package mutating func fail(
        _ error: WaitError, until limit: Deadline, in phase: RequestError.Phase
    ) throws(RequestError) {
        let error = outgoing.timeLimits.error(error, until: limit, in: phase)
        if case .expecting = stage, error.reason == .timedOut(.firstByte) {
            stage = .sending
        } else {
            try fail(error)
        }
    }

    /// Records that the exchange, or what provides its needs, failed with `error`.
    ///
    /// - Throws: The error of the exchange, unless it continues.
    @inline(never)  // as above
    package mutating func fail(_ error: RequestError) throws(RequestError) {
        switch stage {
        case .sending, .blocked, .expecting, .receivingHead:
            let lost = LostTransmission(
                error: error, isReused: metrics.isReusedConnection,
                hasBegunResponse: transfer.carrier.hasBegunResponse,
                hasWritten: transfer.written > 0 || transfer.carrier.hasPartialWrite)
            self.lost = lost
            hasMetStaleConnection = lost.isStale
            guard lost.allowsAnother(of: outgoing.request) else { throw lost.finalError }
            stage = .lost
        case .lost: throw lost?.error(after: error) ?? error
        case .draining where !error.endsCall: finish(.bytes(collection.take()?.take() ?? Data()))
        case .collecting, .draining, .saving:
            throw error.adding(response: transfer.head, body: collection.take()?.take())
        case .ending, .streaming, .receivingPiece, .complete: throw error
        }
    }
}

// MARK: Sending

extension Exchange where C: ~Copyable {
    private mutating func send() throws(RequestError) -> ExchangeNeed? {
        while true {
            while upload.hasParts {
                if transfer.isBudgetSpent { return .turn }
                let sending = transfer.send(upload.head, upload.body, from: upload.offset)
                guard case .bytes(let count) = sending else { return try stopSending(sending) }
                upload.advance(count)
            }
            if let time = continueTimeout.take() {
                stage = .expecting(until: .after(time))
                return nil
            }
            if upload.isLast { return try awaitResponse() }
            if upload.hasBegunBody, try transfer.hasResponse() { return endSending() }
            switch try upload.prepare() {
            case .parts: continue
            case .piece: return .piece
            case .file(let file, let position, let count):
                if transfer.isBudgetSpent { return .turn }
                switch transfer.send(file.reader, from: position, count: count) {
                case nil: try upload.advanceFile(nil)
                case .bytes(let sent)?: try upload.advanceFile(sent)
                case let sending?: return try stopSending(sending)
                }
            }
        }
    }

    private mutating func stopSending(_ sending: Transfer<C>.Sending) throws(RequestError) -> ExchangeNeed? {
        guard case .full = sending else { return endSending() }
        if try transfer.hasResponse() { return endSending() }
        stage = .blocked
        return transfer.needOfSpace()
    }

    /// Ends sending early: the final response has arrived, or the carrier accepts no more.
    private mutating func endSending() -> ExchangeNeed? {
        stage = .receivingHead
        return nil
    }

    private mutating func awaitResponse() throws(RequestError) -> ExchangeNeed? {
        stage = .receivingHead
        let now = Deadline.now
        metrics.stamps.requestSent = outgoing.timeLimits.stamp(at: now)
        return receivesAtOnce ? nil : try transfer.needOfResponse(at: now)
    }

    @inline(__always)  // a call would copy the exchange, as below
    var isUploadComplete: Bool { !upload.hasParts && upload.isLast }

    /// Makes `piece` the next one of a produced body; nil ends the body.
    @inline(never)  // as above
    package mutating func offer(_ piece: Data?) throws(RequestError) {
        do throws(RequestError) {
            try upload.receive(piece)
        } catch {
            try fail(error)
        }
    }

    /// Waits after the head until the server requests the body; without a body, the final response comes instead.
    private mutating func expect(until limit: Deadline) throws(RequestError) -> ExchangeNeed? {
        if try transfer.hasHead() {
            stage = .receivingHead
        } else if transfer.hasContinued {
            stage = .sending
        } else {
            return transfer.isBudgetSpent ? .turn : .event(.reading, until: limit, in: .firstByte)
        }
        return nil
    }
}

// MARK: Delivering

extension Exchange where C: ~Copyable {
    /// Records the arrival of the head, and finishes the exchange if the whole body has arrived with it.
    private mutating func beginBody() throws(RequestError) {
        metrics.stamps.head = outgoing.timeLimits.stamp(at: transfer.now)
        if let first = transfer.firstByte { metrics.stamps.firstByte = outgoing.timeLimits.stamp(at: first) }
        metrics.isHTTP10 = transfer.isHTTP10
        if case .collected(let limit) = outgoing.request.delivery, let body = try transfer.wholeBody(upTo: limit) {
            return finish(.bytes(body))
        }
        try chooseDelivery()
    }

    /// Chooses the delivery of a body that did not arrive whole with the head, or is not collected.
    @inline(never)  // keeps the copy of the head out of the path of small responses
    private mutating func chooseDelivery() throws(RequestError) {
        guard let head = transfer.head else { return }
        let request = outgoing.request
        let length = transfer.bodyLength
        if let drain = request.drain(of: head) {
            guard canBeReused(within: drain.limit) else { return finish(.bytes(Data())) }
            stage = .draining(until: .after(drain.timeout))
            collection = try BodyCollection(expecting: length, limit: drain.limit, isWhole: false)
            return
        }
        switch request.delivery {
        case .collected where request.permitsEncodedStream && head.header.contains(.contentEncoding), .streamed:
            // An empty body is read to its end at once, so that the connection is returned without a further read.
            stage = length == 0 ? .ending : .streaming
        case .collected(let limit):
            stage = .collecting
            collection = try BodyCollection(expecting: length, limit: limit)
        case .file(let path) where head.status.isSuccess:
            stage = .saving
            download = try FileDownload(to: path, expecting: length)
        case .file:
            stage = .collecting
            collection = try BodyCollection(
                expecting: length, limit: ResponseBody.Delivery.errorBodyLimit, isWhole: false)
        }
    }

    /// Whether the carrier can carry another request once at most `limit` bytes of the body have been read.
    private func canBeReused(within limit: Int) -> Bool {
        guard transfer.carrier.persists, isUploadComplete else { return false }
        return transfer.bodyLength.map { $0 <= limit } ?? (limit > 0)
    }

    private mutating func finish(_ body: ResponseBody) {
        self.body = body
        stage = .complete
    }

    private mutating func collect() throws(RequestError) -> ExchangeNeed? {
        if let need = try collection?.receive(from: &transfer) { return need }
        finish(.bytes(collection.take()?.take() ?? Data()))
        return nil
    }

    private mutating func drain(until limit: Deadline) throws(RequestError) -> ExchangeNeed? {
        if let need = try collection?.receive(from: &transfer), !limit.hasPassed { return need.ending(by: limit) }
        finish(.bytes(collection.take()?.take() ?? Data()))
        return nil
    }

    private mutating func save() throws(RequestError) -> ExchangeNeed? {
        if let need = try download?.receive(from: &transfer) { return need }
        try download.take()?.finish()
        if case .file(let path) = outgoing.request.delivery { finish(.file(path: path)) }
        return nil
    }

    private mutating func receiveEnd() throws(RequestError) -> ExchangeNeed? {
        let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        guard try transfer.receiveBody(into: nothing) != nil else { return try transfer.needOfResponse() }
        finish(.stream(ResponseStream(Data())))
        return nil
    }
}

// MARK: The response

extension Exchange where C: ~Copyable {
    /// The carrier, for tests.
    package var carrier: C {
        _read { yield transfer.carrier }
    }

    /// Returns the response; its body is empty if ``isStreaming``.
    @inline(__always)  // a call would copy the exchange, 1.4 KB
    package func response() -> RawResponse {
        RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: measurements)
    }

    /// Returns the response of a complete exchange, whose parts are moved out of it (decision 0052).
    @inline(__always)  // as above
    package mutating func takeResponse() -> RawResponse {
        if let end = transfer.end { metrics.stamps.end = outgoing.timeLimits.stamp(at: end) }
        // Swapped, because an assignment would copy them.
        var (body, metrics) = (ResponseBody.bytes(Data()), RawResponse.Metrics())
        swap(&body, &self.body)
        swap(&metrics, &self.metrics)
        let head = transfer.takeHead() ?? head
        return RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: metrics)
    }

    package var head: ResponseHead {
        transfer.head ?? ResponseHead(status: 0, header: .empty, target: outgoing.request.target)
    }

    /// Whether the body is to be read in pieces.
    package var isStreaming: Bool {
        if case .streaming = stage { true } else { false }
    }

    /// Whether the response has ended, and the carrier can carry another request.
    @inline(__always)  // as above
    package var isCarrierReusable: Bool {
        transfer.isAtEnd && transfer.carrier.persists && isUploadComplete && transfer.carrier.unread == 0
    }

    /// The trailer fields; nil until the body has ended.
    package var trailers: Header? { transfer.isAtEnd ? transfer.trailers : nil }

    /// The measurements so far.
    package var measurements: RawResponse.Metrics {
        var metrics = metrics
        if let end = transfer.end { metrics.stamps.end = outgoing.timeLimits.stamp(at: end) }
        return metrics
    }
}
