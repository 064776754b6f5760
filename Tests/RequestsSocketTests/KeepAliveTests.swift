import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Keep-alive", .timeLimit(.minutes(10)))
struct KeepAliveTests {
    @Test("sequential requests share one connection", .rows("R-60"))
    func sharesConnection() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor()
        #expect("\(executor)" == "SocketExecutor (connections: 0, idle: 0)")
        for round in 0..<20 {
            let response = try await executor.execute(try peer.request())
            #expect(response.head.status == 200)
            #expect(response.text == "ok")
            #expect(response.metrics.isReusedConnection == (round > 0))
            #expect(response.metrics.transmissions == 1)
            #expect((response.metrics.timeToConnect == nil) == (round > 0))
            #expect(response.metrics.timeToResponseHead != nil)
        }
        #expect(peer.connections == 1)
        #expect("\(executor)" == "SocketExecutor (connections: 1, idle: 1)")
    }

    @Test("a request is sent as its head, the fields that the executor adds, and its body", .rows("R-1"))
    func wire() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while let request = line.receiveRequest(bodyLength: 5) {
                peer.note(request)
                line.send(ok)
            }
        }
        let executor = SocketExecutor()
        let request = try peer.request(
            .post, "/a%20b?c=d", header: [Field(name: "X-One", value: "1")], body: .bytes(Data("hello".utf8)))
        _ = try await executor.execute(request)
        #expect(
            peer.notes == [
                "POST /a%20b?c=d HTTP/1.1\r\nHost: \(peer.authority)\r\nX-One: 1\r\nAccept-Encoding: identity\r\n"
                    + "Content-Length: 5\r\n\r\nhello"
            ])
    }

    @Test(
        "a response is read the same whole and in pieces, and the connection is reused", .rows("R-55"),
        arguments: [1, 2, 7, Int.max])
    func segments(piece: Int) async throws {
        let responses = [
            ok, "HTTP/1.1 100 Continue\r\n\r\n" + ok,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\nX-Sum: 7\r\n\r\n",
        ]
        let peer = try ScriptedPeer { line, _, _ in
            for response in responses where line.receiveRequest() != nil { line.send(response, piece: piece) }
            line.waitForEnd()
        }
        let faults = TransferFaults(longestRead: piece, longestWrite: piece)
        let executor = SocketExecutor.with { $0.faults = faults }
        for expected in responses {
            let response = try await executor.execute(try peer.request())
            #expect(response.text == "ok")
            #expect(response.trailers["X-Sum"] == (expected.contains("X-Sum") ? "7" : nil))
        }
        #expect(peer.connections == 1)
    }

    @Test("a request over a unix socket has the Host of its URL, and the connection is reused", .rows("R-59"))
    func unixSocket() async throws {
        let path = "@\(uniqueName())"
        let peer = try ScriptedPeer(on: SocketAddress(unixPath: path)) { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(ok)
            }
        }
        let executor = SocketExecutor(.unix(path: path))
        for _ in 0..<3 { #expect(try await executor.execute(try peer.request()).text == "ok") }
        #expect(peer.connections == 1)
        #expect(peer.notes.allSatisfy { $0.contains("\r\nHost: engine\r\n") })
    }
}
