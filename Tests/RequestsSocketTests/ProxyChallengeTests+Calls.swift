@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Calls whose requests a proxy with an authenticator forwards: their redirects, errors and logs.
extension ProxyChallengeTests {
    @Test("a call that has left its origin has credentials for the proxy, but no longer its own", .rows("R-27", "R-37"))
    func redirects() async throws {
        let proxy = DigestProxy()
        let peer = try ScriptedPeer { line, _, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                if let challenge = proxy.challenge(for: head) {
                    line.send(DigestProxy.Ending.keepsOpen.response(challenge))
                } else if head.hasPrefix("GET http://origin.example/") {
                    line.send("HTTP/1.1 302 Found\r\nLocation: http://other.example/b\r\nContent-Length: 0\r\n\r\n")
                } else {
                    line.send(ok)
                }
            }
        }
        let executor = try Self.executor(through: peer, with: Self.digest)
        // The second call begins with credentials for the proxy; the credentials for the first target are then stale.
        for isStale in [false, true] {
            if isStale { proxy.state.withLock { $0 = .init(nonce: 7) } }
            let before = peer.notes.count
            let response = try await executor.response(
                for: AnonymousRequestProvider("http://origin.example").get(.text, from: "/a")
                    .authenticated(with: .bearerToken("own")))
            #expect(response.value == "ok" && response.history.count == 1)
            let sent = peer.notes.dropFirst(before)
            #expect(sent.last?.hasPrefix("GET http://other.example/b ") == true)
            #expect(sent.last?.field("Proxy-Authorization")?.contains("uri=\"http://other.example/b\"") == true)
            #expect(sent.map { $0.field("Authorization") } == ["Bearer own", "Bearer own", nil])
        }
    }

    @Test(
        "the errors of a streamed body contain the request of the caller, without credentials for the proxy",
        .rows("R-74"))
    func streamed() async throws {
        let proxy = DigestProxy()
        let peer = try ScriptedPeer { line, _, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                guard let challenge = proxy.challenge(for: head) else {
                    // The connection ends before the body.
                    line.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
                    return
                }
                line.send(DigestProxy.Ending.keepsOpen.response(challenge))
            }
        }
        let executor = try Self.executor(through: peer, with: Self.digest)
        let request = try request { $0.delivery = .streamed }
        let response = try await executor.execute(request)
        let stream = try #require(response.stream)
        var errors: [RequestError] = []
        for _ in 0..<2 {
            do throws(RequestError) {
                while try await stream.next() != nil {}
            } catch {
                errors.append(error)
            }
        }
        #expect(errors.count == 2 && peer.notes.count == 2)
        #expect(peer.notes.last?.field("Proxy-Authorization") != nil)
        for error in errors {
            #expect(error.request == request)
            var text = "\(error) \(error.debugDescription)"
            dump(error, to: &text)
            for secret in ["Proxy-Authorization", "planted", "nonce-0"] { #expect(!text.contains(secret), "\(secret)") }
        }
    }

    @Test(
        "a log contains no credentials that a proxy repeats in its response", .rows("R-74"),
        arguments: [true, false])
    func logged(isDigest: Bool) async throws {
        let proxy = DigestProxy()
        let peer = try ScriptedPeer { line, _, peer in
            while let head = line.receiveRequest() {
                let sent = head.field("Proxy-Authorization")
                if let sent { peer.note(sent) }
                let body = "You sent \(sent ?? "nothing")."
                let challenge = sent == nil ? "Proxy-Authenticate: \(proxy.challenge(for: head) ?? "")\r\n" : ""
                line.send(
                    "HTTP/1.1 \(sent == nil ? "407 No" : "502 No")\r\n\(challenge)Content-Type: text/plain\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        let port = Int(try #require(peer.address.port))
        let base = SocketExecutor.with {
            $0.proxy = .init(
                host: "127.0.0.1", port: port,
                authorization: isDigest
                    ? .init(with: Self.digest) : .basic(username: "planted-user", password: "planted-password"))
        }
        let log = Lock("")
        let logging = RequestLogging(requests: .everything, responses: .everything) { entry in
            log.withLock { $0 += "\(entry)\n" }
        }
        let executor = base.observing(.attempts, by: logging)
        #expect(try await executor.execute(request()).head.status == 502)
        let text = log.withLock { $0 }
        let sent = try #require(peer.notes.last)
        #expect(text.contains("502") && text.contains("You sent"), "\(text)")
        let secret =
            isDigest ? sent.firstRange(of: "response=\"").map { String(sent[$0.upperBound...].prefix(64)) } : sent
        #expect(!text.contains(try #require(secret)) && !text.contains("cGxhbnRlZ"), "\(text)")
    }
}
