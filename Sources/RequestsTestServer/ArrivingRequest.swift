import RequestsHTTP1

/// The body and the record of one request while it arrives, in any version of HTTP.
struct ArrivingRequest {
    private let state: ServerState
    private let arriving = ArrivingBody()
    /// The number of the request in the record; nil before its head.
    private var number: Int?
    /// Whether the executor receives the body.
    private var isServed = false
    /// Whether the request was recorded as complete with its head.
    private var isRecorded = false
    /// The number of body bytes that have arrived.
    private var length = 0
    /// The body, after its end, or what is recorded of it; its bytes are held until ``release()``.
    private(set) var body = Data()

    init(_ state: ServerState) {
        self.state = state
    }

    /// Records the head of a request.
    ///
    /// - Throws: The refusal of a request that is not supported.
    mutating func begin(
        _ head: ReceivedRequest, connection: Int, index: Int, tls: TLSConfiguration.Negotiation?
    ) throws(ConnectionEnd) {
        let refusal = state.refusal(of: head)
        isRecorded = refusal == nil && head.framing == .none
        number = state.recordHead(head, isComplete: isRecorded, connection: connection, index: index, tls: tls)
        isServed = head.hasServedBody
        length = 0
        if let refusal { throw refusal }
    }

    /// Adds bytes of the body.
    ///
    /// - Throws: The refusal of a body above a limit.
    mutating func append(_ bytes: Data) throws(ConnectionEnd) {
        guard bytes.count <= state.limits.bodyBytes - length else { throw state.tooLong }
        let offset = length
        length += bytes.count
        // Of a body that the executor does not receive, only the recorded bytes are needed.
        let kept = isServed ? bytes : bytes.prefix(max(0, state.recordedBodyLimit - arriving.count))
        guard state.hold(kept.count) else {
            let limit = ErrorText.bytes(state.limits.totalBodyBytes)
            throw .refused(503, "the bodies in progress are longer than \(limit) in total")
        }
        guard arriving.append(kept) else {
            state.release(kept.count)
            throw .refused(503, "no memory for the body")
        }
        // Recorded last, because all recorded bytes must be held.
        if let number { state.recordBeginning(bytes, after: offset, of: number) }
    }

    mutating func end(with trailers: Header) {
        body = arriving.takeData()
        guard let number, !isRecorded else { return }
        state.recordBody(body, of: length, in: number, endingWith: trailers)
    }

    /// Records what has arrived of a request whose body the executor will not receive.
    mutating func stop() {
        let count = arriving.count
        // Only the recorded bytes are needed.
        arriving.truncate(to: state.recordedBodyLimit)
        state.release(count - arriving.count)
        body = arriving.takeData()
        if let number { state.recordBody(body, of: length, in: number) }
    }

    /// A function that records the status of the response, whose last byte is about to be sent.
    var statusRecorder: @Sendable (HTTPStatus) -> Void {
        { [state, number] status in
            if let number { state.recordStatus(status, of: number) }
        }
    }

    /// Releases the body.
    mutating func release() {
        state.release(body.count)
        body = Data()
    }

    /// Prepares for the next request of a connection.
    mutating func reset() {
        number = nil
    }
}
