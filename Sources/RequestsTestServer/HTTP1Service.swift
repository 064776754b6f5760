import RequestsHTTP1
import RequestsPOSIX

/// The service of one HTTP/1.1 connection: it reads a request, executes it, writes the response, and repeats.
struct HTTP1Service: ConnectionService {
    private let connection: ServerConnection
    private let state: ServerState
    private var input: RequestInput
    private var exchange = 0
    private let negotiation: TLSConfiguration.Negotiation?
    private var arriving: ArrivingRequest
    /// The behavior for the request in progress, if it has a body.
    private var behavior: TestServer.Behavior?
    /// A target with the authority of the previous requests; keeping it saves parsing the same Host again.
    private var lastTarget: ServedTarget?

    init(_ connection: ServerConnection, _ state: ServerState, _ negotiation: TLSConfiguration.Negotiation?) {
        self.connection = connection
        self.state = state
        self.negotiation = negotiation
        arriving = ArrivingRequest(state)
        input = RequestInput(connection, state)
    }

    /// The instant by which the connection must have been served again.
    var deadline: Deadline { input.deadline }

    /// Serves the requests that have arrived; returns false if the connection is to be closed.
    mutating func run() -> Bool {
        defer { arriving.release() }
        input.expectBytes()
        do throws(ConnectionEnd) {
            while let request = try read() {
                guard try respond(to: request) else { break }
                arriving.release()
                exchange += 1
                if input.isExhausted { return true }
            }
            try endOutput()
        } catch {
            if case .waiting = error { return true }
            // Before the refusal, which waits for the client to close the connection.
            arriving.release()
            if case .refused(let status, let detail, let fields) = error { try? refuse(status, detail, fields) }
        }
        return false
    }

    /// Reads one request to its end and records it; returns nil if the client closes the connection instead.
    private mutating func read() throws(ConnectionEnd) -> ReceivedRequest? {
        let (state, connection, exchange, negotiation) = (state, connection, exchange, negotiation)
        var arriving = arriving
        var behavior: TestServer.Behavior?
        defer { (self.arriving, self.behavior) = (arriving, behavior) }
        arriving.reset()
        let received: (request: ReceivedRequest, trailers: Header)?
        do throws(ConnectionEnd) {
            received = try input.next { head throws(ConnectionEnd) in
                try arriving.begin(head, connection: connection.index, index: exchange, tls: negotiation)
                if head.framing != .none {
                    // Requested once, because it may count its calls.
                    let chosen = state.behavior(connection.index, exchange)
                    behavior = chosen
                    if let early = chosen.earlyResponse {
                        arriving.statusRecorder(early.status)
                        return try early.send(over: connection)
                    }
                }
                if head.expectsContinue, (behavior ?? state.behavior(connection.index, exchange)).sendsContinue {
                    try connection.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)[...])
                }
            } onBody: { bytes throws(ConnectionEnd) in
                try arriving.append(bytes)
            }
        } catch {
            arriving.stop()
            throw error
        }
        guard let received else { return nil }
        arriving.end(with: received.trailers)
        return received.request
    }

    /// Responds to one request; returns false if the connection is to be closed.
    private mutating func respond(to received: ReceivedRequest) throws(ConnectionEnd) -> Bool {
        let behavior = behavior ?? state.behavior(connection.index, exchange)
        if let early = behavior.earlyResponse, received.framing != .none { return !early.announcesClose }
        var output = output(behaving: behavior)
        if try output.replaceResponse(&input) { return true }
        let request = try state.request(received, arriving.body, after: &lastTarget)
        let response = try connection.response(of: state.executor, to: request)
        for status in behavior.interim { output.append(interim: status) }
        let plan = ResponsePlan(response, to: received, behavior: behavior)
        try output.append(
            response.head, framing: plan.framing, length: plan.length, closing: plan.announcesClose, input: &input)
        if plan.hasBody { try send(response, through: &output) }
        try output.appendEnd(trailers: plan.hasBody ? response.finalTrailers : .empty, input: &input)
        return plan.keepsConnection
    }

    private mutating func send(
        _ response: RawResponse, through output: inout ResponseOutput
    ) throws(ConnectionEnd) {
        switch try ServedBody(response.body) {
        case .whole(let data): try output.append(body: data, input: &input)
        case .streamed(let stream):
            try output.flushPart(&input)
            while let chunk = try connection.next(of: stream) {
                try output.append(body: chunk, input: &input)
                try output.flushPart(&input)
            }
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
        ResponseOutput(connection, behavior, recording: arriving.statusRecorder)
    }

    /// Shuts down the sending side, so that the client receives the end of the connection.
    private func endOutput() throws(ConnectionEnd) {
        connection.endOutput()
    }
}
