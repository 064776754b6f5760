import Requests
import RequestsHTTP2
import RequestsTestServer

/// A client on one HTTP/2 connection, which keeps everything that it receives.
struct HTTP2Client: ~Copyable {
    /// What has arrived on a stream.
    struct Response {
        var interims: [HTTPStatus] = []
        var status: HTTPStatus?
        var header = Header.empty
        var body: [UInt8] = []
        /// The number of parts in which the body was reported.
        var parts = 0
        var trailers = Header.empty
        var isComplete = false
        var reset: StreamReset?

        var isOver: Bool { isComplete || reset != nil }
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private let wire: RawClient
    private var state: ConnectionState
    private var slots: [StreamID: StreamSlot] = [:]
    private var unsent: [StreamID: (body: ArraySlice<UInt8>, trailers: [Field])] = [:]
    /// Whether received bodies return their credit.
    var consumes = true
    /// Whether bodies are sent.
    var sendsBodies = true
    /// Whether all bodies were sent.
    var hasSentAll: Bool { unsent.isEmpty }
    private(set) var receivedCount = 0
    /// Whether the settings of the server have arrived.
    private(set) var isSettled = false
    /// The number of streams that can be opened now.
    var places: Int { mutating get { state.freePlaces } }
    private(set) var responses: [StreamID: Response] = [:]
    private(set) var goAways: [Frame.GoAway] = []
    /// Whether the server has closed the connection.
    private(set) var isClosed = false
    private(set) var error: HTTP2Error?

    init(_ server: TestServer, limits: HTTP2Limits = HTTP2Limits()) async throws {
        wire = try await RawClient(server)
        state = ConnectionState(.client, limits: limits, at: .now)
    }

    /// The response on a stream, as far as it has arrived.
    subscript(stream: StreamID?) -> Response { stream.flatMap { responses[$0] } ?? Response() }

    /// Queues a request, whose body and trailers are sent while responses are received.
    ///
    /// - Returns: The stream; nil if none can be opened.
    mutating func open(
        _ method: String, _ path: String, _ fields: [Field] = [], body: [UInt8]? = nil, trailers: [Field] = []
    ) -> StreamID? {
        var list = OutgoingFields()
        list.append(":method", method)
        list.append(":authority", "test.example")
        if method != "CONNECT" {
            list.append(":scheme", "http")
            list.append(":path", path)
        }
        for field in fields { list.append(field) }
        let endsStream = body == nil && trailers.isEmpty
        guard
            case .opened(let slot) = state.open(
                list, respondsToHead: method == "HEAD", endsStream: endsStream, at: .now)
        else { return nil }
        slots[slot.stream] = slot
        responses[slot.stream] = Response()
        if !endsStream { unsent[slot.stream] = ((body ?? [])[...], trailers) }
        return slot.stream
    }

    /// Resets a stream.
    mutating func reset(_ stream: StreamID?, _ code: HTTP2ErrorCode = .cancel) {
        guard let stream, let slot = slots[stream] else { return }
        unsent[stream] = nil
        state.reset(slot, code, at: .now)
    }

    /// Sends `bytes` between frames.
    mutating func send(_ bytes: [UInt8]) async throws {
        try await flush()
        try await wire.send(bytes)
    }

    /// Sends what is queued.
    mutating func flush() async throws {
        var bytes = takeOutput()
        for (stream, message) in unsent.sorted(by: { $0.key < $1.key }) where sendsBodies {
            guard let slot = slots[stream], self[stream].reset == nil else {
                unsent[stream] = nil
                continue
            }
            var body = message.body
            while !body.isEmpty {
                let count = state.write(slot, body.count, endsStream: message.trailers.isEmpty)
                bytes += takeOutput(body)
                body = body.dropFirst(count)
                if count == 0 { break }
            }
            unsent[stream]?.body = body
            guard body.isEmpty else { continue }
            unsent[stream] = nil
            if !message.trailers.isEmpty || message.body.isEmpty {
                let trailers = message.trailers.isEmpty ? nil : OutgoingFields(trailers: Header(message.trailers))
                state.end(slot, trailers: trailers)
                bytes += takeOutput()
            }
        }
        if !bytes.isEmpty { try await wire.send(bytes) }
    }

    private mutating func takeOutput(_ body: ArraySlice<UInt8> = []) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in state.output() {
            switch piece {
            case .frames(let frames): bytes += frames
            case .body(_, let count): bytes += body.prefix(count)
            }
        }
        var events: [ConnectionEvent] = []
        state.written(bytes.count, at: .now, into: &events)
        return bytes
    }

    /// Sends what is queued and receives until `condition` is true, or until the server closes the connection.
    mutating func receive(until condition: (inout HTTP2Client) -> Bool) async throws {
        while true {
            // A connection that the server has closed can still be read.
            do { try await flush() } catch { unsent = [:] }
            if isClosed || condition(&self) { return }
            let bytes: [UInt8]
            do {
                bytes = try await wire.receiveNext()
            } catch {
                isClosed = true
                return
            }
            isClosed = bytes.isEmpty
            receivedCount += bytes.count
            receive(bytes)
        }
    }

    /// Receives until all responses are complete or reset, or the server closes the connection.
    mutating func receiveAll() async throws {
        try await receive { client in client.responses.values.allSatisfy(\.isOver) }
    }

    private mutating func receive(_ bytes: [UInt8]) {
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.receive(bytes.span, at: .now, into: &events)
        } catch {
            self.error = error
        }
        for event in events {
            switch event {
            case .interim(let slot, let status, _): responses[slot.stream]?.interims.append(status)
            case .head(let slot, .response(let status, let header)):
                responses[slot.stream]?.status = status
                responses[slot.stream]?.header = header
            case .data(let slot, let range):
                responses[slot.stream]?.body += bytes[range]
                responses[slot.stream]?.parts += 1
                if consumes { state.consumed(slot, range.count, at: .now) }
            case .trailers(let slot, let header): responses[slot.stream]?.trailers = header
            case .ended(let slot): responses[slot.stream]?.isComplete = true
            case .reset(let slot, let reset): responses[slot.stream]?.reset = reset
            case .goAway(let goAway): goAways.append(goAway)
            case .settled: isSettled = true
            case .head, .capacity, .places, .draining: break
            }
        }
    }
}
