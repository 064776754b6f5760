import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Responses before the end of an upload, over sockets, with and without TLS (decision 0057).
@Suite("Responses before the end of an upload", .timeLimit(.minutes(10)))
struct EarlyUploadTests {
    /// A way to send a body.
    enum Body: CaseIterable {
        case bytes, file, fileByKernel, source
    }

    /// Without TLS, and with it.
    static let transports = Secured.isAvailable ? [false, true] : [false]

    private let folder = TemporaryDirectory()

    private func body(_ kind: Body, _ count: Int) throws -> RequestBody {
        switch kind {
        case .bytes: return .bytes(Data(repeating: 97, count: count))
        case .file, .fileByKernel:
            try folder.write([UInt8](repeating: 97, count: count), to: "body")
            return .file(path: folder.path(of: "body"))
        case .source: return .stream(length: count, isReplayable: true) { Blocks(remaining: count) }
        }
    }

    private func peer(
        isSecured: Bool, _ script: @escaping @Sendable (borrowing ScriptedPeer.Line, Int, ScriptedPeer) -> Void
    ) throws -> ScriptedPeer {
        try ScriptedPeer(securedWith: isSecured ? Secured.server() : nil, script)
    }

    private func request(
        _ peer: ScriptedPeer, isSecured: Bool, _ body: RequestBody,
        delivery: ResponseBody.Delivery = .collected(limit: 100 << 20)
    ) throws -> PreparedRequest {
        try
            (isSecured
            ? peer.securedRequest(.post, body: body, delivery: delivery)
            : peer.request(.post, body: body, delivery: delivery)).patient()
    }

    private func executor(isSecured: Bool, sending kind: Body = .bytes) throws -> SocketExecutor {
        let change = { (configuration: inout SocketExecutor.Configuration) in
            if kind == .fileByKernel { configuration.fileSending = .byKernel }
        }
        return isSecured ? try Secured.executor(change) : SocketExecutor.with(.url, change)
    }

    @Test(
        "a server that responds with a success and then reads receives the whole body", .rows("R-45", "S-50"),
        arguments: Body.allCases, transports)
    func readsOn(kind: Body, isSecured: Bool) async throws {
        let size = 8 << 20
        let peer = try peer(isSecured: isSecured) { line, _, peer in
            guard let head = line.receiveRequest() else { return }
            var count = head[Self.end(of: head)...].utf8.count
            line.send("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok")
            for _ in 0..<5 { line.pause() }
            while count < size, let more = line.receive() { count += more.count }
            peer.note("\(count)")
            line.respondToAll(ok)
        }
        for call in SecuredCall.allCases {
            let executor = try executor(isSecured: isSecured, sending: kind)
            let request = try request(peer, isSecured: isSecured, body(kind, size))
            let response = try await call.response(to: request, over: executor)
            #expect(response.status == 202 && response.text == "ok" && !response.metrics.isRequestBodyIncomplete)
            // The server may respond once more when it has read the body.
            #expect(executor.connections == (0, 0))
        }
        await eventually { peer.notes.count == 3 }
        #expect(peer.notes.allSatisfy { $0 == "\(size)" })
        peer.stop()
    }

    @Test(
        "a second response after the body is not the response to the next request", .rows("R-22", "R-45", "R-60"),
        arguments: Body.allCases)
    func secondResponse(kind: Body) async throws {
        let size = 8 << 20
        let peer = try peer(isSecured: false) { line, number, _ in
            guard number == 0 else { return line.respondToAll(ok) }
            guard let head = line.receiveRequest() else { return }
            var count = head[Self.end(of: head)...].utf8.count
            line.send("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok")
            while count < size, let more = line.receive() { count += more.count }
            line.send("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno")
            line.waitForEnd()
        }
        let executor = try executor(isSecured: false, sending: kind)
        let first = try await executor.execute(request(peer, isSecured: false, body(kind, size)))
        #expect(first.status == 202)
        #expect(try await executor.execute(request(peer, isSecured: false, .none)).status == 200)
        peer.stop()
    }

    @Test("the deadline ends a call whose source produces slowly", .rows("R-48"))
    func slowSource() async throws {
        let peer = try peer(isSecured: false) { line, _, _ in
            while line.receive() != nil {}
        }
        let body = RequestBody.stream {
            AsyncStream(unfolding: {
                try? await Task.sleep(for: .milliseconds(2))
                return Data("x".utf8)
            })
        }
        let endless = try request(peer, isSecured: false, body).with { $0.deadline = .now + .milliseconds(100) }
        #expect(await SocketExecutor().failure(of: endless)?.reason == .timedOut(.total))
        peer.stop()
    }

    static func end(of head: String) -> String.Index {
        head.firstRange(of: "\r\n\r\n")?.upperBound ?? head.endIndex
    }

    @Test(
        "a server that sends back the bytes it reads does not block, in any kind of call",
        .notInstrumented("its bodies only take long"), .rows("R-45", "S-50"), arguments: transports,
        SecuredCall.allCases)
    func echo(isSecured: Bool, call: SecuredCall) async throws {
        // Without TLS, more bytes than the buffers of the system can contain.
        let size = isSecured ? 8 << 20 : 32 << 20
        let peer = try peer(isSecured: isSecured) { line, _, _ in
            guard let head = line.receiveRequest() else { return }
            let first = Array(head[Self.end(of: head)...].utf8)
            line.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            var count = first.count
            line.send(first)
            while count < size, let more = line.receive(16 << 10) {
                count += more.count
                guard line.send(more) else { return }
            }
            line.waitForEnd()
        }
        for kind in Body.allCases {
            for delivery in [.streamed, .collected(limit: size)] as [ResponseBody.Delivery] {
                let executor = try executor(isSecured: isSecured, sending: kind)
                let request = try request(peer, isSecured: isSecured, body(kind, size), delivery: delivery)
                let response = try await call.response(to: request, over: executor)
                var count = 0
                if case .stream(let stream) = response.body {
                    while let piece = try await stream.next() { count += piece.count }
                    #expect(stream.metrics?.isRequestBodyIncomplete == false)
                } else if case .bytes(let data) = response.body {
                    count = data.count
                    #expect(data.allSatisfy { $0 == 97 })
                }
                #expect(count == size && executor.connections.idle == 1)
            }
        }
        peer.stop()
    }

    @Test(
        "a success is an error if the server does not read the whole body", .rows("R-45", "R-48", "S-50"),
        arguments: SecuredCall.allCases, transports)
    func neverReads(call: SecuredCall, isSecured: Bool) async throws {
        let peer = try peer(isSecured: isSecured) { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            line.waitForStop()
        }
        let request = try request(peer, isSecured: isSecured, body(.bytes, 64 << 20)).with {
            $0.timeouts.betweenBytes = .milliseconds(100)
        }
        let executor = try executor(isSecured: isSecured)
        let error = await call.failure(of: request, over: executor)
        #expect(error?.reason == .timedOut(.sending) && error?.response?.status == 200)
        #expect(error?.body == Data("ok".utf8) && executor.connections == (0, 0))
        peer.stop()
    }

    @Test(
        "a response that ends its connection, or refuses, is not lost by the reset that follows", .rows("R-45"),
        arguments: ["HTTP/1.1 200 OK\r\nConnection: close", "HTTP/1.1 413 Content Too Large"],
        SecuredCall.allCases)
    func reset(head: String, call: SecuredCall) async throws {
        let peer = try peer(isSecured: false) { line, _, _ in
            _ = line.receive(1)
            // Unread bytes make the system reset the connection when it is closed.
            line.send("\(head)\r\nContent-Length: 2\r\n\r\nok")
        }
        for _ in 0..<10 {
            let executor = SocketExecutor()
            let response = try await call.response(
                to: request(peer, isSecured: false, body(.bytes, 16 << 20)), over: executor)
            #expect(response.text == "ok" && response.metrics.isRequestBodyIncomplete)
            #expect(executor.connections == (0, 0))
        }
    }

    @Test("a small body with a source arrives whole, however early the response is", .rows("R-45"))
    func smallSource() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            var all = ""
            while let more = line.receive() {
                all += String(decoding: more, as: UTF8.self)
                // The next request may arrive together with the end of this one.
                while !all.isEmpty {
                    if !all.hasPrefix("+") {
                        line.send(ok)
                        all = "+" + all
                    }
                    let end = all.firstRange(of: "0\r\n\r\n") ?? all.firstRange(of: "\r\n\r\nhello world")
                    guard let end else { break }
                    peer.note("whole")
                    all.removeSubrange(..<end.upperBound)
                }
            }
        }
        let executor = SocketExecutor()
        for length in [nil, 11] {
            for _ in 0..<40 {
                let body = stream(["hello", " ", "world"], length: length)
                let response = try await executor.execute(peer.request(.post, body: body))
                #expect(response.text == "ok" && !response.metrics.isRequestBodyIncomplete)
            }
        }
        await eventually { peer.notes.count == 80 }
    }

    @Test("releasing a streamed response that is not read closes the connection", .rows("R-45"))
    func released() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            guard line.receiveRequest() != nil else { return }
            line.send(ok)
            line.waitForEnd()
            peer.note("ended")
        }
        let executor = SocketExecutor()
        var response: RawResponse? = try await executor.execute(
            request(peer, isSecured: false, body(.bytes, 64 << 20), delivery: .streamed))
        #expect(response?.status == 200)
        response = nil
        await eventually { peer.notes == ["ended"] }
        #expect(executor.connections == (0, 0))
    }
}
