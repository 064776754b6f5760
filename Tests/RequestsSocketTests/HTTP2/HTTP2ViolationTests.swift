import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import TestSupport
import Testing

/// Frames of a server, valid or not, written byte by byte.
enum RawFrame {
    static func of(_ type: UInt8, flags: UInt8 = 0, on stream: StreamID = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        let header = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
        return header + number(stream) + payload
    }

    static func number(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    /// HEADERS with a block of literals, which change no table.
    static func head(_ fields: [(String, String)], on stream: StreamID = 1, ends: Bool = false) -> [UInt8] {
        let block = fields.flatMap { name, value -> [UInt8] in
            let (name, value) = (Array(name.utf8), Array(value.utf8))
            return [0, UInt8(name.count)] + name + [UInt8(value.count)] + value
        }
        return of(1, flags: ends ? 5 : 4, on: stream, block)
    }

    static func settings(_ id: UInt8, _ value: UInt32) -> [UInt8] { of(4, [0, id] + number(value)) }
}

@Suite("HTTP/2: violations of servers", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2ViolationTests {
    /// What a server sends while stream 1 waits for its response, and how its connection or stream ends.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let code: HTTP2ErrorCode

        init(_ name: String, _ bytes: [UInt8], _ code: HTTP2ErrorCode) {
            (testDescription, self.bytes, self.code) = (name, bytes, code)
        }
    }

    private static let ok = RawFrame.head([(":status", "200")])

    /// Violations that end the connection.
    static let ofConnections = [
        Row("the header of a DATA frame that is too large", ok + [0, 0x40, 1, 0, 0, 0, 0, 0, 1], .frameSizeError),
        Row("a PING of 3 bytes", RawFrame.of(6, [1, 2, 3]), .frameSizeError),
        Row("an invalid header block", RawFrame.of(1, flags: 4, on: 1, [0x40]), .compressionError),
        Row("a PING on a stream", RawFrame.of(6, on: 1, Array(0..<8)), .protocolError),
        Row("DATA on a stream that was never opened", RawFrame.of(0, on: 3, [1]), .protocolError),
        Row(
            "DATA between HEADERS and CONTINUATION", RawFrame.of(1, on: 1, [0x88]) + RawFrame.of(0, on: 1, [1]),
            .protocolError),
        Row("CONTINUATION without HEADERS", RawFrame.of(9, flags: 4, on: 1, [0x88]), .protocolError),
        Row("HEADERS on stream 2", RawFrame.head([(":status", "200")], on: 2), .protocolError),
        Row("PUSH_PROMISE", RawFrame.of(5, flags: 4, on: 1, [0, 0, 0, 2, 0x82]), .protocolError),
        Row("a window above 2^31 - 1", RawFrame.of(8, RawFrame.number(0x7FFF_FFFF)), .flowControlError),
        Row("an increment of 0", RawFrame.of(8, RawFrame.number(0)), .protocolError),
        Row("an initial window above 2^31 - 1", RawFrame.settings(4, 0x8000_0000), .flowControlError),
        Row("SETTINGS_MAX_FRAME_SIZE below 16,384", RawFrame.settings(5, 16_383), .protocolError),
        Row("RST_STREAM of 3 bytes", RawFrame.of(3, on: 1, [0, 0, 8]), .frameSizeError),
    ]

    /// Violations that end only their stream.
    static let ofStreams = [
        Row("no :status", RawFrame.head([("a", "b")], ends: true), .protocolError),
        Row("two :status", RawFrame.head([(":status", "200"), (":status", "200")], ends: true), .protocolError),
        Row("a late :status", RawFrame.head([("a", "b"), (":status", "200")], ends: true), .protocolError),
        Row(
            "another pseudo-header field", RawFrame.head([(":status", "200"), (":path", "/")], ends: true),
            .protocolError),
        Row("the status 101", RawFrame.head([(":status", "101")]), .protocolError),
        Row("a status that is no number", RawFrame.head([(":status", "2x0")], ends: true), .protocolError),
        Row("a name in upper case", RawFrame.head([(":status", "200"), ("A", "b")], ends: true), .protocolError),
        Row("an empty name", RawFrame.head([(":status", "200"), ("", "b")], ends: true), .protocolError),
        Row(
            "a line feed in a value", RawFrame.head([(":status", "200"), ("a", "b\nc: d")], ends: true), .protocolError),
        Row("a space before a value", RawFrame.head([(":status", "200"), ("a", " b")], ends: true), .protocolError),
        Row("Connection", RawFrame.head([(":status", "200"), ("connection", "close")], ends: true), .protocolError),
        Row(
            "Transfer-Encoding", RawFrame.head([(":status", "200"), ("transfer-encoding", "chunked")], ends: true),
            .protocolError),
        Row(
            "a body shorter than its Content-Length",
            RawFrame.head([(":status", "200"), ("content-length", "5")]) + RawFrame.of(0, flags: 1, on: 1, [1]),
            .protocolError),
        Row(
            "a pseudo-header field in trailers", ok + RawFrame.head([(":status", "200")], ends: true), .protocolError),
        Row("trailers that do not end the stream", ok + RawFrame.head([("a", "b")]), .protocolError),
        Row(
            "a window of a stream above 2^31 - 1", RawFrame.of(8, on: 1, RawFrame.number(0x7FFF_FFFF)),
            .flowControlError),
        Row("an increment of 0 for a stream", RawFrame.of(8, on: 1, RawFrame.number(0)), .protocolError),
        Row("PRIORITY of 4 bytes", RawFrame.of(2, on: 1, [0, 0, 0, 1]), .frameSizeError),
    ]

    @Test(
        "a violation ends the connection with GOAWAY, and the call with an error that names the frame and the rule",
        .rows("H-3", "H-29"), arguments: ofConnections, [false, true])
    func connections(row: Row, oneByOne: Bool) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            guard script.head(on: line) != nil else { return }
            line.send(row.bytes, piece: oneByOne ? 1 : .max)
            guard let goAway = script.goAway(on: line) else { return peer.note("none") }
            peer.note("\(goAway.code) \(goAway.debugText)")
            line.waitForEnd()
            peer.note("end")
        }
        let executor = SocketExecutor.http2()
        let error = await executor.failure(of: try peer.request(.post, body: .bytes(Data("x".utf8))))
        #expect(error?.reason == .protocolViolation && error?.mayHaveReachedServer == true, "\(error as Any)")
        #expect(error?.detail?.contains("RFC") == true)
        // A byte that arrives after the executor has closed the socket resets the connection, and GOAWAY is lost.
        let isLost = { oneByOne && peer.notes == ["none"] }
        await eventually { peer.notes.count == 2 || isLost() }
        // Both sides know the same reason.
        #expect(isLost() || peer.notes == ["\(row.code) \(error?.detail ?? "")", "end"])
        #expect(peer.connections == 1)
        await eventually { executor.connections.open == 0 }
    }

    @Test(
        "a violation of one stream resets it, and the connection carries other calls",
        .rows("H-3", "H-9", "H-10", "H-13"),
        arguments: ofStreams, [false, true])
    func streams(row: Row, oneByOne: Bool) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            guard script.head(on: line) != nil else { return }
            line.send(row.bytes, piece: oneByOne ? 1 : .max)
            let frame = script.frame(on: line) { if case .resetStream = $0 { true } else { false } }
            guard case .resetStream(1, let code)? = frame else { return peer.note("none") }
            peer.note("\(code)")
            while let request = script.request(on: line) { script.respond(to: request.slot, on: line) }
        }
        let executor = SocketExecutor.http2()
        let error = await executor.failure(of: try peer.request(.post, body: .bytes(Data("x".utf8))))
        #expect(error?.reason == .protocolViolation && error?.mayHaveReachedServer == true, "\(error as Any)")
        #expect(error?.detail?.contains("on stream 1") == true && error?.detail?.contains("RFC") == true)
        #expect(try await executor.execute(peer.request()).text == "ok")
        #expect(peer.notes == ["\(row.code)"] && peer.connections == 1)
    }

    // MARK: Floods

    /// Frames that a hostile server repeats.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// What precedes the repeated frames.
        let start: [UInt8]
        let frame: [UInt8]

        init(_ name: String, after start: [UInt8] = [], _ frame: [UInt8]) {
            (testDescription, self.start, self.frame) = (name, start, frame)
        }
    }

    static let floods = [
        Flood("CONTINUATION", after: RawFrame.of(1, on: 1), RawFrame.of(9, on: 1, [0x88])),
        Flood("empty CONTINUATION", after: RawFrame.of(1, on: 1), RawFrame.of(9, on: 1)),
        Flood("empty DATA", after: ok, RawFrame.of(0, on: 1)),
        Flood("padding", after: ok, RawFrame.of(0, flags: 8, on: 1, [3, 0, 0, 0])),
        Flood("acknowledgements of PING", RawFrame.of(6, flags: 1, Array(0..<8))),
        Flood(
            "RST_STREAM of an ended stream", after: RawFrame.of(3, on: 1, RawFrame.number(8)),
            RawFrame.of(3, on: 1, RawFrame.number(8))),
        Flood("small windows", RawFrame.of(8, RawFrame.number(1))),
        Flood("PRIORITY", RawFrame.of(2, on: 7, [0, 0, 0, 0, 1])),
        Flood("unknown frames", RawFrame.of(0xBB)),
    ]

    /// Returns a peer that floods a connection in which two requests wait, in clear or over TLS, with the number of
    /// bytes that it notes at the end.
    private static func flooding(_ flood: Flood, isSecured: Bool, piece: Int) throws -> ScriptedPeer {
        let tls = isSecured ? try Secured.server { $0.applicationProtocols = ["h2"] } : nil
        return try ScriptedPeer(securedWith: tls) { line, _, peer in
            let script = HTTP2Script(HTTP2Limits())
            guard script.head(on: line) != nil, script.head(on: line) != nil else { return }
            line.send(flood.start)
            let batch = Array(repeatElement(flood.frame, count: 100).joined())
            var sent = 0
            while sent < 64 << 20, line.send(batch, piece: piece) { sent += batch.count }
            peer.note("\(sent)")
        }
    }

    private static func executor(isSecured: Bool) throws -> SocketExecutor {
        isSecured ? try Secured.executor { $0.httpVersion = .http2PriorKnowledge } : .http2()
    }

    @Test(
        "a flood ends the connection and its calls, before much of it is read", .rows("H-27", "S-44"),
        .enabled(if: Secured.isAvailable, Secured.comment), arguments: floods, [false, true])
    func flood(flood: Flood, isSecured: Bool) async throws {
        // Over TLS, each record contains one byte.
        let peer = try Self.flooding(flood, isSecured: isSecured, piece: isSecured ? 1 : .max)
        let executor = try Self.executor(isSecured: isSecured)
        let request = try isSecured ? peer.securedRequest(.post) : peer.request(.post).patient()
        let calls = (0..<2).map { _ in Task { await executor.failure(of: request) } }
        var errors: [RequestError?] = []
        for call in calls { errors.append(await call.value) }
        #expect(errors.allSatisfy { $0 != nil }, "\(errors)")
        // A stream that its peer has reset ends with that reset.
        #expect(errors.contains { $0?.reason == .protocolViolation }, "\(errors)")
        await eventually { peer.notes.count == 1 }
        // What the buffers of the sockets hold, and 1,000 frames.
        let sent = try #require(peer.notes.first.flatMap { Int($0) })
        #expect(sent < 16 << 20, "\(sent)")
        #expect(peer.connections == 1)
        await eventually { executor.connections.open == 0 }
    }

    @Test("a flood ends the connection with GOAWAY and ENHANCE_YOUR_CALM", .rows("H-27", "S-44"), arguments: floods)
    func floodCode(flood: Flood) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            guard script.head(on: line) != nil, script.head(on: line) != nil else { return }
            // All at once: bytes that arrive after the client has closed reset the connection, and GOAWAY can be lost.
            line.send(flood.start + Array(repeatElement(flood.frame, count: 1_100).joined()))
            let code = script.goAway(on: line)?.code
            peer.note(code.map { "\($0)" } ?? "none")
        }
        let executor = SocketExecutor.http2()
        let request = try peer.request(.post).patient()
        let calls = (0..<2).map { _ in Task { await executor.failure(of: request) } }
        for call in calls { #expect(await call.value != nil) }
        await eventually { peer.notes.count == 1 }
        #expect(peer.notes == ["ENHANCE_YOUR_CALM"] && peer.connections == 1)
    }

    @Test(
        "acknowledgements for a peer that floods and does not read are bounded", .rows("H-27", "S-44"),
        .enabled(if: Secured.isAvailable, Secured.comment),
        arguments: [RawFrame.of(6, Array(0..<8)), RawFrame.settings(3, 100)], [false, true])
    func acknowledgements(frame: [UInt8], isSecured: Bool) async throws {
        let peer = try Self.flooding(Flood("", frame), isSecured: isSecured, piece: .max)
        let executor = try Self.executor(isSecured: isSecured)
        let request = try isSecured ? peer.securedRequest(.post) : peer.request(.post).patient()
        let calls = (0..<2).map { _ in Task { await executor.failure(of: request) } }
        for call in calls {
            let error = await call.value
            #expect(error?.reason == .protocolViolation, "\(error as Any)")
            #expect(error?.detail?.contains("acknowledgements") == true, "\(error?.detail ?? "")")
        }
        #expect(peer.connections == 1)
        await eventually { executor.connections.open == 0 }
    }

    @Test(
        "limits and cancellations end calls during a flood of TLS messages", .rows("H-26", "S-44"),
        .enabled(if: Secured.isAvailable, Secured.comment))
    func keyUpdates() async throws {
        let tls = try Secured.server { $0.applicationProtocols = ["h2"] }
        let peer = try ScriptedPeer(securedWith: tls) { line, _, _ in
            let script = HTTP2Script(HTTP2Limits())
            guard let (slot, _) = script.head(on: line) else { return }
            script.sendHead(200, to: slot, on: line)
            // A byte of DATA after each twenty updates.
            repeat {
                for _ in 0..<20 { line.tls.updateKeys() }
            } while line.send(RawFrame.of(0, on: slot.stream, [1]))
        }
        let executor = try await Secured.loadedExecutor { $0.httpVersion = .http2PriorKnowledge }
        let limited = try peer.securedRequest().with { $0.deadline = .now + .seconds(2) }
        let error = await executor.failure(of: limited)
        #expect(error?.reason == .timedOut(.total), "\(error as Any)")
        let unlimited = try peer.securedRequest()
        let call = Task { await executor.failure(of: unlimited)?.reason }
        for _ in 0..<100 { await Task.yield() }
        call.cancel()
        #expect(await call.value == .cancelled)
        peer.stop()
    }
}
