import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket

/// The server's side of one HTTP/2 connection, for the scripts of a ``ScriptedPeer``.
///
/// Every method blocks its thread, at most until the peer is stopped.
final class HTTP2Script {
    /// A request that has arrived with its whole body.
    struct Request {
        let slot: StreamSlot
        let head: MessageHead.RequestHead
        var body: [UInt8] = []
        var trailers = Header.empty
    }

    /// What has arrived, with the bytes of bodies.
    enum Arrival {
        case head(StreamSlot, MessageHead.RequestHead)
        case data(StreamSlot, [UInt8])
        case trailers(StreamSlot, Header)
        case ended(StreamSlot)
        case reset(StreamSlot, HTTP2ErrorCode)
    }

    private var state: ConnectionState
    private var arrivals: [Arrival] = []
    /// Reads the frames of the client once more, for ``frame(on:where:)``.
    private var reader = FrameReader(.server)
    /// The frames that have arrived, except HEADERS and DATA.
    private(set) var frames: [Frame] = []
    /// The first 1,000 bytes that have arrived, for ``begunHeads``.
    private var beginning: [UInt8] = []
    /// The number of PINGs since a message was last sent.
    private(set) var pings = 0
    /// The number of PINGs that have arrived.
    private(set) var allPings = 0
    /// The number of heads and trailers that have arrived, and how many of them before the acknowledgement of SETTINGS;
    /// nil until that arrives.
    private var blocks = 0
    private(set) var blocksBeforeAcknowledgement: Int?
    /// The bytes of bodies that are queued.
    private var bodies: [StreamSlot: ArraySlice<UInt8>] = [:]
    /// The number of bytes that may still be sent; then the script ends.
    private var limit: Int
    /// The number of bytes that may still be received; then the script ends.
    private var receiveLimit: Int

    init(
        _ limits: HTTP2Limits = HTTP2Limits(), sendingAtMost limit: Int = .max, receivingAtMost receiveLimit: Int = .max
    ) {
        state = ConnectionState(.server, limits: limits, at: .now)
        self.limit = limit
        self.receiveLimit = receiveLimit
    }
}

// MARK: Receiving

extension HTTP2Script {
    /// Returns what arrives next; nil if the client has ended the connection, or has violated the protocol.
    func next(on line: borrowing ScriptedPeer.Line) -> Arrival? {
        while arrivals.isEmpty { guard flush(to: line), receive(from: line) else { return nil } }
        return arrivals.removeFirst()
    }

    /// Returns what has arrived; nil if nothing has.
    func takeArrival() -> Arrival? { arrivals.isEmpty ? nil : arrivals.removeFirst() }

    /// Receives what arrives next; false if the client has ended the connection or has violated the protocol, or if the
    /// script may receive no more bytes.
    ///
    /// Before ``next(on:)``, the client receives nothing, not even SETTINGS.
    @discardableResult
    func receive(from line: borrowing ScriptedPeer.Line) -> Bool {
        guard receiveLimit > 0, let bytes = line.receive(min(64 << 10, receiveLimit)) else { return false }
        receiveLimit -= bytes.count
        observe(bytes)
        var events: [ConnectionEvent] = []
        do {
            try state.receive(bytes.span, at: .now, into: &events)
        } catch {
            _ = flush(to: line)
            return false
        }
        for event in events { add(event, from: bytes) }
        return true
    }

    /// The number of HEADERS frames in the first 1,000 bytes; counts a frame when its length and type have arrived.
    var begunHeads: Int {
        var remainder = beginning.dropFirst(FrameReader.preface.count)
        var count = 0
        while remainder.count > 3 {
            let header = Array(remainder.prefix(4))
            if header[3] == 1 { count += 1 }
            remainder = remainder.dropFirst(9 + Int(header[0]) << 16 + Int(header[1]) << 8 + Int(header[2]))
        }
        return count
    }

    private func observe(_ bytes: [UInt8]) {
        beginning += bytes.prefix(1_000 - beginning.count)
        var position = 0
        while let frame = try? reader.next(in: bytes.span, at: &position) {
            switch frame {
            case .data: break
            case .headers: blocks += 1
            case .settingsAcknowledgement:
                if blocksBeforeAcknowledgement == nil { blocksBeforeAcknowledgement = blocks }
                frames.append(frame)
            case .ping:
                pings += 1
                allPings += 1
                frames.append(frame)
            default: frames.append(frame)
            }
        }
    }

    /// Returns the first frame without a message that fulfills `condition`; nil if the client sends none.
    func frame(on line: borrowing ScriptedPeer.Line, where condition: (Frame) -> Bool) -> Frame? {
        while true {
            if let index = frames.firstIndex(where: condition) { return frames.remove(at: index) }
            guard flush(to: line), receive(from: line) || frames.contains(where: condition) else { return nil }
        }
    }

    /// Returns the GOAWAY that the client sends; nil if it sends none.
    func goAway(on line: borrowing ScriptedPeer.Line) -> Frame.GoAway? {
        let frame = frame(on: line) { if case .goAway = $0 { true } else { false } }
        return if case .goAway(let goAway)? = frame { goAway } else { nil }
    }

    private func add(_ event: ConnectionEvent, from bytes: [UInt8]) {
        switch event {
        case .head(let slot, .request(let head)): arrivals.append(.head(slot, head))
        case .data(let slot, let range):
            arrivals.append(.data(slot, Array(bytes[range])))
            state.consumed(slot, range.count, at: .now)
        case .trailers(let slot, let trailers): arrivals.append(.trailers(slot, trailers))
        case .ended(let slot): arrivals.append(.ended(slot))
        case .reset(let slot, let reset): arrivals.append(.reset(slot, reset.code))
        default: break
        }
    }

    /// Returns the head of the next request; nil if none arrives.
    func head(on line: borrowing ScriptedPeer.Line) -> (slot: StreamSlot, head: MessageHead.RequestHead)? {
        while let arrival = next(on: line) {
            if case .head(let slot, let head) = arrival { return (slot, head) }
        }
        return nil
    }

    /// Returns the next request with its body; nil if none arrives.
    func request(on line: borrowing ScriptedPeer.Line) -> Request? {
        var requests: [StreamSlot: Request] = [:]
        while let arrival = next(on: line) {
            switch arrival {
            case .head(let slot, let head): requests[slot] = Request(slot: slot, head: head)
            case .data(let slot, let bytes): requests[slot]?.body += bytes
            case .trailers(let slot, let trailers): requests[slot]?.trailers = trailers
            case .ended(let slot): if let request = requests[slot] { return request }
            case .reset(let slot, _): requests[slot] = nil
            }
        }
        return nil
    }
}

// MARK: Sending

extension HTTP2Script {
    /// Sends a response and, together with its end, RST_STREAM with `code` if there is one; false if the client has
    /// ended the connection.
    @discardableResult
    func respond(
        to slot: StreamSlot, _ status: HTTPStatus = 200, _ header: Header = .empty, body: String = "ok",
        trailers: Header? = nil, resetWith code: HTTP2ErrorCode? = nil, on line: borrowing ScriptedPeer.Line
    ) -> Bool {
        state.respond(to: slot, OutgoingFields(status: status, header))
        pings = 0
        var rest = Array(body.utf8)[...]
        while !rest.isEmpty {
            let count = state.write(slot, rest.count, endsStream: trailers == nil)
            bodies[slot, default: []] += rest.prefix(count)
            rest = rest.dropFirst(count)
            if rest.isEmpty, let code { state.reset(slot, code, at: .now) }
            guard flush(to: line), count > 0 || receive(from: line) else { return false }
        }
        if body.isEmpty || trailers != nil { state.end(slot, trailers: trailers.map { OutgoingFields(trailers: $0) }) }
        return flush(to: line)
    }

    /// Sends small responses, all together.
    func respond(toAll slots: [StreamSlot], on line: borrowing ScriptedPeer.Line) {
        for slot in slots {
            state.respond(to: slot, OutgoingFields(status: 200, .empty))
            bodies[slot, default: []] += Array("ok".utf8)[..<state.write(slot, 2, endsStream: true)]
        }
        _ = flush(to: line)
    }

    /// Sends as much of a body of zeros as the windows allow, at most `count` bytes, and returns the number of bytes.
    func sendBody(of count: Int, to slot: StreamSlot, on line: borrowing ScriptedPeer.Line) -> Int {
        var sent = 0
        while sent < count {
            let part = state.write(slot, min(count - sent, 10_000))
            bodies[slot, default: []] += [UInt8](repeating: 0, count: part)
            sent += part
            guard flush(to: line), part > 0 else { break }
        }
        return sent
    }

    /// Ends a response without trailers.
    func end(_ slot: StreamSlot, on line: borrowing ScriptedPeer.Line) {
        state.end(slot)
        _ = flush(to: line)
    }

    /// Sends the head of a response, final or interim.
    func sendHead(
        _ status: HTTPStatus, _ header: Header = .empty, to slot: StreamSlot, on line: borrowing ScriptedPeer.Line
    ) {
        state.respond(to: slot, OutgoingFields(status: status, header), isInterim: status.isInformational)
        _ = flush(to: line)
    }

    func reset(_ slot: StreamSlot, _ code: HTTP2ErrorCode, on line: borrowing ScriptedPeer.Line) {
        state.reset(slot, code, at: .now)
        _ = flush(to: line)
    }

    /// Sends frames that the state does not know of.
    func send(on line: borrowing ScriptedPeer.Line, _ write: (inout FrameWriter) -> Void) {
        _ = flush(to: line)
        var writer = FrameWriter()
        write(&writer)
        line.send(writer.bytes)
    }

    /// Sends what is queued; false if the client has ended the connection, or the limit is reached.
    func flush(to line: borrowing ScriptedPeer.Line) -> Bool {
        while state.outputCount > 0 {
            var bytes: [UInt8] = []
            for piece in state.output() {
                switch piece {
                case .frames(let frames): bytes += frames
                case .body(let slot, let count):
                    bytes += bodies[slot]?.prefix(count) ?? []
                    bodies[slot] = bodies[slot]?.dropFirst(count)
                }
            }
            let part = bytes.prefix(limit)
            // After the limit, nothing more is sent.
            limit -= part.count
            guard line.send(Array(part)), part.count == bytes.count else { return false }
            var events: [ConnectionEvent] = []
            state.written(bytes.count, at: .now, into: &events)
        }
        return true
    }
}

// MARK: Peers

extension ScriptedPeer {
    /// Creates a peer that speaks HTTP/2.
    convenience init(
        http2 limits: HTTP2Limits = HTTP2Limits(), on address: SocketAddress = .loopback(),
        sendingAtMost limit: Int = .max,
        _ script: @escaping @Sendable (HTTP2Script, borrowing Line, Int, ScriptedPeer) -> Void
    ) throws {
        try self.init(on: address) { line, number, peer in
            script(HTTP2Script(limits, sendingAtMost: limit), line, number, peer)
        }
    }

    /// Returns a peer that refuses the first `refusals` requests after `beginning`, and responds to the others.
    ///
    /// It notes each of them.
    static func refusing(
        _ refusals: Int, after beginning: @escaping @Sendable (HTTP2Script, borrowing Line) -> Void
    ) throws -> ScriptedPeer {
        try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            beginning(script, line)
            while let request = script.request(on: line) {
                peer.note("request")
                if peer.notes.count <= refusals {
                    script.reset(request.slot, .refusedStream, on: line)
                } else {
                    script.respond(to: request.slot, on: line)
                }
            }
        }
    }
}

extension SocketExecutor {
    /// Returns an executor that uses HTTP/2 with prior knowledge.
    static func http2(
        _ destination: Destination = .url, _ change: (inout Configuration) -> Void = { _ in }
    ) -> SocketExecutor {
        .with(destination) { configuration in
            configuration.httpVersion = .http2PriorKnowledge
            change(&configuration)
        }
    }
}
