import Requests
import RequestsPOSIX

// How the request is sent.
extension Exchange where C: ~Copyable {
    mutating func send() throws(RequestError) -> ExchangeNeed? {
        if !unsent.hasPiece {
            switch try unsent.prepare() {
            case .piece: transfer.carrier.beginPiece(of: unsent.piece.count)
            case .end(let trailers): try transfer.carrier.endBody(with: trailers)
            case .production:
                state.upload = .producing
                return .piece
            case .file(let file, let position, let count):
                switch transfer.send(file.reader, from: position, count: count) {
                case nil: try unsent.advanceFile(nil)
                case .bytes(let sent)?: try unsent.advanceFile(sent)
                case let sending?: return stopSending(sending)
                }
            }
        }
        while unsent.hasPiece {
            if transfer.isBudgetSpent { return pauseSending() }
            let sending = transfer.send(unsent.piece, from: unsent.offset)
            guard case .bytes(let count) = sending else { return stopSending(sending) }
            unsent.advance(count, isComplete: !transfer.carrier.hasUnsentPrefix)
        }
        if let time = continueTimeout.take() {
            state.upload = .expecting(until: .after(time))
        } else if unsent.isLast {
            return try endSending()
        } else if unsent.hasBegun {
            return pauseSending()
        }
        return nil
    }

    /// Pauses sending, so that the response can progress first, and other tasks after much work.
    private mutating func pauseSending() -> ExchangeNeed? {
        state.upload = .paused
        return transfer.isBudgetSpent ? .turn : nil
    }

    /// Records that the carrier accepts no more bytes, now or ever.
    private mutating func stopSending(_ sending: Transfer<C>.Sending) -> ExchangeNeed? {
        if case .full = sending {
            state.upload = .blocked
        } else {
            endSendingEarly()
        }
        return nil
    }

    mutating func endSendingEarly() {
        state.upload = .stopped
        metrics.isRequestBodyIncomplete = true
    }

    private mutating func endSending() throws(RequestError) -> ExchangeNeed? {
        state.upload = .ended
        let now = Deadline.now
        metrics.stamps.requestSent = outgoing.timeLimits.stamp(at: now)
        // A part of the head that has arrived may be followed by bytes that no event of the socket reports, and HTTP/2
        // may have received the response while it sent the request.
        guard !receivesAtOnce, transfer.firstByte == nil, transfer.carrier.unread == 0, case .awaited = state.response
        else { return nil }
        return try transfer.needOfResponse(at: now)
    }

    /// Makes `piece` the next one of a produced body; nil ends the body.
    package mutating func offer(_ piece: Data?) throws(RequestError) {
        do throws(RequestError) {
            try unsent.receive(piece)
            transfer.resume()
            state.upload = .sending
        } catch {
            try fail(error)
        }
    }

    /// Waits, after the head, until the server requests the body or sends its final response instead.
    mutating func expect(until limit: Deadline) throws(RequestError) -> ExchangeNeed? {
        if try transfer.hasHead() {
            endSendingEarly()
        } else if transfer.hasContinued {
            state.upload = .sending
        } else {
            return transfer.isBudgetSpent ? .turn : .event(.reading, until: limit, in: .firstByte)
        }
        return nil
    }
}
