import Requests
import RequestsPOSIX

// How the response is received and delivered.
extension Exchange where C: ~Copyable {
    /// Receives the available bytes of the response.
    ///
    /// Returns what is needed if they do not complete the part being received.
    mutating func receive() throws(RequestError) -> ExchangeNeed? {
        switch state.response {
        case .awaited:
            guard try transfer.hasHead() else { break }
            try beginBody()
            return nil
        case .collecting:
            guard try collection?.receive(from: &transfer) ?? true else { break }
            finish(.bytes(collection.take()?.take() ?? Data()))
            return nil
        case .draining(let limit):
            let hasEnded = try collection?.receive(from: &transfer) ?? true
            if !hasEnded, !limit.hasPassed { return try transfer.needOfResponse().ending(by: limit) }
            finish(.bytes(collection.take()?.take() ?? Data()))
            return nil
        case .saving:
            guard try download?.receive(from: &transfer) ?? true else { break }
            finish(.bytes(Data()))
            return nil
        case .ending:
            let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            guard try transfer.receiveBody(into: nothing) != nil else { break }
            finish(.stream(ResponseStream(Data())))
            return nil
        case .receivingPiece:
            guard let space = piece?.space(), let count = try transfer.receiveBody(into: space) else { break }
            piece?.add(count)
            if count == 0 { finish(body) } else { state.response = .streaming }
            return nil
        case .streaming, .complete: break
        }
        return try needOfMore()
    }

    /// Continues sending, or returns what the exchange needs, when no more of the response has arrived.
    private mutating func needOfMore() throws(RequestError) -> ExchangeNeed? {
        switch state.upload {
        case .sending, .paused:
            state.upload = .sending
            return transfer.isBudgetSpent ? .turn : nil
        case .producing:
            if transfer.isBudgetSpent { return .turn }
            // A server may read a chunk only when it has its end.
            if transfer.carrier.endPiece() {
                unsent.addEmptyPiece()
                state.upload = .sending
                return nil
            }
            return .pieceOrEvent(state.isReceiving ? .reading : .none)
        case .blocked:
            state.upload = .paused
            // Without a budget, bytes may have arrived that were not received.
            return transfer.isBudgetSpent ? .turn : transfer.needOfSpace(or: state.isReceiving ? .reading : .none)
        case .expecting, .ended, .stopped: return try transfer.needOfResponse()
        }
    }

    /// Records the arrival of the head, and finishes the exchange if the whole body has arrived with it.
    private mutating func beginBody() throws(RequestError) {
        // A server that refuses the request need not read the remainder (RFC 9110 §15.5.14).
        if state.isUploading, let head = transfer.head, head.status.code >= 300 { endSendingEarly() }
        metrics.stamps.head = outgoing.timeLimits.stamp(at: transfer.now)
        if let first = transfer.firstByte { metrics.stamps.firstByte = outgoing.timeLimits.stamp(at: first) }
        metrics.httpVersion = transfer.carrier.httpVersion
        if case .collected(let limit) = outgoing.request.delivery, let body = try transfer.wholeBody(upTo: limit) {
            return finish(.bytes(body))
        }
        try chooseDelivery()
    }

    /// Chooses the delivery of a body that did not arrive whole with the head, or is not collected.
    private mutating func chooseDelivery() throws(RequestError) {
        guard let head = transfer.head else { return }
        let request = outgoing.request
        let length = transfer.bodyLength
        if let drain = request.drain(of: head) {
            guard canBeReused(within: drain.limit) else { return finish(.bytes(Data())) }
            state.response = .draining(until: .after(drain.timeout))
            collection = try BodyCollection(expecting: length, limit: drain.limit, isWhole: false)
            return
        }
        switch request.delivery {
        case .collected where request.permitsEncodedStream && head.header.contains(.contentEncoding), .streamed:
            // An empty body is read to its end at once, so that the connection is returned without a further read.
            state.response = length == 0 ? .ending : .streaming
        case .collected(let limit):
            state.response = .collecting
            collection = try BodyCollection(expecting: length, limit: limit)
        case .file(let path) where head.status.isSuccess:
            state.response = .saving
            download = try FileDownload(to: path, expecting: length)
        case .file:
            state.response = .collecting
            collection = try BodyCollection(
                expecting: length, limit: ResponseBody.Delivery.errorBodyLimit, isWhole: false)
        }
    }

    /// Returns whether the carrier can carry another request once at most `limit` bytes of the body have been read.
    private func canBeReused(within limit: Int) -> Bool {
        guard transfer.carrier.persists, state.hasSentRequest else { return false }
        return transfer.bodyLength.map { $0 <= limit } ?? (limit > 0)
    }

    /// Records the end of the response, which ends sending if it ends the connection (RFC 9112 §9.6).
    mutating func finish(_ body: ResponseBody) {
        self.body = body
        state.response = .complete
        guard state.isUploading else { return }
        hasRespondedFirst = true
        if !transfer.carrier.persists { endSendingEarly() }
    }

    /// Completes the exchange after both directions have ended.
    ///
    /// - Throws: The failure of the carrier, if the server expected the remainder of the request; an error of the file.
    mutating func complete() throws(RequestError) {
        if case .stopped = state.upload { try checkEarlyEnd() }
        if download != nil { try finishDownload() }
    }

    private mutating func checkEarlyEnd() throws(RequestError) {
        // A success is an error if the server did not receive the whole body, unless it announced the end of the
        // connection.
        if let failure = transfer.sendFailure, let head = transfer.head, head.status.code < 300,
            transfer.carrier.persists
        {
            throw .lost(failure)
        }
    }

    private mutating func finishDownload() throws(RequestError) {
        try download.take()?.finish()
        if case .file(let path) = outgoing.request.delivery { body = .file(path: path) }
    }

    /// The collected body of a complete response; nil for a file or a stream.
    var collected: Data? {
        if download == nil, case .complete = state.response, case .bytes(let data) = body { data } else { nil }
    }
}
