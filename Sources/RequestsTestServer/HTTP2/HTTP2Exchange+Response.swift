import RequestsHTTP1
import RequestsHTTP2

extension HTTP2Exchange {
    /// The work for the thread of an exchange.
    enum Work: Sendable {
        /// It executes the request, and holds its body until the end of the exchange.
        case execute(body: Data)
        /// It responds before the body has arrived.
        case respondEarly(TestServer.Behavior.EarlyResponse)
        case refuse(HTTPStatus, String, [Field])
    }

    /// Responds to the request on the calling thread; `record` is called with the status before the last byte is sent.
    func perform(_ work: Work, recording record: @escaping @Sendable (HTTPStatus) -> Void) {
        // Before the last byte: after it, the client may send another request, for which this exchange must no longer
        // count.
        let recordLast = { @Sendable [self] (status: HTTPStatus) in
            record(status)
            endCount()
        }
        do throws(ConnectionEnd) {
            switch work {
            case .execute(let body):
                defer { server.release(body.count) }
                try execute(body, recordLast)
            // The body of the request continues to arrive.
            case .respondEarly(let early): try respondEarly(early, record)
            case .refuse(let status, let detail, let fields): try refuse(status, detail, fields, recordLast)
            }
        } catch {
            if case .refused(let status, let detail, let fields) = error {
                try? refuse(status, detail, fields, recordLast)
            } else {
                connection.reset(slot, .internalError)
            }
        }
    }

    private func execute(
        _ body: Data, _ record: @escaping @Sendable (HTTPStatus) -> Void
    ) throws(ConnectionEnd) {
        if try replaceResponse() { return }
        var lastTarget: ServedTarget?
        let prepared = try server.request(request, body, after: &lastTarget)
        let response = try response(of: server.executor, to: prepared)
        let plan = ResponsePlan(response, to: request, behavior: behavior)
        let head = try OutgoingFields(response.head, length: plan.length, date: behavior.date())
        for status in behavior.interim { connection.respond(to: slot, interim: status) }
        // In HTTP/1.1 the head would contain Connection: close.
        if plan.announcesClose { connection.drain() }
        if case .truncateHead(let byte) = behavior.fault {
            return connection.respond(to: slot, head, closingAfter: byte)
        }
        let ending = ending(response.head.status, record)
        let endsInBody = behavior.fault?.bodyByte != nil
        guard plan.hasBody || endsInBody else { return connection.respond(to: slot, head, ending: ending) }
        connection.respond(to: slot, head)
        var output = HTTP2ResponseOutput(self, plan.framing)
        switch plan.hasBody ? try ServedBody(response.body) : .whole(Data()) {
        case .whole(let data) where !data.isEmpty && response.finalTrailers.isEmpty && !endsInBody:
            return try output.append(data, ending: ending)
        case .whole(let data): try output.append(data)
        case .streamed(let stream):
            while let bytes = try next(of: stream) { try output.append(bytes) }
        }
        // A fault at or beyond the last byte happens here.
        if endsInBody { try fail() }
        let trailers = response.finalTrailers
        connection.end(slot, trailers: trailers.isEmpty ? nil : OutgoingFields(trailers: trailers), ending: ending)
    }

    private func ending(
        _ status: HTTPStatus, _ record: @escaping @Sendable (HTTPStatus) -> Void
    ) -> HTTP2Connection.Ending {
        var ending = HTTP2Connection.Ending(record: { record(status) })
        if case .unsolicitedBytes(let bytes) = behavior.fault { ending.bytes = bytes }
        ending.closes = behavior.fault == .unannouncedClose
        return ending
    }

    /// Performs a fault that replaces the response, and returns whether the behavior has one.
    private func replaceResponse() throws(ConnectionEnd) -> Bool {
        switch behavior.fault {
        case .closeBeforeHead: connection.close()
        case .resetBeforeHead: connection.close(resetting: true)
        case .stallBeforeHead: try stall()
        case .raw(let bytes): connection.send(bytes, closing: true)
        case .rawWithoutClosing(let bytes): connection.send(bytes)
        default: return false
        }
        return true
    }

    /// Performs a fault inside the body, once all bytes before it have been queued.
    func fail() throws(ConnectionEnd) -> Never {
        switch behavior.fault {
        case .resetBody: connection.close(resetting: true)
        case .stallBody: try stall()
        case .resetStream(let code, _): connection.reset(slot, HTTP2ErrorCode(rawValue: code))
        default: connection.close()
        }
        throw .closed
    }

    private func respondEarly(
        _ early: TestServer.Behavior.EarlyResponse, _ record: @escaping @Sendable (HTTPStatus) -> Void
    ) throws(ConnectionEnd) {
        if early.announcesClose { connection.drain() }
        let body = Data("early".utf8)
        let header: Header = early.status.isRedirection ? [Field(name: .location, value: "/")] : .empty
        let head = ResponseHead(status: early.status, header: header, target: server.root)
        connection.respond(to: slot, try OutgoingFields(head, length: body.count, date: nil))
        try write(body, ending: ending(early.status, record))
        if early.next == .resets { connection.close(resetting: true) }
    }

    /// Refuses the request, and stops the client from sending the remainder of its body (RFC 9113 §8.1).
    private func refuse(
        _ status: HTTPStatus, _ detail: String, _ fields: [Field],
        _ record: @escaping @Sendable (HTTPStatus) -> Void
    ) throws(ConnectionEnd) {
        let body = Data("\(detail)\n".utf8)
        let header = Header([.contentType(.plainText)] + fields)
        let head = ResponseHead(status: status, header: header, target: server.root)
        let outgoing = try OutgoingFields(head, length: body.count, date: behavior.date())
        let ending = ending(status, record)
        let isHead = request.line.method == .head
        connection.respond(to: slot, outgoing, ending: isHead ? ending : nil)
        if !isHead { try write(body, ending: ending) }
        connection.reset(slot, .noError)
    }
}

/// The writer of one response body, with its behavior.
struct HTTP2ResponseOutput {
    private let exchange: HTTP2Exchange
    private let sizes: [Int]
    private var pieceCount = 0
    /// The number of bytes until a fault inside the body.
    private var remainingBytes: Int

    init(_ exchange: HTTP2Exchange, _ framing: ResponseOutput.Framing) {
        self.exchange = exchange
        remainingBytes = exchange.behavior.fault?.bodyByte ?? .max
        sizes = if case .chunked(let sizes) = framing { sizes } else { [] }
    }

    /// Writes bytes; `ending` is the end of the response after them.
    mutating func append(_ data: Data, ending: HTTP2Connection.Ending? = nil) throws(ConnectionEnd) {
        var remaining = data
        while !remaining.isEmpty {
            if remainingBytes == 0 { try exchange.fail() }
            let piece = remaining.prefix(pieceSize)
            remainingBytes -= piece.count
            remaining = remaining.dropFirst(piece.count)
            if pieceCount > 0, let pace = exchange.behavior.pace { try exchange.pause(for: pace.interval) }
            pieceCount += 1
            try exchange.write(piece, ending: remaining.isEmpty ? ending : nil)
        }
    }

    /// The maximum number of bytes of the next piece.
    private var pieceSize: Int {
        let chunk = sizes.isEmpty ? .max : max(1, sizes[min(pieceCount, sizes.count - 1)])
        return min(chunk, remainingBytes, exchange.behavior.pace.map { max(1, $0.bytes) } ?? .max)
    }
}

extension OutgoingFields {
    /// Creates the fields of a response; the server sets the fields that frame the message.
    ///
    /// - Throws: A refusal if a field cannot be sent.
    init(_ head: ResponseHead, length: Int?, date: Date?) throws(ConnectionEnd) {
        var header = head.header
        header.removeFields(named: \.framesMessage)
        for field in header.list where !field.name.isValid || !Token.isFieldValue(field.value) {
            throw .refused(500, "could not write the response: invalid field “\(field.name)”")
        }
        if !header.contains(.date), let date {
            header.add(Field(name: .date, value: HTTPDate(date).description))
        }
        if let length { header.add(Field(name: .contentLength, value: String(length))) }
        self.init(status: head.status, header)
    }
}
