import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: requests that a server receives")
struct RequestHeadTests {
    /// The fields of a head or of trailers on stream 1, and the expected events; none if the fields are malformed.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fields: [(String, String)]
        let log: [String]

        init(_ name: String, _ fields: [(String, String)], _ log: [String] = []) {
            (testDescription, self.fields, self.log) = (name, fields, log)
        }
    }

    private static let valid = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/x?y")]
    private static let connect = [(":method", "CONNECT"), (":authority", "a:443")]
    private static let get = ["1 GET /x?y", "1 ended"]

    private static func changed(_ name: String, to value: String?) -> [(String, String)] {
        valid.compactMap { $0.0 == name ? value.map { (name, $0) } : $0 }
    }

    static let fields: [Row] =
        FieldTable.valid.map { Row($0.name, valid + [$0.field], get) }
        + FieldTable.malformed.map { Row($0.name, valid + [$0.field]) }

    static let pseudoFields: [Row] =
        valid.flatMap { name, value in
            [
                Row("two \(name)", valid + [(name, value)]),
                Row("a late \(name)", changed(name, to: nil) + [("a", "b"), (name, value)]),
                Row("a control character in \(name)", changed(name, to: "\(value)\n")),
                Row("NUL in \(name)", changed(name, to: "\(value)\0")),
                Row("a space before \(name)", changed(name, to: " \(value)")),
                Row("a tab after \(name)", changed(name, to: "\(value)\t")),
            ]
        } + [
            Row("all pseudo-fields", valid, get),
            Row("another order", valid.reversed(), get),
            Row("no :authority, but Host", changed(":authority", to: nil) + [("host", "a")], get),
            Row(
                "OPTIONS *", [(":method", "OPTIONS"), (":scheme", "https"), (":path", "*")], ["1 OPTIONS *", "1 ended"]),
            Row("CONNECT", connect, ["1 CONNECT a:443", "1 ended"]),
            Row("CONNECT with :scheme", connect + [(":scheme", "https")]),
            Row("CONNECT with :path", connect + [(":path", "/")]),
            Row("CONNECT without :authority", [(":method", "CONNECT")]),
            Row("no field at all", []),
            Row("no :method", changed(":method", to: nil)),
            Row("no :scheme", changed(":scheme", to: nil)),
            Row("no :path", changed(":path", to: nil)),
            Row("an empty :method", changed(":method", to: "")),
            Row("a space in :method", changed(":method", to: "G T")),
            Row("another :scheme", changed(":scheme", to: "coap+tcp"), get),
            Row("an empty :scheme", changed(":scheme", to: "")),
            Row("a digit before :scheme", changed(":scheme", to: "1http")),
            Row("a colon in :scheme", changed(":scheme", to: "https:")),
            Row("an empty :path", changed(":path", to: "")),
            Row("the :path *", changed(":path", to: "*")),
            Row("a relative :path", changed(":path", to: "x")),
            Row("an unknown pseudo-field", valid + [(":protocol", "websocket")]),
            Row("the pseudo-field of a response", valid + [(":status", "200")]),
            Row("an upper-case pseudo-field", valid + [(":Path", "/")]),
            Row("an empty pseudo-field", valid + [(":", "/")]),
            Row("a length without a body", valid + [("content-length", "5")]),
        ]

    private func check(_ row: Row) {
        for oneByOne in [false, true] {
            var peer = HTTP2Peer(.server)
            peer.receive(WireFrame.headers(Block.of(row.fields), on: 1, ends: true), oneByOne: oneByOne)
            #expect(peer.takeLog() == row.log)
            #expect(peer.sent() == (row.log.isEmpty ? [.resetStream(1, .protocolError)] : []))
            expectRequest(3, at: &peer)
        }
    }

    /// Expects that the connection delivers a request, and sends its response.
    private func expectRequest(_ stream: StreamID, at peer: inout HTTP2Peer) {
        peer.receive(WireFrame.headers(Block.of(Self.valid), on: stream, ends: true))
        #expect(peer.takeLog() == ["\(stream) GET /x?y", "\(stream) ended"])
        peer.state.respond(to: peer.slot(stream), OutgoingFields(status: 204, .empty), endsStream: true)
        #expect(peer.sent() == [.headers(stream: stream, endsStream: true)])
        #expect(peer.error == nil)
    }

    @Test("a malformed field of a request fails its stream only", .rows("H-9"), arguments: fields)
    func checkFields(row: Row) { check(row) }

    @Test("a request has valid pseudo-fields, or its stream fails", .rows("H-9", "H-14"), arguments: pseudoFields)
    func checkPseudoFields(row: Row) { check(row) }

    static let trailers: [Row] =
        valid.map { Row("\($0) in trailers", [($0, $1)]) }
        + [
            Row("a trailer", [("a", "b")], ["1 trailers 1", "1 ended"]),
            Row("no trailer", [], ["1 trailers 0", "1 ended"]),
        ]
        + FieldTable.malformed.map { Row("\($0.name) in trailers", [$0.field]) }

    @Test(
        "a malformed field in the trailers of a request fails its stream only", .rows("H-9", "H-13"),
        arguments: trailers)
    func checkTrailers(row: Row) {
        for oneByOne in [false, true] {
            var peer = HTTP2Peer(.server)
            peer.receive(WireFrame.headers(Block.request(method: "POST"), on: 1) + WireFrame.data([1], on: 1))
            #expect(peer.takeLog() == ["1 POST /", "1 data"])
            peer.receive(WireFrame.headers(Block.of(row.fields), on: 1, ends: true), oneByOne: oneByOne)
            #expect(peer.takeLog() == (row.log.isEmpty ? ["1 reset PROTOCOL_ERROR"] : row.log))
            #expect(peer.sent() == (row.log.isEmpty ? [.resetStream(1, .protocolError)] : []))
            expectRequest(3, at: &peer)
        }
    }

    @Test("parts of a Cookie field are joined with a semicolon and a space", .rows("H-49"))
    func cookies() throws {
        var state = ConnectionState(.server, at: Deadline(nanoseconds: 0))
        var events: [ConnectionEvent] = []
        let block = Block.request("/", [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3")])
        let bytes = FrameReader.preface + WireFrame.settings() + WireFrame.headers(block, on: 1, ends: true)
        try state.receive(bytes.span, at: Deadline(nanoseconds: 0), into: &events)
        let heads = events.compactMap { if case .head(_, .request(let head)) = $0 { head } else { nil } }
        let head = try #require(heads.first)
        #expect(head.header == [.init(name: "cookie", value: "a=1; b=2; c=3"), .init(name: "x", value: "y")])
        #expect(head.method == .get && head.scheme == "https" && head.authority == "a.example" && head.path == "/")
    }

    static let numbers: [(streams: [StreamID], code: HTTP2ErrorCode?)] = [
        ([1, 3, 9], nil), ([2], .protocolError), ([0], .protocolError), ([3, 1], .protocolError),
        ([1, 9, 5], .protocolError), ([1, 3, 5, 11, 11], .streamClosed), ([1, 1], .streamClosed),
    ]

    @Test("a client opens streams with growing odd numbers", .rows("H-9"), arguments: numbers)
    func streamNumbers(streams: [StreamID], code: HTTP2ErrorCode?) {
        var peer = HTTP2Peer(.server)
        for stream in streams {
            peer.receive(WireFrame.headers(Block.request(), on: stream, ends: true))
            // The response makes the stream closed.
            var response = OutgoingFields()
            response.append(":status", "204")
            peer.state.respond(to: peer.slot(stream), response, endsStream: true)
        }
        #expect(peer.error?.code == code)
    }

    @Test("a stream above the limit is refused, and its header block still changes the table", .rows("H-25"))
    func refusal() {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 1
        var peer = HTTP2Peer(.server, limits: limits)
        peer.receive(WireFrame.headers(Block.request("/1"), on: 1, ends: true))
        // Adds `a: b` to the table, to which the next request refers.
        peer.receive(WireFrame.headers(Block.request("/2") + [0x40, 1, 0x61, 1, 0x62], on: 3, ends: true))
        #expect(peer.sent() == [.resetStream(3, .refusedStream)])
        peer.receive(WireFrame.data([1], on: 3, ends: true))
        var response = OutgoingFields()
        response.append(":status", "204")
        peer.state.respond(to: peer.slot(1), response, endsStream: true)
        peer.receive(WireFrame.headers(Block.request("/3") + [0xBE], on: 5, ends: true))
        #expect(peer.log == ["1 GET /1", "1 ended", "5 GET /3", "5 ended"])
        #expect(peer.error == nil)
    }

    @Test("a server that drains refuses later streams, and announces its last one once", .rows("H-20"))
    func draining() {
        var peer = HTTP2Peer(.server)
        peer.receive(WireFrame.headers(Block.request("/1"), on: 1, ends: true))
        peer.state.drain()
        peer.state.drain()
        peer.receive(WireFrame.headers(Block.request("/2"), on: 3, ends: true))
        let goAway = Frame.GoAway(lastStream: 1, code: .noError)
        #expect(peer.sent() == [.goAway(goAway), .resetStream(3, .refusedStream)])
        #expect(peer.log == ["1 GET /1", "1 ended"])
        // A later error does not name a stream above the first announcement (RFC 9113 §6.8).
        peer.receive(WireFrame.windowUpdate(0, 0))
        guard case .goAway(let last) = peer.sent().last else { Issue.record("no GOAWAY"); return }
        #expect(last.lastStream == 1 && last.code == .protocolError)
    }

    @Test("an interim response precedes the head, and nothing follows the end", .rows("H-12"))
    func responses() {
        var peer = HTTP2Peer(.server)
        peer.receive(WireFrame.headers(Block.request(method: "POST", []), on: 1))
        var interim = OutgoingFields()
        interim.append(":status", "100")
        var response = OutgoingFields()
        response.append(":status", "200")
        peer.state.respond(to: peer.slot(1), interim, isInterim: true)
        peer.state.respond(to: peer.slot(1), response)
        peer.state.respond(to: peer.slot(1), response)
        #expect(peer.state.write(peer.slot(1), 5) == 5)
        peer.state.end(peer.slot(1), trailers: OutgoingFields(trailers: ["digest": "x"]))
        peer.state.end(peer.slot(1))
        #expect(peer.state.write(peer.slot(1), 5) == 0)
        let frames = peer.sent().map { frame in
            switch frame {
            case .headers(let stream, let endsStream): "HEADERS \(stream) \(endsStream)"
            case .data(let part): "DATA \(part.countedBytes)"
            default: "\(frame)"
            }
        }
        #expect(frames == ["HEADERS 1 false", "HEADERS 1 false", "DATA 5", "HEADERS 1 true"])
    }
}
