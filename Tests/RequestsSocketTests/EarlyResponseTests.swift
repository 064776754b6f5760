import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Responses that arrive before the request was sent (decision 0057), as a table, with a scripted carrier.
@Suite("Early responses in an exchange, without sockets", .timeLimit(.minutes(10)))
struct EarlyResponseTests {
    static let kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    static let closing = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    static let untilClose = "HTTP/1.1 200 OK\r\n\r\n"
    static let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n"
    private static let space = "write or read sending"

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var arrivals: [ScriptedCarrier.Arrival]
        /// The bytes that the carrier accepts after 20 bytes of the head.
        var accepting: [ScriptedCarrier.Acceptance] = [.full, .full]
        var log = [space]
        /// The reason of the error; nil for a response.
        var reason: RequestError.Reason?
        /// Whether an error has the response as evidence.
        var hasEvidence = true
        var isWhole = true
        var isReusable = true
    }

    static let rows = [
        Row(
            testDescription: "a response that is whole at once, and space later",
            arrivals: [.nothing, .bytes(kept + "ok")], log: [space, "write sending"], isReusable: false),
        Row(
            testDescription: "a response in pieces while the request is sent",
            arrivals: [.nothing, .bytes(kept), .nothing, .bytes("o"), .nothing, .bytes("k")],
            accepting: [.full, .bytes(5), .full, .bytes(5), .full], log: [space, space, "write sending"],
            isReusable: false),
        Row(
            testDescription: "a response that ends after the request",
            arrivals: [.nothing, .bytes(kept + "o"), .nothing, .nothing, .nothing, .bytes("k")], log: [space, space]),
        Row(
            testDescription: "chunks",
            arrivals: [
                .nothing, .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"), .nothing,
                .bytes("0\r\n\r\n"),
            ], log: [space, "write sending"], isReusable: false),
        Row(
            testDescription: "an interim response ends nothing",
            arrivals: [.nothing, .bytes("HTTP/1.1 103 \r\n\r\n"), .nothing, .nothing, .bytes(kept + "ok")],
            log: [space, space], isReusable: false),
        Row(
            testDescription: "a response that ends the connection ends sending when it has ended",
            arrivals: [.nothing, .bytes(closing + "o"), .nothing, .bytes("k")],
            accepting: [.full, .bytes(5), .full], log: [space], isWhole: false, isReusable: false),
        Row(
            testDescription: "a response that ends the connection does not end sending with its head",
            arrivals: [.nothing, .bytes(closing), .nothing, .nothing, .nothing, .bytes("ok")], log: [space, space],
            isReusable: false),
        Row(
            testDescription: "a response with HTTP/1.0 ends the connection and sending",
            arrivals: [.nothing, .bytes("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")], isWhole: false,
            isReusable: false),
        Row(
            testDescription: "the end of a body without a length ends sending",
            arrivals: [.nothing, .bytes(untilClose + "o"), .bytes("k"), .end], isWhole: false, isReusable: false),
        Row(
            testDescription: "a status from 300 on ends sending with its head",
            arrivals: [.nothing, .bytes(refusal + "o"), .nothing, .bytes("k")], log: [space, "read betweenBytes"],
            isWhole: false, isReusable: false),
        Row(
            testDescription: "a whole response does not end sending if the carrier accepts the remainder",
            arrivals: [.nothing, .nothing, .bytes(kept + "ok")], accepting: [.full], log: [space]),
        Row(
            testDescription: "a failed carrier after a whole response is an error",
            arrivals: [.nothing, .bytes(kept + "ok")], accepting: [.full, .failure(32)], reason: .connectionLost),
        Row(
            testDescription: "a failed carrier in a response is an error at its end",
            arrivals: [.nothing, .bytes(kept + "o"), .nothing, .bytes("k")], accepting: [.full, .failure(104)],
            reason: .connectionLost),
        Row(
            testDescription: "a failed carrier before a response is an error at its end",
            arrivals: [.bytes(kept + "ok")], accepting: [.failure(104)], log: [], reason: .connectionLost),
        Row(
            testDescription: "a failed carrier without a response",
            arrivals: [.nothing], accepting: [.failure(104)], log: [], reason: .connectionLost, hasEvidence: false),
        Row(
            testDescription: "a failed carrier does not lose a response that ends the connection",
            arrivals: [.nothing, .bytes(closing + "o"), .nothing, .bytes("k")], accepting: [.full, .failure(104)],
            isWhole: false, isReusable: false),
        Row(
            testDescription: "a failed carrier does not lose a refusal",
            arrivals: [.bytes(refusal + "o"), .bytes("k")], accepting: [.failure(32)], log: [], isWhole: false,
            isReusable: false),
        Row(
            testDescription: "a failed carrier does not lose a body without a length that has ended",
            arrivals: [.bytes(untilClose + "ok"), .end], accepting: [.failure(32)], log: [], isWhole: false,
            isReusable: false),
        Row(
            testDescription: "a reset is not the end of a body without a length",
            arrivals: [.bytes(untilClose + "ok"), .end], accepting: [.failure(104)], log: [],
            reason: .connectionLost),
        Row(
            testDescription: "a truncated response is an error, even if it ends the connection",
            arrivals: [.nothing, .bytes(closing + "o"), .end], reason: .connectionLost),
        Row(
            testDescription: "the end of the connection before a response",
            arrivals: [.nothing, .end], reason: .connectionLost, hasEvidence: false),
    ]

    private static func request(
        _ delivery: ResponseBody.Delivery = .collected(limit: 100), _ body: String = "abcdefghij"
    ) throws -> PreparedRequest {
        try .example(.put, body: .bytes(Data(body.utf8)), delivery: delivery)
    }

    @Test("a response that arrives early, in each state of both directions", .rows("R-45"), arguments: rows)
    func table(row: Row) throws {
        var steps = try ExchangeSteps(Self.request(), row.arrivals, accepting: [.bytes(20)] + row.accepting)
        var failure: RequestError?
        do throws(RequestError) { try steps.advance() } catch { failure = error }
        #expect(failure?.reason == row.reason)
        #expect(steps.log == row.log)
        if let failure {
            #expect((failure.response != nil) == row.hasEvidence)
            if row.hasEvidence { #expect(failure.body?.first == UInt8(ascii: "o")) }
            #expect(steps.exchange.isCarrierReusable == false)
            return
        }
        #expect(steps.body == "ok")
        #expect(steps.exchange.carrier.sentText.hasSuffix("\r\n\r\nabcdefghij") == row.isWhole)
        let metrics = steps.exchange.response().metrics
        #expect(metrics.isRequestBodyIncomplete == !row.isWhole)
        #expect((metrics.timeToRequestSent != nil) == row.isWhole)
        #expect(steps.exchange.isCarrierReusable == row.isReusable)
    }

    @Test("the result does not depend on how the bytes are split", .rows("R-45"), arguments: [1, 2, 3, 5, 8, 13])
    func splits(size: Int) throws {
        let whole = Array((Self.kept + "ok").utf8)
        for first in 0..<40 {
            for delivery in [ResponseBody.Delivery.collected(limit: 100), .streamed] {
                var arrivals = [ScriptedCarrier.Arrival](repeating: .nothing, count: first)
                for start in stride(from: 0, to: whole.count, by: size) {
                    let part = whole[start..<min(start + size, whole.count)]
                    arrivals += [.bytes(String(decoding: part, as: UTF8.self)), .nothing]
                }
                let accepting = (0..<60).flatMap { _ in [ScriptedCarrier.Acceptance.bytes(size), .full] }
                var steps = try ExchangeSteps(Self.request(delivery), arrivals, accepting: accepting)
                try steps.advance(1_000)
                var text = steps.body ?? ""
                while steps.exchange.isStreaming {
                    steps.exchange.beginPiece()
                    try steps.advance(1_000)
                    text += steps.exchange.takePiece().map { String(decoding: $0, as: UTF8.self) } ?? ""
                }
                #expect(text == "ok")
                #expect(steps.exchange.carrier.sentText.hasSuffix("\r\n\r\nabcdefghij"))
                #expect(steps.exchange.response().metrics.isRequestBodyIncomplete == false)
            }
        }
    }

    @Test(
        "bytes in either direction are progress, and without any the call ends, with the response that has arrived",
        .rows("R-45", "R-48"), arguments: [false, true])
    func progress(isComplete: Bool) throws {
        var request = try Self.request()
        request.timeouts.betweenBytes = .seconds(30)
        var steps = try ExchangeSteps(
            request,
            [.nothing, .nothing, .nothing, .bytes(Self.kept + "o"), .nothing] + (isComplete ? [.bytes("k")] : []),
            accepting: [.bytes(20)] + Array(repeating: .full, count: 9))
        try steps.advance(2)
        // No byte was transferred in between.
        #expect(steps.limits.count == 2 && steps.limits[0] == steps.limits[1])
        try steps.advance(5)
        #expect(steps.limits[2] > steps.limits[1] && steps.limits[4] >= steps.limits[2])
        #expect(steps.log.last == (isComplete ? "write sending" : Self.space))
        let limit = try #require(steps.limits.last)
        let error = #expect(throws: RequestError.self) {
            try steps.exchange.fail(.timedOut, until: limit, in: .sending)
        }
        #expect(error?.reason == .timedOut(.sending) && error?.response?.status == 200)
        #expect(error?.body == Data((isComplete ? "ok" : "o").utf8))
    }

    @Test("a response without a body ends with its head", .rows("R-45"), arguments: ["", "Connection: close\r\n"])
    func noBody(field: String) throws {
        for delivery in [ResponseBody.Delivery.collected(limit: 100), .streamed] {
            var steps = try ExchangeSteps(
                Self.request(delivery), [.nothing, .bytes("HTTP/1.1 204 No Content\r\n\(field)\r\n")],
                accepting: [.bytes(20), .full, .full])
            try steps.advance()
            #expect(steps.log == (field.isEmpty ? [Self.space, "write sending"] : [Self.space]))
            #expect(!steps.exchange.isCarrierReusable && !steps.exchange.isStreaming)
            #expect(steps.exchange.response().metrics.isRequestBodyIncomplete == !field.isEmpty)
        }
    }

    @Test("a file appears when both directions have ended, or not at all", .rows("R-45"), arguments: [false, true])
    func saving(fails: Bool) throws {
        let folder = TemporaryDirectory()
        var steps = try ExchangeSteps(
            Self.request(.file(path: folder.path(of: "saved"))), [.nothing, .bytes(Self.kept + "ok")],
            accepting: [.bytes(20), .full, .full] + (fails ? [.failure(104)] : []))
        try steps.advance(2)
        #expect(steps.log == [Self.space, "write sending"] && folder.read("saved") == nil)
        var reason: RequestError.Reason?
        do throws(RequestError) { try steps.advance() } catch { reason = error.reason }
        #expect(reason == (fails ? .connectionLost : nil))
        #expect(folder.read("saved") == (fails ? nil : Data("ok".utf8)))
        if !fails, case .file = steps.exchange.response().body {} else if !fails { Issue.record("no file") }
    }

    @Test("a streamed response is returned with its head, and reading it drives both directions", .rows("R-45"))
    func streaming() throws {
        var steps = try ExchangeSteps(
            Self.request(.streamed), [.nothing, .bytes(Self.kept + "o"), .nothing, .nothing, .bytes("k")],
            accepting: [.bytes(20), .full, .bytes(7), .full, .bytes(3), .full])
        try steps.advance()
        #expect(steps.exchange.isStreaming && steps.log == [Self.space] && steps.exchange.carrier.sent.count == 20)
        var pieces: [String] = []
        while true {
            steps.exchange.beginPiece()
            try steps.advance()
            guard let piece = steps.exchange.takePiece() else { break }
            pieces.append(String(decoding: piece, as: UTF8.self))
        }
        #expect(pieces == ["o", "k"] && !steps.exchange.isCarrierReusable)
        #expect(steps.exchange.carrier.sentText.hasSuffix("\r\n\r\nabcdefghij"))
        #expect(steps.exchange.measurements.timeToRequestSent != nil)
    }

    @Test("the end of a streamed response is an error if the server has not received the request", .rows("R-45"))
    func streamingFailure() throws {
        for (head, isSuccess) in [(Self.kept, false), (Self.closing, true), (Self.refusal, true)] {
            var steps = try ExchangeSteps(
                Self.request(.streamed), [.nothing, .bytes(head + "ok")], accepting: [.bytes(20), .full, .failure(104)])
            try steps.advance()
            steps.exchange.beginPiece()
            try steps.advance()
            #expect(steps.exchange.takePiece() == Data("ok".utf8))
            steps.exchange.beginPiece()
            var failure: RequestError?
            do throws(RequestError) { try steps.advance() } catch { failure = error }
            #expect((failure == nil) == isSuccess && failure?.response?.status == (isSuccess ? nil : 200))
            if isSuccess { #expect(steps.exchange.measurements.isRequestBodyIncomplete) }
        }
    }

    private static func produced(
        _ arrivals: [ScriptedCarrier.Arrival], accepting: [ScriptedCarrier.Acceptance] = [],
        delivery: ResponseBody.Delivery = .collected(limit: 100)
    ) throws -> ExchangeSteps {
        let body = RequestBody.stream(length: nil, isReplayable: true) { SentChunks(chunks: []) }
        return try ExchangeSteps(
            .example(.put, body: body, delivery: delivery), arrivals, accepting: accepting)
    }

    @Test("a body with a source is sent to its end", .rows("R-45"))
    func source() throws {
        var steps = try Self.produced([.bytes(Self.kept + "ok")], accepting: [.bytes(.max), .bytes(3), .full])
        try steps.advance(pieces: ["hello", "world", nil])
        #expect(steps.exchange.carrier.sentText.hasSuffix("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n"))
        #expect(steps.body == "ok" && steps.exchange.response().metrics.isRequestBodyIncomplete == false)
    }

    @Test("a response that arrives while the source pauses is received, and then the source continues", .rows("R-45"))
    func pausingSource() throws {
        var steps = try Self.produced([.nothing, .bytes(Self.kept + "o"), .nothing, .bytes("k")])
        try steps.advance(4)
        // Without a limit: the peer need not send anything before it has the next piece.
        #expect(steps.log == ["piece", "read sending", "read sending", "nothing sending"])
        #expect(steps.limits.allSatisfy { $0 == .distantFuture } && steps.body == "ok")
        try steps.offer("hello")
        try steps.advance(pieces: [nil])
        #expect(steps.exchange.carrier.sentText.hasSuffix("5\r\nhello\r\n0\r\n\r\n"))
        #expect(!steps.exchange.response().metrics.isRequestBodyIncomplete && !steps.exchange.isCarrierReusable)
    }

    @Test("a refusal ends a body whose source pauses", .rows("R-45"), arguments: [nil, 10])
    func refusedSource(length: Int?) throws {
        let body = RequestBody.stream(length: length, isReplayable: true) { SentChunks(chunks: []) }
        var steps = try ExchangeSteps(.example(.put, body: body), [.nothing, .bytes(Self.refusal + "ok")])
        try steps.advance()
        #expect(steps.log == ["piece", "read sending"] && steps.body == "ok")
        #expect(steps.exchange.response().metrics.isRequestBodyIncomplete)
    }

    @Test("a streamed response is returned while the source pauses, and reading it sends the pieces", .rows("R-45"))
    func echo() throws {
        var steps = try Self.produced(
            [
                .nothing, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), .nothing, .nothing, .bytes("o"),
                .nothing, .nothing, .bytes("k"),
            ],
            delivery: .streamed)
        try steps.advance()
        #expect(steps.log == ["piece", "read sending"] && steps.exchange.isStreaming)
        for text in ["o", "k"] {
            try steps.offer(text)
            steps.exchange.beginPiece()
            try steps.advance()
            #expect(steps.exchange.takePiece() == Data(text.utf8))
            #expect(steps.exchange.carrier.sentText.hasSuffix("1\r\n\(text)\r\n"))
        }
        try steps.offer(nil)
        steps.exchange.beginPiece()
        try steps.advance()
        #expect(steps.exchange.takePiece() == nil && steps.exchange.carrier.sentText.hasSuffix("0\r\n\r\n"))
        #expect(steps.exchange.measurements.timeToRequestSent != nil)
    }

    @Test("the end of the connection is seen while the source pauses", .rows("R-45"), arguments: [false, true])
    func endInPause(hasBegun: Bool) throws {
        var steps = try Self.produced([.nothing] + (hasBegun ? [.bytes(Self.kept + "o")] : []) + [.end])
        let error = #expect(throws: RequestError.self) { try steps.advance() }
        #expect(error?.reason == .connectionLost && (error?.response != nil) == hasBegun)
    }

    @Test("after 100 (Continue) the rule applies; instead of it, any final status ends sending", .rows("R-45", "R-46"))
    func expecting() throws {
        let request = try PreparedRequest.example(
            .put, body: .bytes(Data("abcdef".utf8)), continueTimeout: .seconds(100))
        var continued = try ExchangeSteps(
            request, [.bytes("HTTP/1.1 100 \r\n\r\n"), .nothing, .bytes(Self.kept + "ok")],
            accepting: [.bytes(.max), .bytes(2), .full])
        try continued.advance()
        #expect(continued.exchange.carrier.sentText.hasSuffix("\r\n\r\nabcdef") && continued.body == "ok")
        for head in [Self.kept, Self.closing, Self.refusal, "HTTP/1.1 100 \r\n\r\n" + Self.kept] {
            var final = try ExchangeSteps(request, [.bytes(head + "ok")])
            try final.advance()
            #expect(final.exchange.carrier.sentText.hasSuffix("\r\n\r\n") && final.body == "ok")
            let metrics = final.exchange.response().metrics
            #expect(metrics.isRequestBodyIncomplete && !final.exchange.isCarrierReusable)
        }
    }
}
