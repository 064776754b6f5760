@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

extension ProxyChallengeTests {
    @Test("hostile challenges of a proxy are ignored or met, and never repeated without end", .rows("R-37", "R-75"))
    func hostile() async throws {
        let valid = "Digest realm=r, nonce=n, algorithm=SHA-256, qop=auth"
        let many = (0..<10_000).map { "p\($0)=\"\($0)\"" }.joined(separator: ", ")
        for (challenge, count) in [
            ("Digest realm=\"r", 1), ("Digest", 1), ("", 1),
            ("Digest realm=r, nonce=n, algorithm=SHA-1", 1), ("Digest realm=r, nonce=n", 1),
            ("Unknown a=b, Negotiate, NTLM abc==, \(valid)", 2), ("Basic realm=r, \(valid)", 2),
            ("\(valid), x=\"unterminated", 1),
        ] {
            let peer = try ScriptedPeer { line, _, peer in
                while let head = line.receiveRequest() {
                    peer.note(head)
                    line.send(DigestProxy.Ending.keepsOpen.response(challenge))
                }
            }
            let executor = try Self.executor(through: peer, with: Self.digest)
            #expect(try await executor.execute(request()).head.status == 407)
            #expect(peer.notes.count == count, "\(challenge.prefix(40))")
        }
        // More than the reader of a response permits is passed to the authenticator.
        let authenticator = Self.digest
        let proxied = AuthenticationChallenge.ProxyRequest(to: "http://p", method: .connect, target: "h:443")
        let (_, token) = try authenticator.proxyCredentials(for: proxied)
        func head(_ challenge: String) throws -> ResponseHead {
            ResponseHead(
                status: 407, header: [Field(name: .proxyAuthenticate, value: challenge)],
                target: try TargetURI("http://h"))
        }
        for name in ["realm", "nonce", "opaque"] {
            let controls = "Digest \(name)=\"a\\\r\\\nX: y\", \(name == "nonce" ? "" : "nonce=n, ")algorithm=SHA-256"
            #expect(try !authenticator.handleChallenge(in: head(controls), to: proxied, token: token), "\(name)")
        }
        #expect(try authenticator.handleChallenge(in: head("\(valid), \(many)"), to: proxied, token: token))
        #expect(try authenticator.proxyCredentials(for: proxied).fieldValue?.utf8.count ?? .max < 400)
    }

    @Test("a proof of the proxy that is wrong ends the request, and a next nonce is used", .rows("R-37"))
    func information() async throws {
        for (info, isRight) in [("qop=auth, rspauth=\"00\", nc=00000001", false), ("nextnonce=\"nonce-9\"", true)] {
            let proxy = DigestProxy()
            let response =
                "HTTP/1.1 200 OK\r\nProxy-Authentication-Info: \(info)\r\nContent-Length: 2\r\n\r\nok"
            let peer = try proxy.peer(response: response)
            let executor = try Self.executor(through: peer, with: Self.digest)
            let error = await executor.failure(of: try request())
            if isRight {
                #expect(error == nil)
                proxy.state.withLock { $0 = .init(nonce: 9) }
                #expect(await executor.failure(of: try request()) == nil)
                #expect(proxy.state.withLock { $0.challenges } == 0)
            } else {
                #expect(error?.reason == .credentialsUnavailable && error?.status == 200 && error?.attempts == 2)
                guard case .serverNotAuthenticated? = error?.underlying as? CredentialError else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
        }
    }

    @Test("credentials that cannot be sent are an error before anything is sent", .rows("R-1", "R-37"))
    func unusable() async throws {
        let peer = try DigestProxy().peer()
        for executor in [
            try Self.executor(through: peer, with: Fixed("Fixed \u{1}")),
            try Self.executor(through: peer, with: Fixed("a\r\nX: y")),
            try Self.executor(through: peer, with: DigestAuthenticator(username: "a\nb", password: "c")),
        ] {
            let error = await executor.failure(of: try request())
            guard case .invalidRequest? = error?.reason else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(error?.mayHaveReachedServer == false)
        }
        let port = Int(try #require(peer.address.port))
        let socks = SocketExecutor.with {
            $0.proxy = .init(
                scheme: .socks5, host: "127.0.0.1", port: port, authorization: .init(with: Self.digest))
        }
        #expect(await socks.failure(of: try request())?.reason == .invalidRequest(.invalidProxy))
        #expect(peer.notes.isEmpty && peer.connections == 0)
    }

    /// An authenticator with one value.
    final class Fixed: AuthenticationChallenge.ProxyAuthenticator {
        private let value: String

        init(_ value: String) {
            self.value = value
        }

        func proxyCredentials(
            for request: AuthenticationChallenge.ProxyRequest
        ) throws(RequestError) -> (fieldValue: String?, token: Void) { (value, ()) }

        func handleChallenge(
            in response: ResponseHead, to request: AuthenticationChallenge.ProxyRequest, token: Void
        ) throws(RequestError) -> Bool { true }

        func receive(
            fromProxy response: ResponseHead, for request: AuthenticationChallenge.ProxyRequest, token: Void
        ) throws(RequestError) {}
    }

    @Test("a request that is challenged while the executor drains is completed", .rows("R-37"))
    func drains() async throws {
        let proxy = DigestProxy()
        let peer = try ScriptedPeer { line, number, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                if number == 0 { _ = peer.waitForResume() }
                line.send(proxy.challenge(for: head).map(DigestProxy.Ending.closes.response) ?? ok)
                if number == 0 { return }
            }
        }
        let executor = try Self.executor(through: peer, with: Self.digest)
        let request = try request()
        async let response = executor.execute(request)
        await eventually { peer.notes.count == 1 }
        async let isDrained = executor.drain(until: .now + .seconds(600))
        await eventually { executor.isDraining }
        peer.resume()
        #expect(try await response.text == "ok")
        #expect(await isDrained)
        #expect(peer.notes.count == 2 && peer.connections == 2)
    }
}
