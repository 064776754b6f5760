import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Strict parsing over sockets", .timeLimit(.minutes(10)))
struct StrictReadingTests {
    /// Returns a peer that sends `text` on its first connection, which stays open, and responds with `ok` on others.
    private func peer(_ text: String) throws -> ScriptedPeer {
        try ScriptedPeer { line, number, _ in
            guard number == 0 else { return line.respondToAll(ok) }
            _ = line.receiveRequest()
            line.send(text)
            line.waitForEnd()
        }
    }

    private static func chunked(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
    }

    private static func head(_ fields: String) -> String { "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nhello" }

    @Test(
        "after an invalid response the next request uses a new connection",
        .rows("R-9", "R-10", "R-11", "R-12", "R-15", "R-26"),
        arguments: [
            head("Content-Length: 5\r\nContent-Length: 6"), head("Content-Length: +5"), head("Content-Length: -1"),
            head("Content-Length: 5, 6"), head("Content-Length: 99999999999999999999"), head("Content-Length: 5 5"),
            head("Transfer-Encoding: chunked\r\nContent-Length: 5"),
            head("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", head("Transfer-Encoding: gzip"),
            head("Transfer-Encoding: chunked, chunked"),
            head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            head("Transfer-Encoding: identity"), head("Transfer-Encoding: chunked, gzip"),
            chunked("+5\r\nhello\r\n0\r\n\r\n"), chunked("-5\r\nhello\r\n0\r\n\r\n"),
            chunked("0x5\r\nhello\r\n0\r\n\r\n"),
            chunked("5_0\r\n"), chunked("5\nhello\r\n0\r\n\r\n"), chunked("5\r\nhello\n0\r\n\r\n"),
            chunked("5\r\nhello!\r\n0\r\n\r\n"), chunked("ffffffffffffffff1\r\n"), chunked("8000000000000000\r\n"),
            chunked("\r\nhello"), chunked("5 5\r\nhello\r\n"), head("X: a\rb"), head("X: a\r\rY: b"), head("X\rY: b"),
            head("X : b"), head(" X: b"), head(": b"), head("X: a\0b"),
            "HTTP/1.1 099 No\r\n\r\n", "HTTP/1.1 000 No\r\n\r\n", "HTTP/1.1 1000 No\r\n\r\n", "HTTP/1.1 20 No\r\n\r\n",
            "HTTP/1.1 2x0 No\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n",
        ])
    func invalid(text: String) async throws {
        let peer = try peer(text)
        let executor = SocketExecutor()
        let error = await executor.failure(of: try peer.request())
        #expect(error?.reason == .protocolViolation, "\(text.debugDescription)")
        #expect(error?.mayHaveReachedServer == true)
        #expect(executor.connections == (0, 0))
        #expect(try await executor.execute(peer.request()).metrics.isReusedConnection == false)
        #expect(peer.connections == 2)
    }

    @Test(
        "an invalid byte is an error while its line is unfinished and the peer keeps the connection open",
        .rows("R-20", "R-22"),
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\rok", "HTTP/1.1 200 OK\rX", "HTTP/1.1 200 Fi\0", "HTTP/1.1 20O",
            "HTTP/1.1 200 \(String(repeating: "a", count: 1_000))\rX", "HTTP/1.1 200 OK\r\nA B", "SSH-2.0-",
            "HTTP/1.1 200 OK\r\nA: \(String(repeating: "b", count: 5_000))\0", chunked("2\rX"), chunked("1\r\nab"),
            chunked("0\r\nA: b\n"), "HTTP/1.1 103 Early Hints\r\nA: b\r\n\rX",
        ])
    func unfinished(text: String) async throws {
        var details: Set<String> = []
        for length in [Int.max, 1, 3] {
            let executor = SocketExecutor.with { $0.faults = TransferFaults(longestRead: length) }
            let peer = try peer(text)
            let error = await executor.failure(of: try peer.request())
            #expect(error?.reason == .protocolViolation, "\(length)")
            details.insert(error?.detail ?? "")
        }
        #expect(details.count == 1)
    }

    @Test(
        "a server that supports only HTTP/2 is named, with the setting to use, however its first frame arrives",
        .rows("H-52"),
        arguments: [
            // SETTINGS, without and with values, and GOAWAY (RFC 9113 §6.5, §6.8).
            [0, 0, 0, 4, 0, 0, 0, 0, 0], [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100],
            [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0],
        ] as [[UInt8]])
    func http2(frame: [UInt8]) async throws {
        for (length, closes) in [(Int.max, false), (1, false), (.max, true)] {
            let peer = try ScriptedPeer { line, _, _ in
                // Such a server sends its first frame at once.
                line.send(frame)
                _ = line.receiveRequest()
                if !closes { line.waitForEnd() }
            }
            let executor = SocketExecutor.with { $0.faults = TransferFaults(longestRead: length) }
            let error = await executor.failure(of: try peer.request())
            #expect(error?.reason == .protocolViolation)
            #expect(error?.detail?.contains("HTTP/2") == true)
            #expect(error?.detail?.contains("httpVersion") == true)
        }
    }

    @Test("a folded line continues the previous field and is not a framing field", .rows("R-16"))
    func folded() async throws {
        let peer = try peer("HTTP/1.1 200 OK\r\nX: a\r\n\t b\r\n Content-Length: 9\r\nContent-Length: 2\r\n\r\nok")
        let response = try await SocketExecutor().execute(peer.request())
        #expect(response.text == "ok")
        #expect(response.head.header["X"] == "a b Content-Length: 9")
        let framing = try self.peer("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 2\r\n\r\nok")
        #expect(await SocketExecutor().failure(of: try framing.request())?.reason == .protocolViolation)
    }

    @Test("any number of small chunks is read, and chunk extensions and trailers are limited", .rows("R-13"))
    func overhead() async throws {
        let small = try peer(Self.chunked(String(repeating: "1\r\na\r\n", count: 100_000) + "0\r\n\r\n"))
        #expect(try await SocketExecutor().execute(small.request()).text?.utf8.count == 100_000)
        let endless = [("", "1;x=\(String(repeating: "y", count: 100))\r\na\r\n"), ("0\r\n", "T: u\r\n")]
        for (start, piece) in endless {
            let part = Array(String(repeating: piece, count: 1_000).utf8)
            let peer = try ScriptedPeer { line, _, peer in
                _ = line.receiveRequest()
                line.send(Self.chunked(start))
                var sent = 0
                while sent < 64 << 20, line.send(part) { sent += part.count }
                peer.note("\(sent)")
            }
            let executor = SocketExecutor()
            let error = await executor.failure(of: try peer.request())
            guard case .tooLarge = error?.reason else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(executor.connections == (0, 0))
            await eventually { !peer.notes.isEmpty }
            // The count includes the bytes in the buffers of the kernel.
            #expect(Int(peer.notes[0]).map { $0 < 16 << 20 } == true)
        }
    }

    @Test("a peer may end its side after the response, but not before, and no call spins", .rows("R-54"))
    func halfClosed() async throws {
        let peer = try ScriptedPeer { line, number, peer in
            _ = line.receiveRequest()
            if number == 0 { line.send(ok) }
            if number == 2 { line.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno") }
            line.socket.shutDown(.writing)
            peer.note("ended")
            line.waitForEnd()
            peer.note("closed")
        }
        let executor = SocketExecutor()
        #expect(try await executor.execute(peer.request()).text == "ok")
        // Until then the connection may be taken for one that can be reused.
        await eventually { peer.notes.contains("ended") }
        #expect(await executor.failure(of: try peer.request(.post))?.reason == .connectionLost)
        // The production of a body stops when the peer refuses it.
        let made = SharedCounter()
        let body = RequestBody.stream(length: nil, isReplayable: true) { CountedBlocks(made: made) }
        let response = try await executor.execute(peer.request(.post, body: body))
        #expect(response.text == "no")
        await eventually { peer.notes.count { $0 == "closed" } == 3 }
        #expect(made.value < 10_000)
        #expect(executor.connections == (0, 0))
    }

    @Test("the client keeps its side open until the response arrives", .rows("R-54"))
    func openSide() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            _ = line.receiveRequest()
            for _ in 0..<4 { line.pause() }
            peer.note("\(line.socket.liveness())")
            line.send(ok)
            line.waitForEnd()
        }
        #expect(try await SocketExecutor().execute(peer.request()).text == "ok")
        #expect(peer.notes == ["idle"])
    }

    @Test("connections are separate for each host and port", .rows("R-51"))
    func keys() async throws {
        let first = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let second = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor.with {
            $0.resolver = Resolver { _ throws(ResolverError) in [.loopback()] }
        }
        let port = try #require(first.address.port)
        let urls = [
            "http://127.0.0.1:\(port)/", "http://a.example:\(port)/", "http://b.example:\(port)/",
            "http://\(second.authority)/",
        ]
        for round in 0..<2 {
            for url in urls {
                let response = try await executor.execute(PreparedRequest(target: try TargetURI(url)))
                #expect(response.metrics.isReusedConnection == (round == 1))
            }
        }
        #expect(first.connections == 3)
        #expect(second.connections == 1)
        // The case of letters in a host does not matter.
        let same = PreparedRequest(target: try TargetURI("HTTP://A.Example:\(port)/x"))
        #expect(try await executor.execute(same).metrics.isReusedConnection)
    }
}

/// A source of blocks that counts them.
private struct CountedBlocks: RequestBody.Source {
    let made: SharedCounter

    mutating func next() async throws -> Data? {
        made.add(1) < 1_000_000 ? Data(repeating: 97, count: 1_000) : nil
    }
}
