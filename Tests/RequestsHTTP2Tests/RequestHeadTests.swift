import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: requests that a server receives")
struct RequestHeadTests {
    private static let valid = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/x?y")]

    private static func changed(_ name: String, to value: String?) -> [(String, String)] {
        valid.compactMap { $0.0 == name ? value.map { (name, $0) } : $0 }
    }

    static let heads: [(fields: [(String, String)], log: [String])] = [
        (valid, ["1 GET /x?y", "1 ended"]),
        (changed(":authority", to: nil) + [("host", "a")], ["1 GET /x?y", "1 ended"]),
        ([(":method", "OPTIONS"), (":scheme", "https"), (":path", "*")], ["1 OPTIONS *", "1 ended"]),
        ([(":method", "CONNECT"), (":authority", "a:443")], ["1 CONNECT a:443", "1 ended"]),
        (valid + [("te", "trailers")], ["1 GET /x?y", "1 ended"]),
        (changed(":method", to: nil), []), (changed(":scheme", to: nil), []), (changed(":path", to: nil), []),
        (changed(":path", to: ""), []), (changed(":path", to: "*"), []), (changed(":path", to: "x"), []),
        (changed(":method", to: ""), []), (changed(":method", to: "G T"), []),
        ([(":method", "CONNECT"), (":authority", "a:443"), (":path", "/")], []),
        ([(":method", "CONNECT")], []),
        (valid + [(":path", "/")], []), ([("a", "b")] + valid, []), (valid + [(":status", "200")], []),
        (valid + [("te", "gzip")], []), (valid + [("connection", "close")], []), (valid + [("Host", "a")], []),
        (valid + [("content-length", "5")], []),
    ]

    @Test("a request is read, or its stream is reset and not reported", .rows("H-9", "H-14"), arguments: heads)
    func pseudoFields(fields: [(String, String)], log: [String]) {
        for oneByOne in [false, true] {
            var peer = HTTP2Peer(.server)
            peer.receive(WireFrame.headers(Block.of(fields), on: 1, ends: true), oneByOne: oneByOne)
            #expect(peer.log == log)
            #expect(peer.error == nil)
            #expect(peer.sent() == (log.isEmpty ? [.resetStream(1, .protocolError)] : []))
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
