import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("https: exchanges", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(10)))
struct SecuredExchangeTests {
    private static let counted = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let untilClose = "HTTP/1.1 200 OK\r\n\r\n"

    /// Returns a peer that responds once to each connection with `text`, and then closes it.
    private static func peer(_ text: String, closingOrderly isOrderly: Bool) throws -> ScriptedPeer {
        try ScriptedPeer(securedWith: Secured.server()) { line, _, peer in
            guard let request = line.receiveRequest() else { return }
            peer.note(request)
            line.send(text)
            if isOrderly { line.tls.end() } else { line.socket.shutDown(.both) }
            peer.note("ended")
        }
    }

    @Test(
        "a GET has the body, the protocol and the time of TLS; the second one, after the tickets, needs no handshake",
        .rows("R-51", "S-1", "S-33")
    )
    func metrics() async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in line.respondToAll(ok) }
        let executor = try Secured.executor()
        for isReused in [false, true] {
            let response = try await executor.execute(peer.securedRequest())
            #expect(response.text == "ok" && response.metrics.isReusedConnection == isReused)
            let tls = try #require(response.metrics.tls)
            #expect(tls.version == "TLSv1.3" && tls.cipherSuite?.hasPrefix("TLS_") == true && !tls.isResumed)
            #expect(tls.applicationProtocol == nil && tls.certificates.isEmpty)
            #expect((response.metrics.timeToTLS == nil) == isReused)
            if let connected = response.metrics.timeToConnect {
                let secured = try #require(response.metrics.timeToTLS)
                #expect(secured >= connected && secured <= (response.metrics.timeToEnd ?? .zero))
            }
        }
        #expect(peer.connections == 1)
    }

    @Test("the handler of a test server is cancelled when its client over TLS leaves", .rows("R-67", "R-73"))
    func departure() async throws {
        let cancellations = SharedCounter()
        let handler = MockExecutor { _ in
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                cancellations.add()
                throw error
            }
            return .ok()
        }
        try await withTestServer(serving: handler, tls: .init()) { server in
            let executor = SocketExecutor.with { $0.tls = server.clientTLS }
            let request = try PreparedRequest(url: server.baseURL).patient()
            let call = Task { await executor.failure(of: request) }
            try await server.waitUntil { $0.exchanges.first?.isComplete == true }
            call.cancel()
            #expect(await call.value?.isCancellation == true)
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(cancellations.value == 1)
        }
    }

    @Test("a further connection resumes the session", .rows("S-35"), arguments: [0x0303, 0x0304])
    func resumption(version: Int) async throws {
        let peer = try ScriptedPeer(
            securedWith: Secured.server { $0.versions = version...version }
        ) { line, _, peer in
            guard line.receiveRequest() != nil else { return }
            peer.note("\(line.tls.negotiation?.isResumed == true)")
            line.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            line.tls.end()
        }
        let executor = try Secured.executor()
        for isResumed in [false, true, true] {
            let response = try await executor.execute(peer.securedRequest())
            #expect(response.metrics.tls?.isResumed == isResumed)
        }
        #expect(peer.notes == ["false", "true", "true"])
    }

    @Test(
        "the limit between bytes ends the wait for a peer that does not read", .serialized,
        arguments: SecuredCall.allCases)
    func sendingLimit(call: SecuredCall) async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in
            _ = line.receiveRequest()
            line.waitForStop()
        }
        let body = RequestBody.bytes(Data(count: 64 << 20))
        var request = try peer.securedRequest(.put, body: body)
        request.timeouts.betweenBytes = .milliseconds(300)
        let error = await call.failure(of: request, over: try await Secured.loadedExecutor())
        #expect(error?.reason == .timedOut(.sending) && error?.mayHaveReachedServer == true)
    }

    @Test("the orderly close of an idle connection leads to another one, and one transmission", .rows("S-34"))
    func orderlyClose() async throws {
        let peer = try Self.peer(ok, closingOrderly: true)
        let executor = try Secured.executor()
        for number in 1...3 {
            let response = try await executor.execute(peer.securedRequest(.post, body: .bytes(Data("x".utf8))))
            #expect(response.text == "ok" && response.metrics.transmissions == 1)
            #expect(!response.metrics.isReusedConnection)
            await eventually { peer.notes.count == 2 * number }
        }
        #expect(peer.connections == 3)
    }

    @Test(
        "a body that is cut before close_notify is a lost connection", .rows("S-40", "R-21"),
        arguments: SecuredCall.allCases)
    func cut(call: SecuredCall) async throws {
        let cases: [(text: String, body: String?)] = [
            (Self.counted + "abc", "abc"), (Self.chunked + "5\r\nabcde\r\n", "abcde"), (Self.untilClose, nil),
            (Self.untilClose + "abc", "abc"), ("HTTP/1.1 200 OK\r\nContent-Le", nil),
        ]
        for (text, body) in cases {
            let peer = try Self.peer(text, closingOrderly: false)
            let error = await call.failure(of: try peer.securedRequest(), over: try Secured.executor())
            #expect(error?.reason == .connectionLost, "\(text)")
            if let body { #expect(error?.body == Data(body.utf8), "\(text)") }
        }
    }

    @Test("a cut after a complete message is a response on a connection that is not reused", .rows("S-41"))
    func cutAfterMessage() async throws {
        let peer = try Self.peer(ok, closingOrderly: false)
        let executor = try Secured.executor()
        for number in 1...2 {
            let response = try await executor.execute(peer.securedRequest())
            #expect(response.text == "ok" && !response.metrics.isReusedConnection)
            // The end arrives behind the response.
            await eventually { peer.notes.count { $0 == "ended" } == number }
        }
        #expect(peer.connections == 2)
    }

    @Test(
        "close_notify inside a counted or chunked body is a lost connection", .rows("S-42"),
        arguments: SecuredCall.allCases)
    func endInside(call: SecuredCall) async throws {
        for text in [Self.counted + "abc", Self.chunked + "5\r\nabcde\r\n"] {
            let peer = try Self.peer(text, closingOrderly: true)
            let error = await call.failure(of: try peer.securedRequest(), over: try Secured.executor())
            #expect(error?.reason == .connectionLost, "\(text)")
            #expect(error?.body == (text.hasPrefix(Self.counted) ? Data("abc".utf8) : Data("abcde".utf8)))
        }
    }

    @Test("close_notify ends a body without a length", .rows("S-43", "R-21"), arguments: SecuredCall.allCases)
    func untilClose(call: SecuredCall) async throws {
        let peer = try Self.peer(Self.untilClose + "abc", closingOrderly: true)
        let executor = try Secured.executor()
        #expect(try await call.response(to: peer.securedRequest(), over: executor).text == "abc")
        #expect(executor.connections.open == 0)
    }

    @Test("an early response during an upload is delivered", .rows("S-50"), arguments: SecuredCall.allCases)
    func earlyResponse(call: SecuredCall) async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
            // Nothing more is read, so that the upload cannot end.
            line.waitForStop()
        }
        let body = Data(repeating: 97, count: 64 << 20)
        let request = try peer.securedRequest(.post, body: .bytes(body))
        let executor = try Secured.executor()
        let response = try await call.response(to: request, over: executor)
        #expect(response.status == 413 && response.text == "no")
        #expect(executor.connections.idle == 0)
        peer.stop()
    }

    @Test("uploads from memory, a file and a stream arrive as they are", .rows("R-6"), arguments: SecuredCall.allCases)
    func uploads(call: SecuredCall) async throws {
        let folder = TemporaryDirectory()
        let bytes = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try folder.write(bytes, to: "body")
        let mock = MockExecutor { request in
            guard case .bytes(let data) = try await request.body.collected() else { return MockResponse(status: 400) }
            return MockResponse(status: 200, body: [.bytes(data)])
        }
        try await withTestServer(serving: mock, tls: .init()) { server in
            let executor = try Secured.executor()
            for body in [
                RequestBody.bytes(Data(bytes)), .file(path: folder.path(of: "body")),
                .stream(length: bytes.count, isReplayable: true) { PieceSource(bytes) },
                .stream(length: nil, isReplayable: true) { PieceSource(bytes) },
            ] {
                var request = try PreparedRequest(method: .post, url: server.baseURL, body: body).patient()
                request.delivery = .collected(limit: 1 << 20)
                let response = try await call.response(to: request, over: executor)
                guard case .bytes(let data) = response.body else {
                    Issue.record("no bytes")
                    continue
                }
                #expect(data.elementsEqual(bytes))
            }
        }
    }

    @Test("redirects from http to https are followed, and to http only if allowed", .rows("S-55", "R-29"))
    func redirects() async throws {
        let target = MockExecutor(.ok("arrived"))
        try await withTestServer(serving: target) { plain in
            try await withTestServer(serving: target, tls: .init()) { secured in
                let toSecured = MockExecutor(.redirect(to: "\(secured.baseURL.absoluteString)/"))
                let toPlain = MockExecutor(.redirect(to: "\(plain.baseURL.absoluteString)/"))
                try await withTestServer(serving: toSecured) { from in
                    let client = Client(
                        AnonymousRequestProvider(baseURL: from.baseURL), executor: try Secured.executor())
                    #expect(
                        try await client.perform { $0.get(.text, from: "/").with(timeouts: Timeouts(connect: nil)) }
                            == "arrived")
                }
                try await withTestServer(serving: toPlain, tls: .init()) { from in
                    let client = Client(
                        AnonymousRequestProvider(baseURL: from.baseURL), executor: try Secured.executor())
                    let error = await #expect(throws: RequestError.self) {
                        try await client.perform { $0.get(.text, from: "/").with(timeouts: Timeouts(connect: nil)) }
                    }
                    #expect(error?.reason == .unexpectedRedirect)
                    var policy = RedirectPolicy.standard
                    policy.allowsDowngrade = true
                    let text = try await client.perform { $0.get(.text, from: "/").with(redirectPolicy: policy) }
                    #expect(text == "arrived")
                }
            }
        }
    }

    @Test("https to a port without TLS, and http to one with TLS, are clear errors", .rows("R-65", "S-38"))
    func otherProtocol() async throws {
        let plain = try ScriptedPeer { line, _, _ in
            _ = line.receive()
            line.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        }
        let error = await SecuredCall.awaited.failure(of: try plain.securedRequest(), over: try Secured.executor())
        #expect(error?.reason == .tlsFailed)
        #expect(error?.detail == "the peer uses plain HTTP on this port, and TLS was expected")
        #expect(error?.mayHaveReachedServer == false)
        let secured = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in line.respondToAll(ok) }
        let violation = await SocketExecutor().failure(of: try secured.request())
        #expect(violation?.reason == .protocolViolation || violation?.reason == .connectionLost)
    }
}

private struct PieceSource: RequestBody.Source {
    private var remaining: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { remaining = bytes[...] }

    mutating func next() async throws -> Data? {
        if remaining.isEmpty { return nil }
        let piece = remaining.prefix(10_000)
        remaining = remaining.dropFirst(10_000)
        return Data(piece)
    }
}
