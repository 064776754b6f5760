@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Digest", .tags(.concurrent), .timeLimit(.minutes(10)))
struct DigestTests {
    private let api = AnonymousRequestProvider("http://e.com")

    private func client(
        _ executor: some RequestExecutor, allowing fallbacks: DigestAuthenticator.Fallbacks = [],
        password: String = "planted-password", hashes: any HashProvider = SystemHashes.shared
    ) -> Client<AnonymousRequestProvider> {
        let authenticator = DigestAuthenticator(
            username: "planted-user", password: password, allowing: fallbacks, hashes: hashes
        ) { "client-nonce" }
        return Client(api, executor: executor).authenticating(with: authenticator)
    }

    private func get(_ client: Client<AnonymousRequestProvider>) async -> RequestError? {
        await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/a").adding(queryItem: ("b", "c")) }
        }
    }

    /// The hash and the parameters of the challenge.
    static let challenges: [(HashAlgorithm, FieldParameters)] = [
        (.sha256, ["qop": "auth"]), (.sha512t256, ["qop": "auth"]), (.md5, ["qop": "auth"]), (.sha256, [:]),
        (.sha256, ["algorithm": "SHA-256-sess", "qop": "auth"]), (.sha256, ["qop": "auth-int, auth"]),
        (.sha256, ["qop": "auth-int"]), (.sha256, ["qop": "auth", "userhash": "true"]),
        (.md5, ["algorithm": "md5-SESS", "qop": "x, auth"]), (.sha256, ["algorithm": "SHA-256-sess"]),
    ]

    @Test("a challenge is met, and later requests have credentials at once", .rows("R-37"), arguments: challenges)
    func meets(hash: HashAlgorithm, parameters: FieldParameters) async throws {
        let server = DigestServer(hash: hash, parameters)
        let client = client(server.executor, allowing: .md5)
        for number in 1...3 {
            let text = try await client.perform {
                $0.post(.text("body é"), to: "/a", receiving: .text).adding(queryItem: ("b", "c"))
            }
            #expect(text == "in")
            server.state.withLock { #expect($0.accepted == number && $0.challenges == 1 && $0.problems == []) }
        }
    }

    @Test("blocking calls meet challenges too", arguments: [["qop": "auth"], ["qop": "auth-int"]] as [FieldParameters])
    func blocking(parameters: FieldParameters) throws {
        let server = DigestServer(parameters)
        let client = client(server.executor)
        for _ in 0..<3 {
            #expect(try client.performAndWait { $0.post(.text("body"), to: "/a", receiving: .text) } == "in")
        }
        server.state.withLock { #expect($0.accepted == 3 && $0.challenges == 1) }
    }

    @Test("wrong credentials end after the challenge and one attempt", .rows("R-37"))
    func wrong() async {
        let server = DigestServer()
        let executor = server.executor
        let error = await get(client(executor, password: "wrong"))
        #expect(error?.status == 401 && executor.recordedCount == 2)
    }

    @Test("a stale nonce is replaced without a failure, for every later request", .rows("R-37"))
    func stale() async {
        let server = DigestServer()
        server.state.withLock { $0.lifetime = 2 }
        let executor = server.executor
        let client = client(executor)
        for _ in 0..<7 { #expect(await get(client) == nil) }
        server.state.withLock { #expect($0.accepted == 7 && $0.challenges == 4) }
    }

    @Test("a nonce that was accepted before is replaced even if the server does not call it stale", .rows("R-37"))
    func forgottenNonce() async {
        let server = DigestServer()
        server.state.withLock {
            $0.lifetime = 2
            $0.marksStale = false
        }
        let client = client(server.executor)
        for _ in 0..<5 { #expect(await get(client) == nil) }
        server.state.withLock { #expect($0.accepted == 5 && $0.challenges == 3) }
    }

    @Test("a challenge with a control character is not met", .rows("R-37"), arguments: ["realm", "nonce", "opaque"])
    func controls(name: String) throws {
        let authenticator = DigestAuthenticator(username: "u", password: "p")
        for value in ["a\r\nX: y", "a\u{0}", "a\u{7F}", "a\nb", "b"] {
            var parameters: FieldParameters = ["realm": "r", "nonce": "n", "opaque": "o", "algorithm": "SHA-256"]
            parameters[name] = value
            let challenge = AuthenticationChallenge(scheme: "Digest", parameters: parameters)
            let field = try authenticator.fieldValue(for: [challenge], method: .get, target: "/")
            #expect((field != nil) == (value == "b"))
        }
    }

    @Test("the next nonce of Authentication-Info is used without another challenge", .rows("R-37"))
    func nextNonce() async {
        let server = DigestServer()
        server.state.withLock { $0.announcesNext = true }
        let client = client(server.executor)
        for _ in 0..<5 { #expect(await get(client) == nil) }
        server.state.withLock { #expect($0.accepted == 5 && $0.challenges == 1) }
    }

    @Test("parallel requests share one nonce, each with its own count", .rows("R-37"))
    func parallel() async {
        let server = DigestServer()
        let client = client(server.executor)
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { #expect(await get(client) == nil) } }
        }
        server.state.withLock { #expect($0.accepted == 100 && $0.counts.count == 100 && $0.problems == []) }
    }

    /// The responses of servers that never accept, and the largest number of requests.
    static let endless: [(String, Int)] = [
        ("Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256, stale=true", 3),
        ("Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256", 2), ("Digest realm=r", 1),
        ("Digest realm=r, nonce=n, qop=other, algorithm=SHA-256", 1), ("Digest realm=r, nonce=n, algorithm=MD5", 1),
        ("Digest realm=r, nonce=n, algorithm=SHA-3", 1), ("Digest realm=r, nonce=\"n", 1), ("Basic realm=r", 1),
        ("Digest realm=\"a\\\r\\\nb\", nonce=n, algorithm=SHA-256", 1), ("", 1), ("Negotiate", 1),
    ]

    @Test(
        "a server that never accepts ends the call after the stated number of requests", .rows("R-37"),
        arguments: endless)
    func ends(challenge: String, count: Int) async {
        let executor = MockExecutor { _ in
            .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: challenge))
        }
        let error = await get(client(executor))
        #expect(error?.status == 401 && executor.recordedCount == count)
    }

    @Test("of several challenges the strongest one is met, whatever their order", .rows("R-37"))
    func strongest() async throws {
        func challenge(_ algorithm: String) -> String {
            "Digest realm=\"\(algorithm)\", nonce=n, qop=auth, algorithm=\(algorithm)"
        }
        let algorithms = ["MD5", "SHA-256", "SHA-512-256"]
        for order in [algorithms, algorithms.reversed(), ["SHA-256", "SHA-512-256", "MD5"]] {
            let fields = ["Unknown a=b, Basic realm=x, \(challenge(order[0]))"] + order.dropFirst().map(challenge)
            let header = Header(fields.map { Field(name: .wwwAuthenticate, value: $0) })
            let authenticator = DigestAuthenticator(username: "u", password: "p", allowing: .md5)
            let value = try authenticator.fieldValue(for: header.challenges, method: .get, target: "/")
            #expect(value?.contains("realm=\"SHA-512-256\"") == true)
            let lacking = DigestAuthenticator(
                username: "u", password: "p", hashes: LackingHashes(lacks: [.sha512t256])
            ) { "c" }
            let other = try lacking.fieldValue(for: header.challenges, method: .get, target: "/")
            #expect(other?.contains("realm=\"SHA-256\"") == true)
            let none = DigestAuthenticator(
                username: "u", password: "p", hashes: LackingHashes(lacks: [.sha512t256, .sha256])
            ) { "c" }
            #expect(try none.fieldValue(for: header.challenges, method: .get, target: "/") == nil)
        }
    }

    @Test("Basic is used only if it is allowed and no Digest challenge can be met")
    func basic() async {
        let value = "Basic realm=r, Digest realm=r, nonce=n, algorithm=MD5"
        let executor = MockExecutor { request in
            request.header.contains(.authorization)
                ? .ok() : .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: value))
        }
        let client = client(executor, allowing: .basic)
        #expect(await get(client) == nil)
        #expect(await get(client) == nil)
        let basic = "Basic \(Data("planted-user:planted-password".utf8).base64EncodedString())"
        #expect(executor.sentAuthorizations == [nil, basic, basic])
    }

    @Test(
        "a server that offers only fallbacks is an error that says how to allow them", .rows("R-37"),
        arguments: [
            ("Digest realm=r, nonce=n, algorithm=MD5, qop=auth", [], .md5, ".md5)"),
            ("Digest realm=r, nonce=n", .basic, .md5, ".md5)"),
            ("Basic realm=r", [], .basic, ".basic)"), ("Basic realm=r", .md5, .basic, ".basic)"),
            ("Basic realm=r, Digest realm=r, nonce=n, algorithm=MD5-sess", [], [.md5, .basic], ".md5 or .basic)"),
        ] as [(String, DigestAuthenticator.Fallbacks, DigestAuthenticator.Fallbacks, String)])
    func notAllowed(
        challenge: String, allowed: DigestAuthenticator.Fallbacks, missing: DigestAuthenticator.Fallbacks, code: String
    ) async throws {
        let executor = MockExecutor { _ in
            .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: challenge))
        }
        let error = await get(client(executor, allowing: allowed))
        #expect(error?.reason == .credentialsUnavailable && error?.status == 401)
        guard case .fallbackNotAllowed(missing)? = error?.underlying as? CredentialError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect("\(String(describing: error))".contains("allowing: \(code)"))
        #expect(executor.recordedCount == 1)
        for other in ["Negotiate", "Digest realm=r, nonce=n, algorithm=SHA-1", "Digest realm=r, nonce=n, qop=x"] {
            let executor = MockExecutor(.status(401).adding(headerField: Field(name: .wwwAuthenticate, value: other)))
            #expect(await get(client(executor))?.reason == .unacceptableStatus)
        }
    }

    /// WWW-Authenticate fields with one challenge to meet, whose nonce is `n`.
    static let challengeFields: [[String]] = [
        ["Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256, x=1, x=2"],
        ["Digest domain=\"/a\", domain=\"/b\", realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=\"a\tb\", nonce=n, algorithm=SHA-256"], ["Digest realm=\"a\\\tb\", nonce=n, algorithm=SHA-256"],
        ["Negotiate, NTLM TlRMTVNTUAAC=, Basic realm=\"a, b\", Digest realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=r, nonce=n, algorithm=SHA-256, Basic realm=r, realm=s"],
        ["Basic realm=r, realm=s, Digest realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=r, nonce=m, algorithm=MD5", "Digest realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=r, nonce=m, nonce=n, algorithm=SHA-256", "Digest realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=r, realm=s, nonce=m, algorithm=SHA-512-256, Digest realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=\"unclosed", "Bearer", "Digest realm=r, nonce=n, algorithm=SHA-256"],
        ["Digest realm=r, nonce=n, algorithm=SHA-256, Digest realm=r, nonce=m, algorithm=SHA-256"],
        ["Digest realm=r,, nonce = n ,algorithm=sha-256 , ,Basic realm=x"],
    ]

    @Test(
        "a challenge may repeat an unused parameter, and challenges are found in every field", .rows("R-37"),
        arguments: challengeFields)
    func fields(values: [String]) throws {
        let header = Header(values.map { Field(name: .wwwAuthenticate, value: $0) })
        let authenticator = DigestAuthenticator(username: "u", password: "p")
        let value = try authenticator.fieldValue(for: header.challenges, method: .get, target: "/")
        #expect(value?.contains("nonce=\"n\"") == true)
        if values[0].utf8.contains(0x09) { #expect(value?.contains("realm=\"a\tb\"") == true) }
    }

    @Test("a challenge of another origin is not met with the credentials of the first one", .rows("R-36"))
    func otherOrigin() async {
        let challenge = Field(name: .wwwAuthenticate, value: "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256")
        let executor = MockExecutor { request in
            if request.target.host == "f.com" { return .status(401).adding(headerField: challenge) }
            guard request.header.contains(.authorization) else {
                return .status(401).adding(headerField: challenge)
            }
            return .redirect(307, to: "http://f.com/b")
        }
        let error = await get(client(executor))
        #expect(error?.status == 401 && error?.request?.target.host == "f.com")
        #expect(executor.sentAuthorizations.map { $0 != nil } == [false, true, false])
    }

    @Test("without a library for hashes nothing is sent, and the error names the packages to install", .rows("S-52"))
    func missingLibrary() async {
        let executor = DigestServer().executor
        let library = SystemLibrary(
            name: "libcrypto", files: ["/nonexistent/libcrypto.so.3"],
            packages: "libssl3 (Debian, Ubuntu) or libcrypto3 (Alpine)")
        let error = await get(client(executor, hashes: LibCrypto(library)))
        #expect(error?.reason == .credentialsUnavailable && error?.mayHaveReachedServer == false)
        #expect(executor.recordedCount == 0)
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("libssl3") && text.contains("libcrypto3") && !text.contains("planted"), "\(text)")
        guard case .libraryUnavailable? = error?.underlying as? CredentialError else {
            Issue.record("\(String(describing: error?.underlying))")
            return
        }
    }

    @Test("hostile challenges are ignored or met", .rows("R-37", "R-75"))
    func hostile() async throws {
        let authenticator = DigestAuthenticator(username: "u", password: "p")
        for (index, make) in Self.repeatedParts.enumerated() {
            let header: Header = [Field(name: .wwwAuthenticate, value: make(10_000))]
            let field = try authenticator.fieldValue(for: header.challenges, method: .get, target: "/")
            #expect((field != nil) == (index > 0), "\(index)")
        }
    }

    /// Challenges with a number of repeated parts; all but the first can be met.
    private static let repeatedParts: [@Sendable (Int) -> String] = [
        { "Digest " + (0..<$0).map { "p\($0)=\"\\\"\($0)\"" }.joined(separator: ", ") },
        {
            "Digest " + (0..<$0).map { "p\($0)=\"\\\"\($0)\"" }.joined(separator: ", ")
                + ", realm=r, nonce=n, qop=auth, algorithm=SHA-256"
        },
        { String(repeating: "Unknown a=b, ", count: $0) + "Digest realm=r, nonce=n, algorithm=SHA-256" },
        { "Digest qop=\"" + String(repeating: "x,", count: $0) + "auth\", nonce=n, algorithm=SHA-256" },
        { "Digest nonce=\"" + String(repeating: "\\\"", count: $0) + "\", algorithm=SHA-256" },
        { String(repeating: "Digest realm=r, nonce=n, algorithm=SHA-256, ", count: $0) + "Basic realm=r" },
    ]

    @Test(
        "the time to meet a challenge grows linearly with its length", .rows("R-75"), arguments: repeatedParts.indices)
    func linear(index: Int) async throws {
        let authenticator = DigestAuthenticator(username: "u", password: "p")
        let ratio = try await Growth.ratio(size: 500) { size in
            let header: Header = [Field(name: .wwwAuthenticate, value: Self.repeatedParts[index](size))]
            return { _ = try authenticator.fieldValue(for: header.challenges, method: .get, target: "/") }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test("a body that is a file or a stream is hashed before it is sent, and one that can be sent once is refused")
    func bodies() async throws {
        let server = DigestServer(["qop": "auth-int"])
        let executor = server.executor
        let authenticator = DigestAuthenticator(username: "planted-user", password: "planted-password")
        let authenticated = executor.authenticating(
            with: authenticator, within: try #require(RequestEnvironment(string: "http://e.com")))
        let target = try TargetURI("http://e.com/a")
        let folder = TemporaryDirectory()
        try folder.write("content of a file".utf8, to: "file")
        func stream(isReplayable: Bool) -> RequestBody {
            .stream(length: 2, isReplayable: isReplayable) { Chunks(chunks: [Data("a".utf8), Data("b".utf8)]) }
        }
        // The server computes the hash of each body itself.
        let bodies: [RequestBody] = [
            .bytes(Data("x".utf8)), .file(path: folder.path(of: "file")), stream(isReplayable: true), .none,
        ]
        for (number, body) in bodies.enumerated() {
            let response = try await authenticated.execute(PreparedRequest(method: .put, target: target, body: body))
            #expect(response.status == .ok)
            server.state.withLock { #expect($0.accepted == number + 1 && $0.problems == [] && $0.challenges == 1) }
        }
        let count = executor.recordedCount
        let error = await failure { () async throws(RequestError) in
            try await authenticated.execute(
                PreparedRequest(method: .put, target: target, body: stream(isReplayable: false)))
        }
        #expect(error?.reason == .bodyNotReplayable && executor.recordedCount == count)
    }

    @Test("a request uses one session, even if another challenge is met while its body is read", .rows("R-37"))
    func snapshot() async throws {
        let gate = RefreshGate()
        let isReplaced = Lock(false)
        let executor = MockExecutor { request in
            let nonce = isReplaced.withLock { $0 } ? "b" : "a"
            let sent = request.header[.authorization] ?? ""
            if request.method == .put || sent.contains("nonce=\"\(nonce)\"") { return .ok("in") }
            let others = nonce == "a" ? "qop=auth-int, algorithm=SHA-256" : "qop=auth, algorithm=SHA-512-256"
            let challenge = "Digest realm=r, nonce=\(nonce), stale=true, \(others)"
            return .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: challenge))
        }
        let client = client(executor)
        #expect(await get(client) == nil)
        let body = RequestBody.stream(length: 1, isReplayable: true) { Held(gate: gate) }
        let upload = Task {
            await failure { () async throws(RequestError) in
                try await client.perform { $0.put(BodyProvider { _ in body }, to: "/a") }
            }
        }
        while !gate.isWaited { await Task.yield() }
        isReplaced.withLock { $0 = true }
        #expect(await get(client) == nil)
        gate.open()
        #expect(await upload.value == nil)
        let value = executor.recordedRequests.last { $0.method == .put }?.header[.authorization] ?? ""
        let sent = try #require(AuthenticationChallenge.challenges(in: value).first?.parameters)
        #expect(sent["nonce"] == "a" && sent["algorithm"] == "SHA-256" && sent["qop"] == "auth-int")
    }

    /// A source that waits at a gate.
    private struct Held: RequestBody.Source {
        let gate: RefreshGate
        var chunk: Data? = Data("x".utf8)

        mutating func next() async throws -> Data? {
            await gate.wait()
            return chunk.take()
        }
    }

    private struct Chunks: RequestBody.Source {
        var chunks: [Data]
        mutating func next() async throws -> Data? { chunks.isEmpty ? nil : chunks.removeFirst() }
    }
}

/// The system's hashes without some algorithms.
struct LackingHashes: HashProvider {
    let lacks: Set<HashAlgorithm>

    private func check(_ algorithm: HashAlgorithm) throws(HashError) {
        if lacks.contains(algorithm) { throw .unsupported(algorithm) }
    }

    func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
        try check(algorithm)
        return try SystemHashes.shared.digest(of: data, with: algorithm)
    }

    func authenticationCode(of data: Data, key: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
        try check(algorithm)
        return try SystemHashes.shared.authenticationCode(of: data, key: key, with: algorithm)
    }

    func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash {
        try check(algorithm)
        return try SystemHashes.shared.makeHash(with: algorithm)
    }
}
