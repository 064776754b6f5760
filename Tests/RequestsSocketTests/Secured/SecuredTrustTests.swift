@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("https: trust", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(10)))
struct SecuredTrustTests {
    /// Returns a peer that notes what it receives of requests.
    private static func peer(_ server: TLSContext) throws -> ScriptedPeer {
        try ScriptedPeer(securedWith: server) { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(ok)
            }
        }
    }

    @Test(
        "a refused certificate is an error with its reason and the chain, and nothing is sent",
        .rows("S-2", "S-6", "R-61"))
    func refusal() async throws {
        let peer = try Self.peer(Secured.server(names: ["other.test"]))
        for call in SecuredCall.allCases {
            let error = await call.failure(of: try peer.securedRequest(.post), over: try Secured.executor())
            #expect(error?.reason == .certificateRefused(.nameMismatch))
            #expect(error?.detail == "the certificate is not valid for “127.0.0.1”; its names are other.test")
            #expect(error?.tls?.certificates.first?.names == ["other.test"] && error?.tls?.version == "TLSv1.3")
            #expect(error?.tls?.cipherSuite?.hasPrefix("TLS_") == true)
            #expect(error?.mayHaveReachedServer == false)
            #expect(error?.debugDescription.contains("tls: TLSv1.3") == true)
            #expect(error?.isPermanent == true)
        }
        // The authority of the servers is not one of the system.
        let unknown = await SecuredCall.awaited.failure(of: try peer.securedRequest(), over: SocketExecutor())
        // A system without certificates has no trust at all.
        let reasons: [RequestError.Reason] = [
            .certificateRefused(.unknownIssuer), .invalidRequest(.invalidTLSConfiguration),
        ]
        #expect(unknown.map { reasons.contains($0.reason) } == true, "\(String(describing: unknown))")
        #expect(peer.notes.isEmpty)
    }

    @Test("without verification an executor connects, and other executors still refuse", .rows("R-62", "HT-25", "C25"))
    func unverified() async throws {
        let peer = try Self.peer(Secured.server(names: ["other.test"]))
        let careless = SocketExecutor.with { $0.tls.trust = .insecureSkipsVerification }
        let careful = try Secured.executor()
        for _ in 0..<3 {
            #expect(try await careless.execute(peer.securedRequest()).text == "ok")
            #expect(await careful.failure(of: try peer.securedRequest())?.reason == .certificateRefused(.nameMismatch))
        }
        #expect(peer.notes.count == 3 && careful.connections.open == 0)
    }

    @Test("only a server with a pinned key receives a request", .rows("HT-26", "AF-62", "PF-2", "T-84", "R-63"))
    func pins() async throws {
        let peer = try Self.peer(Secured.server())
        let probe = Lock<TLSConfiguration.Fingerprint?>(nil)
        let first = try Secured.executor {
            $0.tls.serverCheck = { _, chain in
                let key = chain.first?.publicKeyFingerprint
                probe.withLock { $0 = key }
            }
        }
        _ = try await first.execute(peer.securedRequest())
        let key = try #require(probe.withLock { $0 })
        let other = try #require(TLSConfiguration.Fingerprint(bytes: [UInt8](repeating: 7, count: 32)))
        let pinned = try Secured.executor { $0.tls.pins = [.host("127.0.0.1", publicKeys: [other, key])] }
        #expect(try await pinned.execute(peer.securedRequest()).text == "ok")
        let wrong = try Secured.executor { $0.tls.pins = [.host("127.0.0.1", publicKeys: [other])] }
        let error = await wrong.failure(of: try peer.securedRequest())
        #expect(error?.reason == .certificateRefused(.notPinned) && error?.mayHaveReachedServer == false)
        let elsewhere = try Secured.executor { $0.tls.pins = [.host("example.com", publicKeys: [other])] }
        #expect(try await elsewhere.execute(peer.securedRequest()).text == "ok")
        #expect(peer.notes.count == 3)
    }

    @Test("a check of the app receives the verified chain, and its error refuses the server", .rows("PM-13"))
    func check() async throws {
        struct NotToday: Error, CustomStringConvertible { let description = "not today" }
        let peer = try Self.peer(Secured.server())
        let seen = Lock<[String]>([])
        let executor = try Secured.executor {
            $0.tls.serverCheck = { host, chain in
                seen.withLock { $0.append("\(host) \(chain.map(\.subject))") }
                throw NotToday()
            }
        }
        let error = await executor.failure(of: try peer.securedRequest())
        #expect(error?.reason == .certificateRefused(.refusedByCheck))
        #expect(error?.detail == "the app refused the certificate of “127.0.0.1”: “not today”")
        #expect(seen.withLock { $0 } == ["127.0.0.1 [\"/CN=localhost\", \"/CN=Test server authority\"]"])
        // A chain that is not trusted never reaches the check.
        let strict = SocketExecutor.with {
            $0.tls.trust = .system
            $0.tls.serverCheck = { _, _ in seen.withLock { $0.append("called") } }
        }
        _ = await strict.failure(of: try peer.securedRequest())
        #expect(seen.withLock { $0.count } == 1)
        #expect(peer.notes.isEmpty)
    }

    @Test(
        "a client certificate is sent, and a missing one is a TLS failure that is not retried",
        .rows("S-30", "R-51", "PM-130"))
    func clientCertificate() async throws {
        let identity = try TestCertificates.shared().identity(for: ["client.test"])
        var tls = TestServer.TLS()
        tls.clientTrust = try Secured.trust
        tls.requiresClientCertificate = true
        for version in [TLSConfiguration.Version.tls12, .tls13] {
            tls.minimumVersion = version
            tls.maximumVersion = version
            try await withTestServer(serving: MockExecutor(.ok("hello")), tls: tls) { server in
                let request = try PreparedRequest(url: server.baseURL).patient()
                let with = try Secured.executor { $0.tls.identity = identity }
                let response = try await with.execute(request)
                #expect(response.text == "hello")
                #expect(server.exchanges.first?.tls?.certificates.first?.names == ["client.test"])
                let error = await (try Secured.executor()).failure(of: request)
                #expect(error?.reason == .tlsFailed, "\(version) \(String(reflecting: error))")
                #expect(error?.detail?.contains("alert") == true)
                // One connection with a certificate and one without: the failure is not repeated.
                #expect(server.record.requestCount == 1 && server.record.acceptedConnections == 2)
            }
        }
    }

    @Test("no key and no passphrase is in logs and errors of requests with a client certificate", .rows("S-56"))
    func logs() async throws {
        let (key, passphrase) = (try CertificateKey(.p256), "correct horse battery staple")
        let certificate = try CertificateMaker("client.test", names: [.dns("client.test")]).make(key).pem
        let encrypted = try key.pem(passphrase: passphrase)
        let lines = Lock<[String]>([])
        let peer = try Self.peer(Secured.server())
        let identities = [
            TLSConfiguration.Identity(certificates: certificate, privateKey: encrypted) { passphrase },
            TLSConfiguration.Identity(certificates: certificate, privateKey: encrypted) { passphrase + "x" },
        ]
        for (index, identity) in identities.enumerated() {
            let executor = try Secured.executor { $0.tls.identity = identity }
            let logging = RequestLogging(requests: .everything, responses: .everything) { entry in
                lines.withLock { $0 += entry.lines }
            }
            do {
                let response = try await executor.observing(.calls, by: logging).execute(peer.securedRequest())
                #expect(index == 0 && response.text == "ok")
            } catch let error as RequestError {
                #expect(index == 1 && error.reason == .invalidRequest(.invalidTLSConfiguration))
                lines.withLock { $0 += [error.debugDescription, "\(error)"] }
            }
        }
        let logged = lines.withLock { $0 }
        #expect(logged.contains { $0.contains("200 OK") } && logged.contains { $0.contains("TLS configuration") })
        let text = String(decoding: try key.pem() + encrypted, as: UTF8.self)
        let secrets = text.split(separator: "\n").filter { $0.utf8.count > 16 && !$0.hasPrefix("-----") }
        try #require(secrets.count > 4)
        for secret in secrets + [passphrase[...]] { #expect(!logged.contains { $0.contains(secret) }) }
    }

    @Test("versions without a common one are refused", .rows("R-64", "S-25", "S-26"))
    func versions() async throws {
        var tls = TestServer.TLS()
        tls.maximumVersion = .tls12
        try await withTestServer(serving: MockExecutor(.ok()), tls: tls) { server in
            let request = try PreparedRequest(url: server.baseURL).patient()
            let response = try await Secured.executor().execute(request)
            #expect(response.metrics.tls?.version == "TLSv1.2")
            let strict = try Secured.executor { $0.tls.minimumVersion = .tls13 }
            #expect(await strict.failure(of: request)?.reason == .tlsFailed)
        }
    }

    @Test("an application protocol other than http/1.1 that a server selects is refused", .rows("S-28", "H-52"))
    func otherApplicationProtocol() async throws {
        let peer = try Self.peer(Secured.server { $0.applicationProtocols = ["h2", "http/1.1"] })
        let both = try Secured.executor { $0.tls.applicationProtocols = ["h2", "http/1.1"] }
        let error = await both.failure(of: try peer.securedRequest())
        #expect(error?.reason == .tlsFailed && error?.detail?.contains("“h2”") == true)
        let response = try await Secured.executor().execute(peer.securedRequest())
        #expect(response.metrics.tls?.applicationProtocol == "http/1.1")
        #expect(peer.notes.count == 1)
    }

    @Test("HTTP/2 with prior knowledge needs a server that selects h2", .rows("H-52"))
    func withoutHTTP2() async throws {
        for (protocols, text) in [([], "no application protocol; only h2"), (["http/1.1"], "set httpVersion")] {
            let peer = try Self.peer(Secured.server { $0.applicationProtocols = protocols })
            let executor = try Secured.executor { $0.httpVersion = .http2PriorKnowledge }
            let error = await executor.failure(of: try peer.securedRequest())
            #expect(error?.reason == .tlsFailed && error?.mayHaveReachedServer == false)
            #expect(error?.detail?.contains(text) == true, "\(error?.detail ?? "")")
        }
    }

    @Test(
        "the error of a server that selects no protocol and closes before a response names HTTP/2 as a possible cause",
        .rows("S-28"))
    func possiblyOtherProtocol() async throws {
        for (protocols, response, isNamed) in [
            ([], "", true), (["http/1.1"], "", false), ([], "HTTP/1.1 200 OK\r\nA: b\r\n", false),
        ] {
            let peer = try ScriptedPeer(securedWith: Secured.server { $0.applicationProtocols = protocols }) {
                line, _, _ in
                guard line.receiveRequest() != nil else { return }
                line.send(response)
                line.tls.end()
            }
            for method in [HTTPMethod.get, .post] {
                let error = await (try Secured.executor()).failure(of: try peer.securedRequest(method))
                #expect(error?.reason == .connectionLost)
                let detail = try #require(error?.detail)
                #expect(detail.contains("HTTP/2") == isNamed, "\(detail)")
            }
        }
        // A connection that has carried a response was closed for another reason.
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = line.receiveRequest()
            line.tls.end()
        }
        let executor = try Secured.executor()
        #expect(try await executor.execute(peer.securedRequest()).text == "ok")
        let error = await executor.failure(of: try peer.securedRequest(.post))
        #expect(error?.reason == .connectionLost && error?.detail?.contains("HTTP/2") == false)
    }

    @Test("after a reload new connections use the new files, and idle ones are closed", .rows("R-51", "S-36"))
    func reload() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "ca.pem")
        guard case .bytes(let authority) = try Secured.trust.sources.first else {
            Issue.record("the authority is not in memory")
            return
        }
        try authority.write(to: URL(filePath: path))
        let peer = try Self.peer(Secured.server())
        let executor = SocketExecutor.with { $0.tls.trust = .certificates(atPath: path) }
        #expect(try await executor.execute(peer.securedRequest()).text == "ok")
        #expect(executor.connections.idle == 1)
        // A file that cannot be used changes nothing.
        try Data("nothing".utf8).write(to: URL(filePath: path))
        let failure = await #expect(throws: RequestError.self) { try await executor.reloadTLS(timeout: nil) }
        #expect(failure?.reason == .invalidRequest(.invalidTLSConfiguration))
        #expect(try await executor.execute(peer.securedRequest()).metrics.isReusedConnection)
        // Another authority does not trust the server.
        let other = try CertificateMaker.authority("Another").make(CertificateKey(.p256))
        try other.pem.write(to: URL(filePath: path))
        try await executor.reloadTLS(timeout: nil)
        #expect(executor.connections.open == 0)
        let reason = await executor.failure(of: try peer.securedRequest())?.reason
        #expect(reason == .certificateRefused(.unknownIssuer))
        try await executor.reloadTLS(TLSConfiguration(trust: try Secured.trust), timeout: nil)
        let response = try await executor.execute(peer.securedRequest())
        #expect(response.text == "ok" && response.metrics.tls?.isResumed == false)
        #expect(peer.connections == 3)
    }

    @Test("after a reload new connections have the new certificate of the client")
    func reloadIdentity() async throws {
        let folder = TemporaryDirectory()
        func write(_ name: String) throws {
            let identity = try TestCertificates.shared().identity(for: [name])
            guard case .bytes(let certificates, let key) = identity.storage else {
                Issue.record("the identity is not in memory")
                return
            }
            try folder.write(Array(certificates), to: "client.pem")
            try folder.write(Array(key), to: "client.key")
        }
        try write("first.test")
        var tls = TestServer.TLS()
        tls.clientTrust = try Secured.trust
        tls.requiresClientCertificate = true
        let (certificates, key) = (folder.path(of: "client.pem"), folder.path(of: "client.key"))
        try await withTestServer(serving: MockExecutor(.ok()), tls: tls) { server in
            let executor = try Secured.executor {
                $0.tls.identity = .init(certificatesAtPath: certificates, privateKeyAtPath: key)
            }
            let request = try PreparedRequest(url: server.baseURL).patient()
            _ = try await executor.execute(request)
            try write("second.test")
            // The files are read only when the settings are loaded again.
            _ = try await executor.execute(request)
            try await executor.reloadTLS(timeout: nil)
            _ = try await executor.execute(request)
            let names = server.exchanges.map { $0.tls?.certificates.first?.names }
            #expect(names == [["first.test"], ["first.test"], ["second.test"]])
            #expect(server.record.acceptedConnections == 2)
        }
    }

    @Test("a check of the app is not called for a resumed session")
    func checkOfResumedSession() async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in
            if line.receiveRequest() != nil {
                line.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let calls = Lock(0)
        let executor = try Secured.executor { $0.tls.serverCheck = { _, _ in calls.withLock { $0 += 1 } } }
        for isResumed in [false, true, true] {
            let response = try await executor.execute(peer.securedRequest())
            #expect(response.metrics.tls?.isResumed == isResumed)
        }
        #expect(calls.withLock { $0 } == 1 && peer.connections == 3)
    }

    @Test("a connection in use during a reload is closed after its exchange", .rows("R-51"))
    func reloadDuringExchange() async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, peer in
            while line.receiveRequest() != nil, peer.waitForResume() { line.send(ok) }
        }
        let executor = try Secured.executor()
        let request = try peer.securedRequest()
        let call = Task { try await executor.execute(request).text }
        // The suite has the time limit: other tests can occupy the threads of the pool for long.
        while peer.connections == 0 { await Task.yield() }
        try await executor.reloadTLS(timeout: nil)
        peer.resume(2)
        #expect(try await call.value == "ok")
        #expect(executor.connections.open == 0)
        #expect(try await executor.execute(request).metrics.isReusedConnection == false)
        peer.stop()
    }

    @Test("without libssl https is an error that says what to install, and nothing is sent; http works", .rows("S-52"))
    func noLibrary() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let library = TLSLibrary(cryptoFile: "/nowhere/libcrypto.so", sslFile: "/nowhere/libssl.so")
        let executor = SocketExecutor.with { $0.tlsLibrary = library }
        for call in SecuredCall.allCases {
            let error = await call.failure(of: try peer.securedRequest(), over: executor)
            #expect(error?.reason == .tlsUnavailable && error?.mayHaveReachedServer == false)
            #expect(error?.detail?.contains("libssl3 (Debian, Ubuntu, Alpine)") == true)
        }
        #expect(peer.connections == 0)
        #expect(try await executor.execute(peer.request()).text == "ok")
    }

    @Test("invalid settings are an error before anything is sent", .rows("S-53", "S-54"))
    func invalidSettings() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let settings: [@Sendable (inout TLSConfiguration) -> Void] = [
            { $0.trust = .certificates(Data()) }, { $0.trust = .certificates(atPath: "/nowhere/ca.pem") },
            { $0.applicationProtocols = [""] }, { $0.serverName = ".example.com" },
            { $0.pins = [.host("127.0.0.1")] },
            { $0.identity = .init(certificatesAtPath: "/nowhere/a", privateKeyAtPath: "/nowhere/b") },
        ]
        for (index, change) in settings.enumerated() {
            let executor = try Secured.executor { change(&$0.tls) }
            let error = await executor.failure(of: try peer.securedRequest())
            #expect(error?.reason == .invalidRequest(.invalidTLSConfiguration), "\(index)")
            #expect(error?.mayHaveReachedServer == false)
        }
        #expect(peer.connections == 0)
    }

    @Test("100 first calls at once succeed", .rows("R-52"))
    func manyFirstCalls() async throws {
        let peer = try Self.peer(Secured.server())
        let executor = try Secured.executor()
        let request = try peer.securedRequest()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { try await executor.execute(request).text } }
            for try await text in group { #expect(text == "ok") }
        }
        #expect(peer.notes.count == 100)
    }
}
