package import Requests
package import RequestsPOSIX

/// The progress of an exchange in both directions: sending the request and receiving the response.
///
/// Both progress at the same time (RFC 9112 §9.5, decision 0057). Each cell contains the next step, and what the
/// exchange then needs:
///
/// | upload      | awaited                         | arriving, in five ways  | streaming   | complete    |
/// |-------------|---------------------------------|-------------------------|-------------|-------------|
/// | `sending`   | send                            | send                    | nothing (1) | send        |
/// | `producing` | receive; a piece or bytes       | receive; a piece or bytes | nothing (1) | a piece   |
/// | `paused`    | receive, then send              | receive, then send      | nothing (1) | send        |
/// | `blocked`   | receive; space or bytes         | receive; space or bytes | nothing (1) | space       |
/// | `expecting` | receive; bytes until an instant | –                       | –           | –           |
/// | `ended`     | receive; bytes                  | receive; bytes          | nothing     | nothing     |
/// | `stopped`   | receive; bytes                  | receive; bytes          | nothing     | nothing (2) |
///
/// 1. The request continues when the caller reads the next piece.
/// 2. It is an error if the carrier failed, and the server had not refused the remainder: its status is below 300, and
///    its response does not end the connection.
///
/// | event                                              | upload                  | response                 |
/// |----------------------------------------------------|-------------------------|--------------------------|
/// | a source must produce the next bytes               | `producing`             |                          |
/// | it pauses, and the end of a chunk was not sent     | `producing` → `sending` |                          |
/// | the source has produced them, or has ended         | `sending`               |                          |
/// | the carrier accepts no more bytes                  | `blocked`               |                          |
/// | a part was sent, or much work was done             | `paused`                |                          |
/// | space is needed, and no more has arrived           | `blocked` → `paused`    |                          |
/// | nothing more has arrived                           | `paused` → `sending`    |                          |
/// | the head was sent, and expects 100                 | `expecting`             |                          |
/// | 100 (Continue), or the instant                     | `expecting` → `sending` |                          |
/// | the last byte was sent                             | `ended`                 |                          |
/// | the carrier fails while sending                    | `stopped`               |                          |
/// | a final head, instead of 100 or from 300 on        | `stopped`, if not ended | arriving, or `streaming` |
/// | another final head                                 |                         | arriving, or `streaming` |
/// | a piece is requested; a piece has arrived          |                         | arriving; `streaming`    |
/// | the end of a response that ends the connection     | `stopped`, if not ended | `complete`               |
/// | the end of another response                        |                         | `complete`               |
/// | the instant, or a failure, while a body is drained |                         | `complete`               |
/// | a body that need not be drained                    |                         | `complete`               |
struct ExchangeState: Sendable {
    /// The progress of the request.
    enum Upload: Sendable {
        /// The next bytes are to be sent.
        case sending
        /// The body's source is producing the next bytes.
        case producing
        /// The response is checked next, before more is sent.
        case paused
        /// The carrier accepts no more bytes now.
        case blocked
        /// The head has been sent. The body follows after 100 (Continue), or at this instant (RFC 9110 §10.1.1).
        case expecting(until: Deadline)
        /// The carrier has accepted the whole request.
        case ended
        /// The remainder of the request is never sent.
        case stopped
    }

    /// The progress of the response.
    enum Response: Sendable {
        /// The head of the final response has not arrived.
        case awaited
        /// The body is being collected.
        case collecting
        /// The body of a redirect is being read, until this instant at the latest, to reuse the carrier.
        case draining(until: Deadline)
        /// The body is being written to a file.
        case saving
        /// The end of a streamed body is being read, because the body is empty.
        case ending
        /// A piece of a streamed body is being received.
        case receivingPiece
        /// The caller has the response, and reads its body in pieces.
        case streaming
        /// The response has ended.
        case complete
    }

    var upload = Upload.sending
    var response = Response.awaited

    /// Whether more of the request is to be sent.
    var isUploading: Bool {
        switch upload {
        case .sending, .producing, .paused, .blocked: true
        case .expecting, .ended, .stopped: false
        }
    }

    /// Whether bytes of the response are expected now.
    var isReceiving: Bool {
        switch response {
        case .awaited, .collecting, .draining, .saving, .ending, .receivingPiece: true
        case .streaming, .complete: false
        }
    }

    /// Whether the source of the body must produce the next bytes.
    var isProducing: Bool { if case .producing = upload { true } else { false } }

    /// Whether the whole request was sent.
    var hasSentRequest: Bool { if case .ended = upload { true } else { false } }
}

/// One request and its response, as a state machine that never waits (decision 0031).
///
/// ``advance()`` continues as far as possible and returns what the exchange needs next; a driver provides it. It is
/// tested as tables, with a scripted carrier.
package struct Exchange<C: Carrier & ~Copyable>: ~Copyable, Sendable {
    let outgoing: OutgoingRequest
    /// The part of the body that has not been sent.
    var unsent: UnsentBody
    var state = ExchangeState()
    var transfer: Transfer<C>

    /// The time for which the body waits for 100 (Continue); nil once that wait has begun.
    var continueTimeout: Duration?
    /// Whether to try receiving the response without a wait, as soon as the request has been sent.
    ///
    /// A peer on the same machine may have responded by then, and suspending takes longer than receiving. With many
    /// calls at once it rarely has, and the thread of a blocking call does not suspend.
    package var receivesAtOnce = true
    /// The bytes of a body that is collected.
    var collection: BodyCollection?
    /// The file to which a body is written.
    var download: FileDownload?
    /// The memory for a piece of a streamed body.
    var piece: BodyBuffer?
    var body = ResponseBody.bytes(Data())
    var metrics: RawResponse.Metrics
    /// Whether the response ended before the request.
    ///
    /// The server may then send another one after reading the request.
    var hasRespondedFirst = false
    /// The transmission before the present one, if any.
    private let earlier: LostTransmission?
    /// The present transmission, if it failed before the head of a response arrived.
    package private(set) var lost: LostTransmission?

    /// Creates an exchange of `outgoing` on `carrier`; `isReused` is true if the carrier has carried exchanges
    /// before.
    ///
    /// `earlier` is nil for the first transmission.
    package init(
        _ outgoing: consuming OutgoingRequest, on carrier: consuming C, isReused: Bool,
        stamps: RawResponse.Metrics.Stamps = RawResponse.Metrics.Stamps(), tls: TLSConfiguration.Negotiation? = nil,
        after earlier: LostTransmission? = nil
    ) {
        unsent = outgoing.body(sendsFiles: outgoing.isLargeFile && carrier.sendsFiles)
        carrier.begin(outgoing)
        transfer = Transfer(outgoing.request, sending: outgoing.length, over: carrier, outgoing.timeLimits)
        continueTimeout = outgoing.continueTimeout
        metrics = RawResponse.Metrics(transmissions: (earlier?.number ?? 0) + 1, isReusedConnection: isReused)
        metrics.stamps = stamps
        if let tls { metrics.tls = tls }
        self.outgoing = outgoing
        self.earlier = earlier
    }

    /// Ends the exchange and releases its carrier; returns the request, for another transmission.
    package consuming func end() -> OutgoingRequest { outgoing }
}

// MARK: Advancing

extension Exchange where C: ~Copyable {
    /// Continues as far as possible, and returns what the exchange needs next.
    ///
    /// Returns nil if the exchange is complete, if its body is to be read in pieces, or if a piece has arrived.
    package mutating func advance() throws(RequestError) -> ExchangeNeed? {
        while true {
            do throws(RequestError) {
                switch state.response {
                case .complete where !state.isUploading:
                    try complete()
                    return nil
                case .streaming: return nil
                default: if let need = try step() { return need }
                }
            } catch {
                try fail(error)
            }
        }
    }

    private mutating func step() throws(RequestError) -> ExchangeNeed? {
        switch state.upload {
        case .sending: try send()
        case .expecting(let limit): try expect(until: limit)
        case .producing, .paused, .blocked, .ended, .stopped: try receive()
        }
    }

    /// Records that a need is being provided.
    package mutating func pause() {
        transfer.pause()
    }

    /// Records that a wait ended with `error` instead of an event.
    ///
    /// The wait was limited by `limit`, the deadline of `phase`.
    ///
    /// - Throws: The error of the exchange, unless it continues.
    package mutating func fail(
        _ error: WaitError, until limit: Deadline, in phase: RequestError.Phase
    ) throws(RequestError) {
        let error = outgoing.timeLimits.error(error, until: limit, in: phase)
        if case .expecting = state.upload, error.reason == .timedOut(.firstByte) {
            state.upload = .sending
        } else {
            try fail(error)
        }
    }

    /// Records that the exchange or its driver failed with `error`.
    ///
    /// - Throws: The error of the exchange, unless it continues.
    package mutating func fail(_ error: RequestError) throws(RequestError) {
        switch state.response {
        case .awaited:
            let lost = LostTransmission(
                number: metrics.transmissions, earlierExclusions: earlier?.exclusions ?? 0,
                isWithinFirstByte: .now < outgoing.timeLimits.firstByte(from: outgoing.timeLimits.began),
                error: error, isReused: metrics.isReusedConnection,
                hasBegunResponse: transfer.carrier.hasBegunResponse,
                hasWritten: transfer.carrier.hasWritten, refusal: transfer.carrier.refusal,
                hasNoProtocol: !outgoing.request.target.isHTTP
                    && metrics.tls.map { $0.applicationProtocol == nil } ?? false,
                mayHaveActedBefore: earlier?.mayHaveActed ?? false)
            self.lost = lost
            throw earlier?.error(after: lost.finalError) ?? lost.finalError
        case .draining where !error.endsCall: finish(.bytes(collection.take()?.take() ?? Data()))
        default:
            throw error.adding(response: transfer.head, body: collection.take()?.take() ?? collected)
                .adding(secretsOfExecutor: outgoing.secrets)
        }
    }
}
