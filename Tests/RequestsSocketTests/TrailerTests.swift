import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Request trailers", .timeLimit(.minutes(10)))
struct TrailerTests {
    private static let end = "\r\n0\r\nX-Sum: 1\r\n\r\n"

    /// Returns a peer that records each request, which ends with `end`, and responds.
    private func peer() throws -> ScriptedPeer {
        try ScriptedPeer { line, _, peer in
            while true {
                var all = ""
                while !all.hasSuffix(Self.end), let more = line.receive() {
                    all += String(decoding: more, as: UTF8.self)
                }
                if !all.isEmpty { peer.note(all) }
                guard line.send(ok), all.hasSuffix(Self.end) else { return }
            }
        }
    }

    @Test("trailers follow the last chunk of every body, and the connection is reused", .rows("R-14"))
    func sent() async throws {
        let folder = TemporaryDirectory()
        try folder.write(Array("hello".utf8), to: "body")
        let peer = try peer()
        let executor = SocketExecutor()
        for body: RequestBody in [
            .bytes(Data("hello".utf8)), .file(path: folder.path(of: "body")), stream(["hello"]),
            stream(["hel", "lo"], length: 5),
        ] {
            let request = try peer.request(.put, body: body).with {
                $0.trailers = PreparedRequest.Trailers([Field(name: "X-Sum", value: "1")])
            }
            #expect(try await executor.execute(request).text == "ok")
        }
        let head = """
            PUT / HTTP/1.1\r\nHost: \(peer.authority)\r\nAccept-Encoding: identity\r
            Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n
            """
        #expect(peer.notes.prefix(3).allSatisfy { $0 == head + "5\r\nhello" + Self.end })
        #expect(peer.notes.last == head + "3\r\nhel\r\n2\r\nlo" + Self.end)
        #expect(peer.connections == 1)
    }

    @Test("trailers are produced after the body", .rows("R-14"))
    func made() async throws {
        let peer = try peer()
        let count = SharedCounter()
        let body = RequestBody.stream(length: nil, isReplayable: true) {
            count.add(1)
            return SentChunks(chunks: ["a"])
        }
        let request = try peer.request(.put, body: body).with {
            $0.trailers = PreparedRequest.Trailers(["X-Sum"]) { [Field(name: "X-Sum", value: "\(count.value)")] }
        }
        _ = try await SocketExecutor().execute(request)
        #expect(peer.notes.count == 1)
    }

    @Test("trailers that are undeclared, invalid or fail to be produced are an error", .rows("R-1", "R-5", "R-14"))
    func invalid() async throws {
        let peer = try peer()
        let executor = SocketExecutor()
        struct Failure: Error {}
        for trailers in [
            PreparedRequest.Trailers(["X-Sum"]) { [Field(name: "X-Other", value: "1")] },
            PreparedRequest.Trailers(["X-Sum"]) { [Field(name: "X-Sum", value: "1\r\nA: b")] },
            PreparedRequest.Trailers(["X-Sum"]) { throw Failure() },
        ] {
            let request = try peer.request(.put, body: stream(["a"])).with { $0.trailers = trailers }
            #expect(await executor.failure(of: request)?.reason == .bodyEncodingFailed)
            #expect(executor.connections == (0, 0))
        }
        await eventually { peer.notes.count == 3 }
        #expect(peer.notes.allSatisfy { !$0.contains("0\r\n") })
    }

    @Test("a body with trailers of another length than declared is not sent completely", .rows("R-5", "R-14"))
    func declared() async throws {
        let peer = try peer()
        for chunks in [["abc"], ["abcd", "e"]] {
            let request = try peer.request(.put, body: stream(chunks, length: 4)).with {
                $0.trailers = PreparedRequest.Trailers([Field(name: "X-Sum", value: "1")])
            }
            #expect(await SocketExecutor().failure(of: request)?.reason == .bodyEncodingFailed)
        }
        await eventually { peer.notes.count == 2 }
        #expect(peer.notes.allSatisfy { !$0.contains("\r\n0\r\n") })
        let missing = try peer.request(.put, body: .file(path: "/nowhere")).with {
            $0.trailers = PreparedRequest.Trailers([Field(name: "X-Sum", value: "1")])
        }
        #expect(await SocketExecutor().failure(of: missing)?.reason == .fileAccessFailed)
        #expect(peer.connections == 2)
    }
}
