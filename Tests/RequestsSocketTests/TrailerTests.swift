import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Request trailers", .timeLimit(.minutes(5)))
struct TrailerTests {
    private static let end = "\r\n0\r\nX-Sum: 1\r\n\r\n"

    /// A peer that notes each request, which ends with `end`, and answers it.
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

    @Test("trailers follow the last chunk of whatever body there is, and the connection goes on (R-14)")
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
                $0.trailers = RequestTrailers([Field(name: "X-Sum", value: "1")])
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

    @Test("trailers are made once the body has been, for each sending (R-14)")
    func made() async throws {
        let peer = try peer()
        let count = Counter()
        let body = RequestBody.stream(length: nil, replayable: true) {
            count.add(1)
            return Chunks(chunks: ["a"])
        }
        let request = try peer.request(.put, body: body).with {
            $0.trailers = RequestTrailers(["X-Sum"]) { [Field(name: "X-Sum", value: "\(count.value)")] }
        }
        _ = try await SocketExecutor().execute(request)
        #expect(peer.notes.count == 1)
    }

    @Test("trailers that were not announced, are malformed, or fail to be made end the exchange (R-1, R-5, R-14)")
    func refused() async throws {
        let peer = try peer()
        let executor = SocketExecutor()
        struct Failure: Error {}
        for trailers in [
            RequestTrailers(["X-Sum"]) { [Field(name: "X-Other", value: "1")] },
            RequestTrailers(["X-Sum"]) { [Field(name: "X-Sum", value: "1\r\nA: b")] },
            RequestTrailers(["X-Sum"]) { throw Failure() },
        ] {
            let request = try peer.request(.put, body: stream(["a"])).with { $0.trailers = trailers }
            #expect(await executor.failure(of: request)?.reason == .bodyNotEncoded)
            #expect(executor.connections == (0, 0))
        }
        await eventually { peer.notes.count == 3 }
        #expect(peer.notes.allSatisfy { !$0.contains("0\r\n") })
    }

    @Test("a body with trailers is as long as it was declared, or no whole body (R-5, R-14)")
    func declared() async throws {
        let peer = try peer()
        for chunks in [["abc"], ["abcd", "e"]] {
            let request = try peer.request(.put, body: stream(chunks, length: 4)).with {
                $0.trailers = RequestTrailers([Field(name: "X-Sum", value: "1")])
            }
            #expect(await SocketExecutor().failure(of: request)?.reason == .bodyNotEncoded)
        }
        await eventually { peer.notes.count == 2 }
        #expect(peer.notes.allSatisfy { !$0.contains("\r\n0\r\n") })
        let missing = try peer.request(.put, body: .file(path: "/nowhere")).with {
            $0.trailers = RequestTrailers([Field(name: "X-Sum", value: "1")])
        }
        #expect(await SocketExecutor().failure(of: missing)?.reason == .invalidRequest(.unreadableFile))
        #expect(peer.connections == 2)
    }
}
