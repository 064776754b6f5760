import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Receiving responses", .timeLimit(.minutes(10)))
struct ReceivingTests {
    private static let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// Returns a peer that responds to the first request of each connection with `response` and closes it.
    private func closing(after response: String) throws -> ScriptedPeer {
        try ScriptedPeer { line, _, _ in
            if line.receiveRequest() != nil { line.send(response) }
        }
    }

    @Test(
        "after a response without a body the connection is reused", .rows("R-19"),
        arguments: [
            (.head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            (.head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            (.get, "HTTP/1.1 204 No Content\r\n\r\n"),
            (.get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
            (.get, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ] as [(HTTPMethod, String)],
        [ResponseBody.Delivery.collected(limit: 100), .streamed])
    func noBody(exchange: (method: HTTPMethod, response: String), delivery: ResponseBody.Delivery) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(exchange.response) }
        let executor = SocketExecutor()
        for _ in 0..<2 {
            let response = try await executor.execute(try peer.request(exchange.method, delivery: delivery))
            if let stream = response.stream {
                #expect(try await stream.next() == nil)
                #expect(stream.length == 0)
            } else {
                #expect(response.text == "")
            }
        }
        #expect(peer.connections == 1)
    }

    @Test("a body that ends when the connection closes is complete", .rows("R-47"))
    func untilClose() async throws {
        let peer = try closing(after: "HTTP/1.1 200 OK\r\n\r\nall of it")
        let executor = SocketExecutor()
        #expect(try await executor.execute(try peer.request()).text == "all of it")
        #expect(executor.connections == (0, 0))
    }

    @Test(
        "a truncated response is a lost connection, with the received part", .rows("R-20"),
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "abc"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "abc"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", "abc"),
            ("HTTP/1.1 200 OK\r\nContent-Le", nil), ("HTTP", nil),
        ] as [(String, String?)])
    func truncated(response: String, body: String?) async throws {
        let peer = try closing(after: response)
        let error = await SocketExecutor().failure(of: try peer.request())
        #expect(error?.reason == .connectionLost)
        #expect(error?.body == body.map { Data($0.utf8) })
        #expect(error?.status == (body == nil ? nil : 200))
        #expect(peer.connections == 1)
    }

    @Test(
        "a response that is not HTTP/1 is a protocol violation, and the connection is closed", .rows("R-65"),
        arguments: [
            "\u{15}\u{3}\u{1}\0\u{2}\u{2}F", "SSH-2.0-OpenSSH\r\n", "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        ])
    func garbage(response: String) async throws {
        let peer = try closing(after: response)
        let executor = SocketExecutor()
        #expect(await executor.failure(of: try peer.request())?.reason == .protocolViolation)
        #expect(executor.connections == (0, 0))
    }

    @Test("an endless head exceeds its limit", .rows("R-17"))
    func maximumHeadSize() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 200 OK\r\n")
            while line.send("X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n") {}
        }
        let executor = SocketExecutor.with { $0.maximumHeadSize = 10_000 }
        #expect(await executor.failure(of: try peer.request())?.reason == .tooLarge(limit: 10_000))
        #expect(executor.connections == (0, 0))
    }

    @Test(
        "a body over the limit is an error, by its Content-Length before it is read, or else while reading",
        .rows("R-25"),
        arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", chunkedHead + "400\r\n"])
    func bodyLimit(head: String) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil, line.send(head) else { return }
            if head.contains("chunked") { line.send(String(repeating: "a", count: 1024)) }
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        let error = await executor.failure(of: try peer.request(delivery: .collected(limit: 1000)))
        #expect(error?.reason == .tooLarge(limit: 1000))
        #expect(error?.status == 200)
        #expect(executor.connections == (0, 0))
    }

    @Test(
        "a body of the maximum size is returned",
        arguments: ["Content-Length: 5\r\n\r\nabcde", "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"])
    func exactLimit(message: String) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll("HTTP/1.1 200 OK\r\n" + message) }
        let executor = SocketExecutor()
        #expect(try await executor.execute(try peer.request(delivery: .collected(limit: 5))).text == "abcde")
        #expect(executor.connections == (1, 1))
    }

    @Test("a large body is received in every delivery", arguments: [true, false])
    func large(isChunked: Bool) async throws {
        let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 131) }
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil {
                guard isChunked else {
                    line.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
                    line.send(content)
                    continue
                }
                line.send(Self.chunkedHead)
                for start in stride(from: 0, to: content.count, by: 100_001) {
                    let part = content[start..<min(content.count, start + 100_001)]
                    line.send(Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10])
                }
                line.send("0\r\n\r\n")
            }
        }
        let executor = SocketExecutor()
        let folder = TemporaryDirectory()
        let collected = try await executor.execute(try peer.request(delivery: .collected(limit: 3_000_000)))
        guard case .bytes(let data) = collected.body else {
            Issue.record("the body is not collected")
            return
        }
        #expect(data == Data(content))
        let streamed = try await executor.execute(try peer.request(delivery: .streamed))
        #expect(try await streamed.stream?.collect() == Data(content))
        _ = try await executor.execute(try peer.request(delivery: .file(path: folder.path(of: "a"))))
        #expect(folder.read("a") == Data(content))
        #expect(folder.names == ["a"])
        #expect(peer.connections == 1)
    }

    @Test("a truncated download creates no file, and the body of an error status is collected", .rows("R-20"))
    func file() async throws {
        let folder = TemporaryDirectory()
        let cut = try closing(after: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")
        let request = try cut.request(delivery: .file(path: folder.path(of: "a")))
        let error = await SocketExecutor().failure(of: request)
        #expect(error?.reason == .connectionLost)
        #expect(error?.status == 200)
        let missing = try closing(after: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope")
        let download = try missing.request(delivery: .file(path: folder.path(of: "a")))
        #expect(try await SocketExecutor().execute(download).text == "nope")
        #expect(folder.names.isEmpty)
    }

    @Test("trailers of a stream are available at its end, when its connection becomes idle", .rows("R-14"))
    func trailers() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            line.respondToAll(Self.chunkedHead + "2\r\nok\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n")
        }
        let executor = SocketExecutor()
        let response = try await executor.execute(try peer.request(delivery: .streamed))
        let stream = try #require(response.stream)
        #expect(try await stream.next() == Data("ok".utf8))
        #expect(executor.connections == (1, 0))
        #expect(try await stream.next() == nil)
        #expect(try await stream.next() == nil)
        #expect(stream.trailers["X-Sum"] == "1")
        #expect(executor.connections == (1, 1))
    }

    @Test("the connection of a stream with two concurrent reads is not reused", .rows("R-44"))
    func dropped() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest()
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        let response = try await executor.execute(try peer.request(delivery: .streamed))
        let stream = try #require(response.stream)
        #expect(try await stream.next() == Data("ab".utf8))
        // The second of two concurrent reads is an error, and cancellation ends the first.
        let readers = [Task { try await stream.next() }, Task { try await stream.next() }]
        let errors = await withTaskGroup(of: (any Error)?.self) { group in
            for reader in readers { group.addTask { await reader.failure } }
            let first = await group.next() ?? nil
            for reader in readers { reader.cancel() }
            return [first, await group.next() ?? nil]
        }
        #expect((errors[0] as? RequestError)?.reason == .other)
        #expect((errors[1] as? RequestError)?.reason == .cancelled)
        await #expect(throws: RequestError.self) { try await stream.next() }
        let second = try await executor.execute(try peer.request(delivery: .streamed))
        #expect(second.metrics.isReusedConnection == false)
    }

    @Test("a slow reader stops the sender: bytes are received only when they are read", .rows("R-69"))
    func backPressure() async throws {
        let sent = SharedCounter()
        let peer = try ScriptedPeer { line, _, peer in
            _ = line.receiveRequest()
            line.send("HTTP/1.1 200 OK\r\nContent-Length: \(1 << 30)\r\n\r\n")
            let block = [UInt8](repeating: 97, count: 64 << 10)
            while line.send(block, whenFull: { peer.note("full") }) { sent.add(1) }
        }
        let executor = SocketExecutor()
        let response = try await executor.execute(try peer.request(delivery: .streamed))
        let stream = try #require(response.stream)
        await eventually { !peer.notes.isEmpty }
        // The kernel buffers the bytes; the process receives only those that are read.
        #expect(sent.value < 256)
        _ = try await stream.next()
        #expect(executor.connections == (1, 0))
        peer.stop()
    }
}
