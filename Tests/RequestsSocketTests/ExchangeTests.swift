import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("An exchange as a state machine, without sockets", .timeLimit(.minutes(10)))
struct ExchangeTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func produced(_ length: Int?) -> RequestBody {
        .stream(length: length, isReplayable: true) { SentChunks(chunks: []) }
    }

    // MARK: Sending

    @Test("a request that is sent at once, and whose response has arrived, needs nothing")
    func atOnce() throws {
        var steps = try ExchangeSteps(.example(), [.bytes(Self.ok)])
        try steps.advance()
        #expect(steps.log.isEmpty && steps.body == "ok" && steps.exchange.isCarrierReusable)
    }

    @Test("without a look, the exchange needs the response before it receives")
    func noLook() throws {
        var steps = try ExchangeSteps(.example(), [.bytes(Self.ok)], receivesAtOnce: false)
        try steps.advance()
        #expect(steps.log == ["read firstByte"] && steps.body == "ok")
    }

    @Test(
        "a carrier that is full needs space or the response, and the remaining bytes are sent once",
        arguments: [1, 10, 60])
    func full(count: Int) throws {
        let body = RequestBody.bytes(Data("abc".utf8))
        var whole = try ExchangeSteps(.example(.put, body: body), [.bytes(Self.ok)])
        try whole.advance()
        var steps = try ExchangeSteps(
            .example(.put, body: body), [.nothing, .nothing, .bytes(Self.ok)],
            accepting: [.bytes(count), .full, .bytes(1)])
        try steps.advance()
        #expect(steps.log == ["write or read sending"] && steps.body == "ok" && steps.exchange.isCarrierReusable)
        #expect(steps.exchange.carrier.sentText == whole.exchange.carrier.sentText)
    }

    @Test("after much work, other tasks have a turn")
    func turns() throws {
        let request = try PreparedRequest.example(.put, body: .bytes(Data(repeating: 97, count: 100)))
        let accepting = [ScriptedCarrier.Acceptance](repeating: .bytes(2), count: 64)
        var steps = try ExchangeSteps(request, [.bytes(Self.ok)], accepting: accepting)
        try steps.advance()
        #expect(steps.log == ["turn", "turn"] && steps.body == "ok")
    }

    @Test("a produced body is needed in pieces, counted or in chunks")
    func pieces() throws {
        var counted = try ExchangeSteps(
            .example(.put, body: Self.produced(3)),
            [.nothing, .bytes(Self.ok)])
        try counted.advance(pieces: ["a", "bc", nil])
        #expect(
            counted.log == ["piece", "piece", "piece"] && counted.exchange.carrier.sentText.hasSuffix("\r\n\r\nabc"))
        #expect(counted.exchange.isCarrierReusable == true)
        var chunked = try ExchangeSteps(
            .example(.put, body: Self.produced(nil)),
            [.nothing, .nothing, .bytes(Self.ok)])
        try chunked.advance(pieces: ["a", "bc", nil])
        #expect(chunked.exchange.carrier.sentText.hasSuffix("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"))
        var empty = try ExchangeSteps(.example(.put, body: Self.produced(0)), [.bytes(Self.ok)])
        try empty.advance(1, pieces: [nil])
        #expect(empty.log == ["piece"] && empty.exchange.carrier.sentText.isEmpty)
        try empty.advance()
        #expect(empty.exchange.carrier.sentText.hasSuffix("Content-Length: 0\r\n\r\n"))
        // A source that pauses may still produce bytes, or fail.
        var pausing = try ExchangeSteps(.example(.put, body: Self.produced(0)), [.nothing, .nothing])
        try pausing.advance(2)
        #expect(pausing.log.first == "piece" && pausing.exchange.carrier.sentText.isEmpty)
    }

    @Test(
        "a produced body that does not have its declared length is an error before its last byte is sent",
        arguments: [(["a", nil], "shorter"), (["a", "bcd"], "longer"), (["abc", "d"], "longer")])
    func lengths(pieces: [String?], word: String) throws {
        var steps = try ExchangeSteps(.example(.put, body: Self.produced(3)), [.nothing, .nothing])
        let error = #expect(throws: RequestError.self) { try steps.advance(pieces: pieces) }
        #expect(error?.reason == .bodyEncodingFailed && "\(error as Any)".contains(word))
        #expect(!steps.exchange.carrier.sentText.hasSuffix("abc"))
    }

    @Test("a file is read in pieces, or sent by the carrier", arguments: [false, true])
    func files(sendsFiles: Bool) throws {
        let folder = TemporaryDirectory()
        try folder.write([UInt8](repeating: 97, count: 100_000), to: "body")
        var steps = try ExchangeSteps(
            .example(.put, body: .file(path: folder.path(of: "body"))), [.nothing, .bytes(Self.ok)],
            sendsFiles: sendsFiles)
        try steps.advance()
        #expect(steps.body == "ok" && steps.exchange.carrier.sentText.utf8.suffix(100_001).first == UInt8(ascii: "\n"))
        #expect(steps.exchange.isCarrierReusable == true)
    }

    // MARK: Expecting

    @Test("the body follows 100 (Continue), or the end of the wait; a final response comes instead of it")
    func expecting() throws {
        let request = try PreparedRequest.example(
            .put, body: .bytes(Data("abc".utf8)), continueTimeout: .seconds(100))
        var continued = try ExchangeSteps(
            request, [.nothing, .bytes("HTTP/1.1 100 Continue\r\n\r\n"), .nothing, .bytes(Self.ok)])
        try continued.advance()
        #expect(continued.log == ["read firstByte"] && continued.exchange.carrier.sentText.hasSuffix("\r\n\r\nabc"))
        var final = try ExchangeSteps(
            request, [.nothing, .bytes("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")])
        try final.advance()
        #expect(final.exchange.carrier.sentText.hasSuffix("\r\n\r\n") && !final.exchange.isCarrierReusable)
        var late = try ExchangeSteps(request, [.nothing, .bytes(Self.ok)])
        try late.advance(1)
        #expect(late.exchange.carrier.sentText.hasSuffix("\r\n\r\n"))
        try late.exchange.fail(.timedOut, until: .now, in: .firstByte)
        try late.advance()
        #expect(late.exchange.carrier.sentText.hasSuffix("\r\n\r\nabc") && late.body == "ok")
    }

    // MARK: Receiving

    @Test("interim responses are skipped; the phases of the wait are the first byte and those that follow")
    func phases() throws {
        var steps = try ExchangeSteps(
            .example(),
            [
                .nothing, .bytes("HTTP/1.1 103 Early Hints\r\n\r\n"), .nothing, .bytes("HTTP/1.1 200"), .nothing,
                .bytes(" OK\r\nContent-Length: 2\r\n\r\n"), .nothing, .bytes("ok"),
            ])
        try steps.advance()
        #expect(steps.log == ["read firstByte", "read firstByte", "read betweenBytes", "read betweenBytes"])
        #expect(steps.body == "ok")
    }

    // MARK: A second transmission

    @Test("head and body of a complete response are moved out")
    func taken() throws {
        var steps = try ExchangeSteps(.example(), [.bytes(Self.ok)])
        try steps.advance()
        let (expected, taken) = (steps.exchange.response(), steps.exchange.takeResponse())
        #expect(taken.head == expected.head && taken.metrics == expected.metrics)
        #expect(text(of: taken.body) == "ok" && steps.body == "")
        #expect(steps.exchange.response().head.status.code == 0)
    }

    @Test(
        "a request is sent again only if a reused connection ended before the response, and it may be repeated",
        arguments: [
            (HTTPMethod.get, true, 1_000, "", true), (.get, false, 1_000, "", false),
            (.get, true, 1_000, "HTTP", false), (.post, true, 1_000, "", false), (.post, true, 0, "", true),
        ])
    func resending(method: HTTPMethod, isReused: Bool, accepted: Int, begun: String, isAllowed: Bool) throws {
        let arrivals: [ScriptedCarrier.Arrival] = begun.isEmpty ? [.end] : [.bytes(begun), .end]
        let accepting: [ScriptedCarrier.Acceptance] = accepted == 0 ? [.failure(32)] : [.bytes(accepted)]
        var steps = try ExchangeSteps(.example(method), arrivals, accepting: accepting, isReused: isReused)
        let (lost, error) = try steps.lose()
        #expect(error.reason == .connectionLost && error.mayHaveReachedServer == (accepted > 0))
        let request = try PreparedRequest.example(method)
        #expect(lost.allowsAnother(of: request) == isAllowed && lost.isStale == (isReused && begun.isEmpty))
        if !isAllowed { return }
        steps = steps.transmitting(on: ScriptedCarrier([.bytes(Self.ok)]), after: lost)
        try steps.advance()
        let metrics = steps.exchange.response().metrics
        #expect(metrics.transmissions == 2 && !metrics.isReusedConnection)
        #expect(steps.body == "ok")
    }

    @Test("a body is sent again from its beginning", arguments: [false, true])
    func resendingBody(isProduced: Bool) throws {
        let body = isProduced ? Self.produced(3) : .bytes(Data("abc".utf8))
        var steps = try ExchangeSteps(.example(.put, body: body), [.nothing, .end], isReused: true)
        let (lost, _) = try steps.lose(pieces: ["a", "bc", nil])
        #expect(try lost.allowsAnother(of: .example(.put, body: body)))
        let sent = steps.exchange.carrier.sentText
        steps = steps.transmitting(
            on: ScriptedCarrier([.nothing, .nothing, .bytes(Self.ok)]), after: lost)
        try steps.advance(pieces: ["ab", "c", nil])
        #expect(steps.body == "ok" && steps.exchange.carrier.sentText.hasSuffix("\r\n\r\nabc"))
        if !isProduced { #expect(steps.exchange.carrier.sentText == sent) }
    }

    @Test("if another transmission fails before it is sent, the error says that the first one may have arrived")
    func replacementFailed() throws {
        var steps = try ExchangeSteps(.example(), [.end], isReused: true)
        let (lost, _) = try steps.lose()
        let early = lost.error(after: RequestError(.connectionFailed).beforeSending())
        #expect(early.reason == .connectionLost && early.mayHaveReachedServer)
        for reason in [RequestError.Reason.cancelled, .timedOut(.total)] {
            let ended = lost.error(after: RequestError(reason).beforeSending())
            #expect(ended.reason == reason && ended.mayHaveReachedServer)
        }
        steps = steps.transmitting(on: ScriptedCarrier([.end], accepting: [.failure(32)]), after: lost)
        let (second, error) = try steps.lose()
        #expect(error.reason == .connectionLost && error.mayHaveReachedServer)
        #expect(try !second.allowsAnother(of: .example()))
    }

    @Test("a request of which TLS may have sent a part is not sent again, and may have arrived", .rows("R-42", "R-43"))
    func partlyWritten() throws {
        let request = try PreparedRequest.example(.post, body: .bytes(Data("x".utf8)))
        var partial = try ExchangeSteps(
            request, [.end], accepting: [.failure(32)], isReused: true, hasPartialWrite: true)
        let (lost, error) = try partial.lose()
        #expect(error.reason == .connectionLost && error.mayHaveReachedServer && !lost.allowsAnother(of: request))
        // Otherwise nothing can have arrived.
        var steps = try ExchangeSteps(request, [.end], accepting: [.failure(32)], isReused: true)
        #expect(try steps.lose().lost.allowsAnother(of: request))
    }

    // MARK: Delivering

    @Test("a body is collected up to its limit, whatever its framing")
    func collecting() throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        var steps = try ExchangeSteps(
            .example(),
            [.bytes(chunked + "1\r\no"), .nothing, .bytes("\r\n1\r\nk\r\n"), .bytes("0\r\nT: u\r\n\r\n")])
        try steps.advance()
        #expect(steps.log == ["read betweenBytes"] && steps.body == "ok" && steps.exchange.isCarrierReusable)
        #expect(steps.exchange.response().trailers["T"] == "u")
        var long = try ExchangeSteps(
            .example(delivery: .collected(limit: 1)), [.bytes(chunked), .bytes("2\r\nok\r\n0\r\n\r\n")])
        let error = #expect(throws: RequestError.self) { try long.advance() }
        #expect(error?.reason == .tooLarge(limit: 1) && error?.response?.status == .ok)
        var declared = try ExchangeSteps(.example(delivery: .collected(limit: 1)), [.bytes(Self.ok)])
        let early = #expect(throws: RequestError.self) { try declared.advance() }
        #expect(early?.reason == .tooLarge(limit: 1) && early?.body == nil)
        var untilClose = try ExchangeSteps(.example(), [.bytes("HTTP/1.1 200 OK\r\n\r\no"), .bytes("k"), .end])
        try untilClose.advance()
        #expect(untilClose.body == "ok" && !untilClose.exchange.isCarrierReusable)
        var cut = try ExchangeSteps(
            .example(), [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\no"), .bytes("k"), .end])
        let lost = #expect(throws: RequestError.self) { try cut.advance() }
        #expect(lost?.reason == .connectionLost && lost?.body == Data("ok".utf8))
    }

    @Test("a streamed body is received in pieces, each when it is requested")
    func streaming() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        var steps = try ExchangeSteps(.example(delivery: .streamed), [.bytes(head + "ab"), .nothing, .bytes("cd")])
        try steps.advance()
        #expect(steps.log.isEmpty && steps.exchange.isStreaming)
        var pieces: [String] = []
        while true {
            steps.exchange.beginPiece()
            try steps.advance()
            guard let piece = steps.exchange.takePiece() else { break }
            pieces.append(String(decoding: piece, as: UTF8.self))
        }
        #expect(pieces == ["ab", "cd"] && steps.log == ["read betweenBytes"] && steps.exchange.isCarrierReusable)
        var empty = try ExchangeSteps(
            .example(delivery: .streamed), [.bytes("HTTP/1.1 204 No Content\r\n\r\n")])
        try empty.advance()
        #expect(!empty.exchange.isStreaming && empty.exchange.isCarrierReusable)
    }

    @Test("a body is saved to a file, which appears when it is complete; an error's body is collected")
    func saving() throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "saved")
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        var steps = try ExchangeSteps(
            .example(delivery: .file(path: path)), [.bytes(head + "o"), .nothing, .bytes("k")])
        try steps.advance(1)
        #expect(folder.read("saved") == nil)
        try steps.advance()
        #expect(folder.read("saved") == Data("ok".utf8) && steps.exchange.isCarrierReusable)
        var failed = try ExchangeSteps(
            .example(delivery: .file(path: path)),
            [.bytes("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")])
        try failed.advance()
        #expect(failed.body == "no")
    }
}
