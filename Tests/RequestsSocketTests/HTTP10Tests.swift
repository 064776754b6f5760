import RequestsMiddleware
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

// A client sends no chunks to a server that has responded with HTTP/1.0 (RFC 9112 §6.1), whatever repeats the request.
@Suite("HTTP/1.0 servers", .timeLimit(.minutes(10)))
struct HTTP10Tests {
    private static let ok10 = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func response(_ status: String, _ fields: String = "") -> String {
        "HTTP/1.0 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n"
    }

    /// Returns a peer that notes every request, and responds on each connection with the next of `responses`.
    private func peer(_ responses: [String]) throws -> ScriptedPeer {
        try ScriptedPeer { line, number, peer in
            var text = ""
            while !Self.isComplete(text) {
                guard let more = line.receive() else { return }
                text += String(decoding: more, as: UTF8.self)
            }
            peer.note(text)
            line.send(responses[min(number, responses.count - 1)])
        }
    }

    private static func isComplete(_ text: String) -> Bool {
        guard text.contains("\r\n\r\n") else { return false }
        if text.contains("Transfer-Encoding: chunked") { return text.hasSuffix("0\r\n\r\n") }
        return !text.contains("Content-Length: 5") || text.hasSuffix("hello")
    }

    private static func body(isReplayable: Bool = true) -> RequestBody {
        .stream(isReplayable: isReplayable) {
            AsyncStream {
                $0.yield(Data("hel".utf8)); $0.yield(Data("lo".utf8)); $0.finish()
            }
        }
    }

    private func isChunked(_ request: String) -> Bool {
        request.contains("\r\nTransfer-Encoding: chunked\r\n")
    }

    /// Expects that the requests after the first one have the length of the body, and no chunks.
    private func expectLengths(_ peer: ScriptedPeer, count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(peer.notes.count == count, sourceLocation: sourceLocation)
        #expect(peer.notes.first.map(isChunked) == true, sourceLocation: sourceLocation)
        for request in peer.notes.dropFirst() {
            #expect(!isChunked(request), sourceLocation: sourceLocation)
            #expect(request.contains("\r\nContent-Length: 5\r\n"), sourceLocation: sourceLocation)
            #expect(request.hasSuffix("\r\n\r\nhello"), sourceLocation: sourceLocation)
        }
    }

    private static let policy = RetryPolicy(maximumRetries: 3) { _ in .zero }

    private static let challenge = response(
        "401 Unauthorized", "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256\r\n")

    static let repetitions: [(String, [String])] = [
        ("a retry", [response("503 Unavailable"), response("503 Unavailable"), ok10]),
        // The body is shorter than its length, so that an error is retried.
        ("a retry after an error", ["HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\n", ok10]),
        ("Digest", [challenge, ok10]), ("Digest and a retry", [challenge, response("503 Unavailable"), ok10]),
        ("a redirect", [response("307 Moved", "Location: /next\r\n"), ok10]),
        ("a redirect and a retry", [response("307 Moved", "Location: /next\r\n"), response("500 Error"), ok10]),
        // The retry meets a newer server behind the same name.
        ("a retry and a redirect", [response("503 Unavailable"), moved11, ok]),
    ]

    private static let moved11 =
        "HTTP/1.1 307 Moved\r\nLocation: /next\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    @Test(
        "a repeated request is sent with its length after a response with HTTP/1.0, whatever repeats it",
        .rows("R-11", "R-32", "PM-47"), arguments: repetitions)
    func repeated(name: String, responses: [String]) async throws {
        for isBlocking in [false, true] {
            let peer = try peer(responses)
            let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://\(peer.authority)")))
            let client = Client(api, executor: SocketExecutor().retrying(Self.policy))
                .authenticating(with: DigestAuthenticator(username: "u", password: "p"))
            let request = api.put(.raw(body: Self.body()), to: "/x", receiving: .text)
            let text =
                isBlocking
                ? try await onThread { Result { try client.performAndWait(request) } }.get()
                : try await client.perform(request)
            #expect(text == "ok", "\(name)")
            expectLengths(peer, count: responses.count)
        }
    }

    @Test("a request with a renewed token follows the same rule", .rows("R-11", "R-38"))
    func renewed() async throws {
        let peer = try peer([Self.response("401 Unauthorized", "WWW-Authenticate: Bearer\r\n"), Self.ok10])
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://\(peer.authority)")))
        let client = Client(api, executor: SocketExecutor())
            .authenticating(with: RefreshableAuthenticator(bearerToken: "old") { _ in "new" })
        #expect(try await client.perform(api.put(.raw(body: Self.body()), to: "/x", receiving: .text)) == "ok")
        expectLengths(peer, count: 2)
        #expect(peer.notes.last?.contains("Bearer new") == true)
    }

    @Test("the challenge of a proxy, a second request and later calls follow the same rule", .rows("R-11", "R-51"))
    func others() async throws {
        let peer = try peer([
            Self.response(
                "407 Required",
                "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256\r\n"),
            Self.ok10,
        ])
        let port = Int(try #require(peer.address.port))
        let executor = SocketExecutor.with {
            $0.proxy = .init(
                host: "127.0.0.1", port: port,
                authorization: .init(with: DigestAuthenticator(username: "u", password: "p")))
        }
        let request = PreparedRequest(
            method: .put, target: try TargetURI("http://origin.example/"), body: Self.body())
        #expect(try await executor.execute(request).text == "ok")
        // The proxy is the peer, so the rule applies to every origin behind it.
        let other = PreparedRequest(
            method: .put, target: try TargetURI("http://other.example/"), body: Self.body(isReplayable: false))
        #expect(try await executor.hedging(after: .zero).execute(other).text == "ok")
        expectLengths(peer, count: 3)
    }

    @Test("chunks are sent again after a connection stays open after HTTP/1.1", .rows("R-11"))
    func recovered() async throws {
        let peer = try peer([Self.response("503 Unavailable"), ok, ok])
        let executor = SocketExecutor()
        for (body, isChunked) in [(Self.body(), true), (.none, false), (Self.body(), true)] {
            _ = try await executor.execute(peer.request(.put, body: body))
            #expect(peer.notes.last.map(self.isChunked) == isChunked)
        }
    }

    @Test("trailers and a body that is too long to collect are errors before anything is sent", .rows("R-11", "PM-47"))
    func refused() async throws {
        let peer = try peer([Self.ok10])
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let trailers = PreparedRequest.Trailers([Field(name: "X-Sum", value: "1")])
        let trailed = try peer.request(.put, body: .bytes(Data("hello".utf8))).with { $0.trailers = trailers }
        let refused = await executor.failure(of: trailed)
        #expect(refused?.reason == .invalidRequest(.trailersNotSupported))
        #expect(refused?.mayHaveReachedServer == false)
        let megabyte = Data(count: 1 << 20)
        let endless = RequestBody.stream { AsyncStream(unfolding: { megabyte }) }
        let tooLong = await executor.failure(of: try peer.request(.put, body: endless))
        #expect(tooLong?.reason == .bodyEncodingFailed)
        #expect(tooLong?.underlying as? BodyProvider.BodyError == .notInMemory)
        #expect(tooLong?.mayHaveReachedServer == false)
        #expect(peer.connections == 1)
        // A body of known length needs no rule.
        _ = try await executor.execute(peer.request(.put, body: .bytes(Data("hello".utf8))))
        #expect(peer.notes.last?.hasSuffix("\r\n\r\nhello") == true)
    }

    @Test("at most 64 peers are remembered, each until an hour after its last response with HTTP/1.0", .rows("R-11"))
    func memory() {
        var peers = HTTP10Peers<Int>()
        let start = Deadline.now
        for number in 0...HTTP10Peers<Int>.limit { peers.record(number, at: start) }
        #expect(peers.count == HTTP10Peers<Int>.limit)
        #expect(!peers.contains(0, at: start) && peers.contains(1, at: start))
        let later = start.advanced(byNanoseconds: HTTP10Peers<Int>.memory - 1)
        peers.record(1, at: later)
        #expect(peers.count == HTTP10Peers<Int>.limit)
        let end = start.advanced(byNanoseconds: HTTP10Peers<Int>.memory)
        #expect(peers.contains(1, at: end) && !peers.contains(2, at: end))
    }
}
