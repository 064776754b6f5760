import RequestsHTTP1
import RequestsPOSIX

/// The service of one connection: it reads a request, executes it, writes the response, and repeats.
struct Service {
    private let connection: ServerConnection
    private let state: ServerState
    private var input: RequestInput
    private var exchange = 0
    private var negotiation: TLSConfiguration.Negotiation?
    private let arriving = ArrivingBody()
    /// The body of the request in progress, if the executor receives it.
    private var body = Data()
    /// The number of the request in progress in the record.
    private var recordNumber: Int?
    /// The behavior for the request in progress, if it has a body.
    private var behavior: TestServer.Behavior?
    /// A target with the authority of the previous requests; keeping it saves parsing the same Host again.
    private var lastTarget: ServedTarget?

    init(_ connection: ServerConnection, _ state: ServerState) {
        self.connection = connection
        self.state = state
        input = RequestInput(connection, state)
    }

    /// The instant by which the connection must have been served again.
    var deadline: Deadline { input.deadline }

    /// Serves the requests that have arrived; returns false if the connection is to be closed.
    mutating func run() -> Bool {
        defer { releaseBody() }
        input.expectBytes()
        do throws(ConnectionEnd) {
            if let security = state.security, negotiation == nil {
                negotiation = try connection.secure(security.context, by: input.deadline)
                input.begin()
            }
            while let request = try read() {
                guard try respond(to: request) else { break }
                releaseBody()
                exchange += 1
                if input.isExhausted { return true }
            }
            try endOutput()
        } catch {
            if case .waiting = error { return true }
            // Before the refusal, which waits for the client to close the connection.
            releaseBody()
            if case .refused(let status, let detail, let fields) = error { try? refuse(status, detail, fields) }
        }
        return false
    }

    /// Reads one request to its end and records it; returns nil if the client closes the connection instead.
    private mutating func read() throws(ConnectionEnd) -> ReceivedRequest? {
        let (state, connection, exchange, negotiation) = (state, connection, exchange, negotiation)
        let arriving = arriving
        let recordedLimit = state.recordedBodyLimit
        var number: Int?
        recordNumber = nil
        var behavior: TestServer.Behavior?
        defer { (recordNumber, self.behavior) = (number, behavior) }
        var (isServed, isComplete) = (false, false)
        var length = 0
        let received: (request: ReceivedRequest, trailers: Header)?
        do throws(ConnectionEnd) {
            received = try input.next { head throws(ConnectionEnd) in
                let refusal = state.refusal(of: head)
                isComplete = refusal == nil && head.framing == .none
                number = state.recordHead(
                    head, isComplete: isComplete, connection: connection.index, index: exchange, tls: negotiation)
                isServed = head.hasServedBody
                if let refusal { throw refusal }
                if head.framing != .none {
                    // Requested once, because it may count its calls.
                    let chosen = state.behavior(connection.index, exchange)
                    behavior = chosen
                    if let early = chosen.earlyResponse {
                        if let number { state.recordStatus(early.status, of: number) }
                        return try early.send(over: connection)
                    }
                }
                if head.expectsContinue, (behavior ?? state.behavior(connection.index, exchange)).sendsContinue {
                    try connection.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)[...])
                }
            } onBody: { bytes throws(ConnectionEnd) in
                guard bytes.count <= state.limits.bodyBytes - length else { throw state.tooLong }
                let offset = length
                length += bytes.count
                // Of a body that the executor does not receive, only the recorded bytes are needed.
                let kept = isServed ? bytes : bytes.prefix(max(0, recordedLimit - arriving.count))
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
        } catch {
            // The executor will not receive the body, so only the recorded bytes are needed.
            let count = arriving.count
            arriving.truncate(to: recordedLimit)
            state.release(count - arriving.count)
            body = arriving.takeData()
            if let number { state.recordBody(body, of: length, in: number) }
            throw error
        }
        body = arriving.takeData()
        guard let received else { return nil }
        // A request without a body has been recorded with its head.
        if let number, !isComplete { state.recordBody(body, of: length, in: number, endingWith: received.trailers) }
        return received.request
    }

    private mutating func releaseBody() {
        state.release(body.count)
        body = Data()
    }

    /// Responds to one request; returns false if the connection is to be closed.
    private mutating func respond(to received: ReceivedRequest) throws(ConnectionEnd) -> Bool {
        let behavior = behavior ?? state.behavior(connection.index, exchange)
        if let early = behavior.earlyResponse, received.framing != .none { return !early.announcesClose }
        var output = output(behaving: behavior)
        if try output.replaceResponse(&input) { return true }
        let request = try state.request(received, body, after: &lastTarget)
        let response = try execute(request)
        for status in behavior.interim { output.append(interim: status) }
        let plan = ResponsePlan(response, to: received, behavior: behavior)
        try output.append(
            response.head, framing: plan.framing, length: plan.length, closing: plan.announcesClose, input: &input)
        if plan.hasBody { try send(response, through: &output) }
        try output.appendEnd(trailers: plan.hasBody ? response.finalTrailers : .empty, input: &input)
        return plan.keepsConnection
    }

    private func execute(_ request: PreparedRequest) throws(ConnectionEnd) -> RawResponse {
        let executor = state.executor
        do throws(RequestError) {
            return try connection.run { () async throws(RequestError) in try await executor.execute(request) }
        } catch {
            switch error.reason {
            case .invalidRequest: throw .refused(400, error.description)
            // An error of a connection ends this connection too.
            case .hostNotFound, .connectionFailed, .proxyRefused, .tlsUnavailable, .certificateRefused, .tlsFailed,
                .connectionLost, .protocolViolation, .timedOut, .cancelled:
                throw .closed
            default: break
            }
            if let refusal = error.underlying as? any ServedRefusal {
                let delay = refusal.retryDelay.map { Field(name: .retryAfter, value: String($0.wholeSeconds)) }
                throw .refused(refusal.servedStatus, error.description, [delay].compactMap(\.self))
            }
            // Such as a miss of a mock, which no retry should repeat.
            throw .refused(error.isPermanent ? 501 : 500, error.description)
        }
    }

    private mutating func send(
        _ response: RawResponse, through output: inout ResponseOutput
    ) throws(ConnectionEnd) {
        switch response.body {
        case .bytes(let data): try output.append(body: data, input: &input)
        case .file(let path):
            guard let data = try? Data(contentsOf: URL(filePath: path)) else { throw .closed }
            try output.append(body: data, input: &input)
        case .stream(let stream):
            if let contents = stream.contents { return try output.append(body: contents, input: &input) }
            try output.flushPart(&input)
            while let chunk = try pull(stream) {
                try output.append(body: chunk, input: &input)
                try output.flushPart(&input)
            }
        }
    }

    private func pull(_ stream: ResponseStream) throws(ConnectionEnd) -> Data? {
        do throws(RequestError) {
            return try connection.run { () async throws(RequestError) in try await stream.next() }
        } catch {
            throw .closed
        }
    }

    /// Responds to a refused request, and ends the connection so that the client can read the response.
    private mutating func refuse(_ status: HTTPStatus, _ detail: String, _ fields: [Field]) throws(ConnectionEnd) {
        let behavior = TestServer.Behavior(date: state.behavior(connection.index, exchange).date)
        var output = output(behaving: behavior)
        let body = Data("\(detail)\n".utf8)
        let head = ResponseHead(status: status, header: Header([.contentType(.plainText)] + fields), target: state.root)
        try output.append(head, framing: .counted, length: body.count, closing: true, input: &input)
        try output.append(body: body, input: &input)
        try output.appendEnd(trailers: .empty, input: &input)
        try endOutput()
        try input.drain()
    }

    private func output(behaving behavior: TestServer.Behavior) -> ResponseOutput {
        ResponseOutput(connection, behavior) { [state, recordNumber] status in
            if let recordNumber { state.recordStatus(status, of: recordNumber) }
        }
    }

    /// Shuts down the sending side, so that the client receives the end of the connection.
    private func endOutput() throws(ConnectionEnd) {
        connection.endOutput()
    }
}

extension Duration {
    /// The seconds, rounded up so that a repetition is not early; at least 1.
    fileprivate var wholeSeconds: Int64 {
        let (seconds, fraction) = components
        return max(1, seconds < .max && fraction > 0 ? seconds + 1 : seconds)
    }
}
