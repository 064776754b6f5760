import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestSupport
import Testing

@Suite("Expect: 100-continue", .timeLimit(.minutes(10)))
struct ExpectingTests {
    private static let upload = RequestBody.bytes(Data("hello".utf8))
    /// A duration longer than any test.
    private static let long = Duration.seconds(300)

    private func request(
        _ peer: ScriptedPeer, _ body: RequestBody = upload, waiting time: Duration = long
    ) throws -> PreparedRequest {
        try peer.request(.put, body: body).with { $0.continueTimeout = time }
    }

    @Test(
        "the body is sent after 100 (Continue), and the connection is reused", .rows("R-46"),
        arguments: [
            "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 \r\n\r\n",
        ])
    func continued(interim: String) async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while let head = line.receiveRequest() {
                guard head.hasPrefix("PUT") else { line.send(ok); continue }
                peer.note(head)
                line.send(interim, piece: 9)
                peer.note(line.receive().map { String(decoding: $0, as: UTF8.self) } ?? "")
                line.send(ok)
            }
        }
        let executor = SocketExecutor()
        #expect(try await executor.execute(request(peer)).text == "ok")
        #expect(peer.notes.first?.hasSuffix("Content-Length: 5\r\nExpect: 100-continue\r\n\r\n") == true)
        #expect(peer.notes.last == "hello")
        #expect(try await executor.execute(peer.request()).metrics.isReusedConnection)
    }

    @Test("without a response, the body is sent after the timeout", .rows("R-46"))
    func silent() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while let request = line.receiveRequest(bodyLength: 5) {
                peer.note(request)
                line.send(ok)
            }
        }
        let start = ContinuousClock.now
        for time in [Duration.zero, .milliseconds(30)] {
            #expect(try await SocketExecutor().execute(request(peer, waiting: time)).text == "ok")
        }
        #expect(ContinuousClock.now - start >= .milliseconds(30))
        #expect(peer.notes.allSatisfy { $0.hasSuffix("\r\n\r\nhello") })
    }

    @Test(
        "after a final response the body is not sent, and the connection is not reused", .rows("R-45", "R-46"),
        arguments: [200, 401, 413, 417, 500])
    func finalResponse(status: Int) async throws {
        let peer = try ScriptedPeer { line, number, peer in
            guard number == 0 else { return line.respondToAll(ok) }
            _ = line.receiveRequest()
            line.send("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\n", piece: 7)
            line.send("no")
            peer.note("\(line.receiveAll().count)")
        }
        let executor = SocketExecutor()
        let response = try await executor.execute(request(peer))
        #expect(response.head.status.code == status)
        #expect(response.text == "no")
        #expect(executor.connections == (0, 0))
        #expect(try await executor.execute(peer.request()).metrics.isReusedConnection == false)
        await eventually { peer.notes == ["0"] }
    }

    @Test("a connection that closes instead of a response is lost", .rows("R-46"))
    func closed() async throws {
        let peer = try ScriptedPeer { line, _, _ in _ = line.receiveRequest() }
        let executor = SocketExecutor()
        let request = try request(peer).with { $0.method = .post }
        let error = await executor.failure(of: request)
        #expect(error?.reason == .connectionLost)
        #expect(error?.mayHaveReachedServer == true)
        #expect(peer.connections == 1)
    }

    @Test("every kind of body waits for 100 (Continue), and none is opened before", .rows("R-46"))
    func bodies() async throws {
        let folder = TemporaryDirectory()
        try folder.write(Array(repeating: 97, count: 100_000), to: "body")
        let peer = try ScriptedPeer { line, _, peer in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            peer.note("\(line.receiveAll().count)")
        }
        let made = SharedCounter()
        for body: RequestBody in [
            .file(path: folder.path(of: "body")),
            .stream(length: 4, isReplayable: true) {
                made.add(1)
                return SentChunks(chunks: ["abcd"])
            },
            .stream(length: nil, isReplayable: true) {
                made.add(1)
                return SentChunks(chunks: ["abcd"])
            },
        ] {
            #expect(try await SocketExecutor().execute(request(peer, body)).head.status == 417)
        }
        #expect(made.value == 0)
        await eventually { peer.notes == ["0", "0", "0"] }
    }

    @Test("cancellation and the deadline end the wait for 100 (Continue)", .rows("R-46", "R-48", "R-67"))
    func ended() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest()
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        let overdue = try request(peer).with { $0.deadline = .now + .milliseconds(30) }
        #expect(await executor.failure(of: overdue)?.reason == .timedOut(.total))
        let endless = try request(peer)
        let reactor = try Reactor.shared()
        let call = Task { await executor.failure(of: endless) }
        await eventually { peer.connections == 2 && reactor.pendingWaits > 0 }
        call.cancel()
        #expect(await call.value?.reason == .cancelled)
        #expect(executor.connections == (0, 0))
    }

    @Test(
        "after an interim response the first-byte limit still applies, not the limit between bytes",
        .rows("R-18", "R-48"))
    func firstByte() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest(bodyLength: 5)
            line.send("HTTP/1.1 100 Continue\r\n\r\n")
            line.waitForEnd()
        }
        let request = try peer.request(.put, body: Self.upload).with {
            $0.timeouts.firstByte = .milliseconds(30)
            $0.timeouts.betweenBytes = .seconds(300)
        }
        #expect(await SocketExecutor().failure(of: request)?.reason == .timedOut(.firstByte))
    }

    @Test("a stale pooled connection is replaced, and the expectation is sent again", .rows("R-42", "R-46"))
    func stale() async throws {
        let peer = try ScriptedPeer { line, number, _ in
            _ = line.receiveRequest()
            guard number > 0 else {
                line.send(ok)
                _ = line.receiveRequest()
                return
            }
            line.send("HTTP/1.1 100 Continue\r\n\r\n")
            _ = line.receive()
            line.send(ok)
        }
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let response = try await executor.execute(request(peer))
        #expect(response.text == "ok")
        #expect(response.metrics.transmissions == 2)
    }
}

// MARK: Interim responses

extension ExpectingTests {
    @Test("interim responses are reported as they arrive, up to the limit", .rows("R-18"))
    func observer() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil {
                line.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n", piece: 11)
                line.send("HTTP/1.1 102 Processing\r\n\r\n" + ok)
            }
        }
        let received = Mutex<[ResponseHead]>([])
        let request = try peer.request().with {
            $0.interimResponseHandler = { head in received.withLock { $0.append(head) } }
        }
        let executor = SocketExecutor()
        #expect(try await executor.execute(request).text == "ok")
        let heads = received.withLock { $0 }
        #expect(heads.map(\.status) == [103, 102])
        #expect(heads.first?.header[.link] == "</style.css>; rel=preload")
        #expect(heads.first?.target == request.target)
        let strict = SocketExecutor.with { $0.maximumInterimResponses = 1 }
        #expect(await strict.failure(of: request)?.reason == .tooLarge(limit: 1))
    }

    @Test("an unsolicited 101 is a protocol violation, and the connection is closed", .rows("R-18"))
    func upgrade() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            peer.note(line.receiveRequest() ?? "")
            line.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n")
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        let header: Header = [Field(name: .upgrade, value: "h2c"), Field(name: .connection, value: "upgrade")]
        let error = await executor.failure(of: try peer.request(header: header))
        #expect(error?.reason == .protocolViolation)
        #expect(executor.connections == (0, 0))
        #expect(!peer.notes[0].lowercased().contains("upgrade"))
    }
}
