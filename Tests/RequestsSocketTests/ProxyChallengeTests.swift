@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// The challenges of proxies that forward requests.
@Suite("HTTP proxy: challenges", .timeLimit(.minutes(10)))
struct ProxyChallengeTests {
    static var digest: DigestAuthenticator {
        DigestAuthenticator(username: DigestProxy.username, password: DigestProxy.password)
    }

    static func executor(
        through peer: ScriptedPeer, with authenticator: some AuthenticationChallenge.ProxyAuthenticator,
        excludedHosts: [String] = []
    ) throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        return .with {
            $0.proxy = .init(
                host: "127.0.0.1", port: port, authorization: .init(with: authenticator), excludedHosts: excludedHosts)
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("unexpected lookup") }
        }
    }

    private static func hello() -> AsyncStream<Data> {
        AsyncStream { continuation in
            continuation.yield(Data("hello".utf8))
            continuation.finish()
        }
    }

    func request(_ change: (inout PreparedRequest) -> Void = { _ in }) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("http://origin.example/a?b")).with(change).patient()
    }

    @Test(
        "a challenge of a proxy is met once, and later requests have credentials at once", .rows("R-37", "R-51"),
        arguments: SecuredCall.allCases)
    func meets(call: SecuredCall) async throws {
        let proxy = DigestProxy()
        let peer = try proxy.peer()
        let executor = try Self.executor(through: peer, with: Self.digest)
        let first = try await call.response(to: request(), over: executor)
        #expect(first.text == "ok")
        #expect(first.metrics.retries.map(\.cause) == [.rejected(407)])
        for _ in 0..<3 {
            let next = try await call.response(to: request(), over: executor)
            #expect(next.text == "ok" && next.metrics.retries.isEmpty)
        }
        #expect(peer.notes.count == 5 && peer.connections == 1)
        #expect(peer.notes[0].field("Proxy-Authorization") == nil)
        for (index, note) in peer.notes.dropFirst().enumerated() {
            #expect(note.hasPrefix("GET http://origin.example/a?b HTTP/1.1\r\n"))
            let sent = try #require(note.field("Proxy-Authorization"))
            #expect(sent.contains("uri=\"http://origin.example/a?b\"") && sent.contains("nc=0000000\(index + 1)"))
        }
    }

    @Test(
        "the repetition after a challenge uses the same connection where the proxy keeps it open",
        .rows("R-37", "R-51"),
        arguments: DigestProxy.Ending.allCases)
    func endings(ending: DigestProxy.Ending) async throws {
        let peer = try DigestProxy().peer(ending: ending)
        let executor = try Self.executor(through: peer, with: Self.digest)
        for delivery in [.collected(limit: 1 << 20), .streamed] as [ResponseBody.Delivery] {
            let response = try await executor.execute(request { $0.delivery = delivery })
            if let stream = response.stream { #expect(try await stream.collect() == Data("ok".utf8)) }
            #expect(response.head.status == 200)
        }
        #expect(peer.notes.count == 3)
        #expect(peer.connections == (ending.reuses || ending == .longBody ? 1 : 2))
    }

    @Test("the body is sent again after a challenge, and protected by auth-int", .rows("R-37"))
    func bodies() async throws {
        for parameters in ["qop=\"auth\"", "qop=\"auth-int\""] {
            let proxy = DigestProxy(parameters)
            let peer = try proxy.peer(bodyLength: 5)
            let executor = try Self.executor(through: peer, with: Self.digest)
            let response = try await executor.execute(
                request {
                    $0.method = .post
                    $0.body = .bytes(Data("hello".utf8))
                })
            #expect(response.text == "ok" && peer.notes.count == 2)
            #expect(peer.notes.allSatisfy { $0.hasSuffix("\r\n\r\nhello") })
        }
    }

    @Test("a body that can be sent once fails after a challenge, with its response", .rows("R-37", "R-66"))
    func unrepeatable() async throws {
        let peer = try DigestProxy().peer(bodyLength: 5)
        let executor = try Self.executor(through: peer, with: Self.digest)
        let body = RequestBody.oneShot(length: 5, try RequestBody.bytes(Data("hello".utf8)).makeSource())
        let error = await executor.failure(
            of: try request {
                $0.method = .post
                $0.body = body
            })
        #expect(error?.reason == .bodyNotReplayable && error?.status == 407)
        #expect(peer.notes.count == 1)
    }

    @Test("a body that is not in memory has no auth-int, so a proxy that offers nothing else refuses it", .rows("R-37"))
    func unknownBody() async throws {
        for (parameters, status, count) in [("qop=\"auth-int\"", 407, 1), ("qop=\"auth-int, auth\"", 200, 2)] {
            let peer = try DigestProxy(parameters).peer(bodyLength: 5)
            let authenticator = DigestAuthenticator(
                username: DigestProxy.username, password: DigestProxy.password, prefersIntegrity: true)
            let executor = try Self.executor(through: peer, with: authenticator)
            let body = RequestBody.stream(length: 5) { Self.hello() }
            let response = try await executor.execute(
                request {
                    $0.method = .post
                    $0.body = body
                })
            #expect(response.head.status.code == status && peer.notes.count == count)
        }
    }

    @Test("a stale nonce is replaced, and parallel requests share a nonce, each with its own count", .rows("R-37"))
    func shared() async throws {
        let proxy = DigestProxy()
        proxy.state.withLock { $0.lifetime = 10 }
        let peer = try proxy.peer()
        let executor = try Self.executor(through: peer, with: Self.digest)
        for _ in 0..<25 { #expect(try await executor.execute(request()).text == "ok") }
        // The first one, and two stale ones.
        #expect(proxy.state.withLock { $0.challenges } == 3)
        proxy.state.withLock { $0.lifetime = .max }
        let before = proxy.state.withLock { $0.challenges }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 {
                group.addTask { try await executor.execute(request()).head.status.code }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 40))
        #expect(proxy.state.withLock { $0.challenges } == before)
    }

    @Test("wrong credentials end with the 407 after one attempt", .rows("R-37"))
    func wrong() async throws {
        let peer = try DigestProxy().peer()
        let executor = try Self.executor(
            through: peer, with: DigestAuthenticator(username: DigestProxy.username, password: "wrong-password"))
        let response = try await executor.execute(request())
        #expect(response.head.status == 407 && peer.notes.count == 2)
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://origin.example")))
        await #expect {
            _ = try await executor.perform(api.get(.text, from: "/"))
        } throws: { error in
            let error = error as? RequestError
            return error?.reason == .unacceptableStatus && error?.status == 407
        }
    }

    @Test("a proxy that always challenges ends a request after three transmissions", .rows("R-37", "R-66"))
    func endless() async throws {
        for form in 0..<3 {
            let count = Lock(0)
            let peer = try ScriptedPeer { line, _, peer in
                while let head = line.receiveRequest() {
                    peer.note(head)
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    let challenge =
                        switch form {
                        case 0: "Digest realm=r, nonce=n\(number), algorithm=SHA-256, qop=auth, stale=true"
                        case 1: "Digest realm=r\(number), nonce=n\(number), algorithm=SHA-256, qop=auth"
                        default: "Other x=\(number)"
                        }
                    line.send(DigestProxy.Ending.keepsOpen.response(challenge))
                }
            }
            let isDigest = form < 2
            let executor =
                isDigest
                ? try Self.executor(through: peer, with: Self.digest)
                : try Self.executor(through: peer, with: Eager())
            let response = try await executor.execute(request())
            #expect(response.head.status == 407)
            #expect(peer.notes.count == 3, "\(form)")
            #expect(response.metrics.retries.count == 2)
        }
    }

    /// An authenticator that always has other credentials, the first time none.
    private final class Eager: AuthenticationChallenge.ProxyAuthenticator {
        private let count = Lock(0)

        func proxyCredentials(
            for request: AuthenticationChallenge.ProxyRequest
        ) throws(RequestError) -> (fieldValue: String?, token: Int) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return (number == 1 ? nil : "Eager \(number)", number)
        }

        func handleChallenge(
            in response: ResponseHead, to request: AuthenticationChallenge.ProxyRequest, token: Int
        ) throws(RequestError) -> Bool { true }

        func receive(
            fromProxy response: ResponseHead, for request: AuthenticationChallenge.ProxyRequest, token: Int
        ) throws(RequestError) {}
    }
}

// MARK: Secrets

extension ProxyChallengeTests {
    @Test(
        "credentials for a proxy are sent to no origin server, and credentials for an origin server to no proxy",
        .rows("R-27", "R-37"))
    func separate() async throws {
        let proxy = DigestProxy()
        let peer = try proxy.peer()
        // The origin server challenges as well, with 401 and with 407.
        let origin = try ScriptedPeer { line, _, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                let status = head.contains("/407") ? 407 : 401
                let challenge = "Digest realm=r, nonce=origin, algorithm=SHA-256, qop=auth"
                line.send(
                    "HTTP/1.1 \(status) No\r\nWWW-Authenticate: \(challenge)\r\nProxy-Authenticate: \(challenge)\r\n"
                        + "Content-Length: 0\r\n\r\n")
            }
        }
        let executor = try Self.executor(through: peer, with: Self.digest, excludedHosts: ["127.0.0.1"])
        #expect(try await executor.execute(request()).text == "ok")
        for path in ["/401", "/407"] {
            let response = try await executor.execute(origin.request(.get, path).patient())
            #expect(response.head.status.code == Int(path.dropFirst()) && response.metrics.retries.isEmpty)
        }
        #expect(origin.notes.count == 2)
        #expect(origin.notes.allSatisfy { !$0.contains("uthorization") && !$0.contains("planted") })

        // One authenticator for both has separate states, and only the field of each.
        let shared = Self.digest
        proxy.state.withLock { $0 = .init(nonce: 1) }
        let environment = RequestEnvironment(baseURL: try #require(URL(string: "http://origin.example")))
        let both = try Self.executor(through: peer, with: shared).authenticating(
            with: shared,
            within: try #require(environment))
        let before = peer.notes.count
        #expect(try await both.execute(request()).text == "ok")
        #expect(peer.notes.count == before + 2)
        #expect(peer.notes.dropFirst(before).allSatisfy { $0.field("Authorization") == nil })
    }

    @Test("the Proxy-Authorization field of a request takes precedence over an authenticator", .rows("R-37"))
    func own() async throws {
        let peer = try DigestProxy().peer()
        let executor = try Self.executor(through: peer, with: Self.digest)
        let response = try await executor.execute(request { $0.header[.proxyAuthorization] = "Basic own" })
        #expect(response.head.status == 407)
        #expect(peer.notes.map { $0.field("Proxy-Authorization") } == ["Basic own"])
    }

    @Test("errors, dumps and metrics contain no secret of a proxy's credentials", .rows("R-74", "R-37"))
    func printed() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            guard let head = line.receiveRequest() else { return }
            line.send(DigestProxy.Ending.keepsOpen.response(DigestProxy().challenge(for: head) ?? ""))
            _ = line.receiveRequest()
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        }
        let authenticator = Self.digest
        let executor = try Self.executor(through: peer, with: authenticator)
        let error = try #require(await executor.failure(of: try request()))
        #expect(error.reason == .connectionLost && error.attempts == 2)
        let proxy = SocketExecutor.Proxy(host: "h", port: 1, authorization: .init(with: authenticator))
        let (_, token) = try authenticator.proxyCredentials(
            for: .init(to: "http://127.0.0.1", method: .get, target: "/"))
        var text = "\(error) \(error.debugDescription) \(error.retries) \(proxy) \(token)"
        dump(error, to: &text)
        dump(proxy, to: &text)
        dump(token, to: &text)
        dump(authenticator, to: &text)
        for secret in ["planted", "cnonce", "response=", "nonce-0"] { #expect(!text.contains(secret), "\(secret)") }
    }
}
