import RequestsConformance
import Synchronization
import TestSupport
import Testing

@testable import RequestsURLSession

@Suite("URLSession: requests", .timeLimit(.minutes(10)))
struct URLSessionRequestTests {
    @Test(
        "only Host, Accept-Encoding, Connection and framing are added to a request", .rows("L5", "PM-10"),
        .enabled(if: Support.isOnLinux))
    func additions() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let executor = URLSessionExecutor()
            _ = try await executor.execute(server.request())
            _ = try await executor.execute(server.request(.post, body: .bytes(Data("abc".utf8))))
            let names = server.exchanges.map { Set($0.header.map(\.name)) }
            #expect(names.first == [.host, .acceptEncoding, .connection])
            #expect(names.last == [.host, .acceptEncoding, .connection, .contentLength])
        }
    }

    @Test(
        "an IPv6 address as the host is refused before anything is sent, also after a redirect", .rows("L4", "D-22"),
        .enabled(if: Support.isOnLinux))
    func ipv6() async throws {
        let executor = URLSessionExecutor()
        for host in ["[::1]", "[::1]:8080", "[::ffff:127.0.0.1]", "[fe80::1%25lo]", "user:pass@[::1]"] {
            for scheme in ["http", "https"] {
                let request = PreparedRequest(target: try TargetURI("\(scheme)://\(host)/"))
                let error = await executor.failure(of: request)
                #expect(error?.reason == .invalidRequest(.ipv6AddressNotSupported), "\(host)")
                #expect(error?.mayHaveReachedServer == false && error?.detail?.contains("SocketExecutor") == true)
            }
        }
        try await withTestServer(serving: MockExecutor(.redirect(307, to: "http://[::1]:9/next"))) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text, from: "/")
            let error = await #expect(throws: RequestError.self) { try await executor.perform(request) }
            #expect(error?.reason == .invalidRequest(.ipv6AddressNotSupported))
            #expect(error?.attempts == 2 && server.record.requestCount == 1)
        }
    }

    @Test("with a configuration for background sessions, every call fails before anything is sent")
    func backgroundSessions() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let executor = URLSessionExecutor(.ephemeral, isInBackground: true, spoolLimit: 0)
            let error = await executor.failure(of: PreparedRequest(target: try TargetURI("\(server.baseURL)/a")))
            #expect(error?.reason == .invalidRequest(.backgroundSessionNotSupported))
            #expect(error?.mayHaveReachedServer == false && server.record.requestCount == 0)
        }
    }

    @Test(
        "a GET or HEAD body is refused before anything is sent, even if the request allows it", .rows("L4"),
        .enabled(if: Support.isOnLinux), arguments: [HTTPMethod.get, .head])
    func allowedBody(method: HTTPMethod) async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            var request = try server.request(method, body: .bytes(Data("hello".utf8)))
            request.allowsBody = true
            let error = await URLSessionExecutor().failure(of: request)
            #expect(error?.reason == .invalidRequest(.bodyNotAllowed) && error?.mayHaveReachedServer == false)
            #expect(server.record.requestCount == 0)
        }
    }

    @Test(
        "a challenge for credentials is a 401 response, and the challenge handler is not called",
        .rows("PM-13", "L1", "L18"),
        arguments: ["Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"b\"", "NTLM", "Negotiate", "Bearer"])
    func challenges(challenge: String) async throws {
        let response = MockResponse.status(401, "who?").adding(
            headerField: Field(name: .wwwAuthenticate, value: challenge))
        try await withTestServer(serving: MockExecutor(response)) { server in
            let calls = Mutex(0)
            let executor = URLSessionExecutor(challengeHandler: { _ in
                calls.withLock { $0 += 1 }
                return (.performDefaultHandling, nil)
            })
            let received = try await executor.execute(server.request())
            #expect(received.head.status == .unauthorized && received.text == "who?")
            #expect(calls.withLock { $0 } == 0 && server.record.requestCount == 1)
        }
    }

    #if os(Linux)
    @Test("https with a challenge handler that Linux never calls is an error before anything is sent", .rows("PM-13"))
    func handlerOnLinux() async throws {
        let executor = URLSessionExecutor(challengeHandler: { _ in (.cancelAuthenticationChallenge, nil) })
        let request = PreparedRequest(target: try TargetURI("https://127.0.0.1:1/"))
        let error = await executor.failure(of: request)
        #expect(error?.reason == .invalidRequest(.invalidTLSConfiguration))
        #expect(error?.mayHaveReachedServer == false)
        try await withTestServer(serving: MockExecutor(.ok("here"))) { server in
            let response = try await executor.execute(server.request())
            #expect(response.text == "here")
        }
    }
    #endif

    @Test("host names and IPv4 addresses are not taken for IPv6 addresses", .rows("L4"))
    func ipv4() async throws {
        try await withTestServer(serving: MockExecutor(.ok("here"))) { server in
            for host in ["127.0.0.1", "localhost"] {
                let target = try TargetURI("http://\(host):\(try #require(server.port))/")
                #expect(try await URLSessionExecutor().execute(PreparedRequest(target: target)).text == "here")
            }
        }
    }

    @Test("every field of a request is sent once", .rows("L5", "L10"))
    func fields() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let header: Header = [
                .accept(.json), .acceptLanguage("gd"), .userAgent("tests"), .contentType(.json),
                Field(name: "X-Empty", value: ""),
            ]
            _ = try await URLSessionExecutor().execute(
                server.request(.post, header: header, body: .bytes(Data("{}".utf8))))
            let received = try #require(server.exchanges.first).header
            for field in header { #expect(received.values(of: field.name) == [field.value]) }
        }
    }

    @Test("framing fields of the request are replaced by the body's framing", .rows("L6"))
    func framing() async throws {
        try await withTestServer(serving: echo) { server in
            let header: Header = [
                Field(name: .contentLength, value: "9"), Field(name: .transferEncoding, value: "chunked"),
            ]
            let bodies: [RequestBody] = [
                .bytes(Data("abc".utf8)), .stream { chunks("a", "bc") }, .stream(length: 3) { chunks("a", "bc") },
            ]
            let executor = URLSessionExecutor()
            for body in bodies {
                let response = try await executor.execute(server.request(.put, header: header, body: body))
                #expect(response.text == "abc")
            }
            #expect(server.exchanges.map { $0.header.values(of: .contentLength) } == [["3"], [], ["3"]])
            #expect(server.exchanges.map { $0.header.values(of: .transferEncoding) } == [[], ["chunked"], []])
        }
    }

    @Test("middleware receives the attributes of a request", .rows("L8", "PM-30"))
    func attributes() async throws {
        enum Key: RequestAttributes.Key { typealias Value = String }
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let received = Mutex<String?>(nil)
            let executor = URLSessionExecutor().intercepting { request, next in
                received.withLock { $0 = request.attributes[Key.self] }
                return try await next.execute(request)
            }
            var request = try server.request()
            request.attributes[Key.self] = "kept"
            _ = try await executor.execute(request)
            #expect(received.withLock { $0 } == "kept")
        }
    }

    @Test("a long produced body is stored in a file with mode 0600, which is removed afterwards", .rows("L6", "R-74"))
    func spooled() async throws {
        let found = Mutex<[String: Int]>([:])
        let abandoned = Set(try spooledFiles().keys)
        let mock = MockExecutor { request in
            let current = try spooledFiles()
            found.withLock { $0.merge(current) { $1 } }
            return .ok("\(request.body)")
        }
        try await withTestServer(serving: mock) { server in
            let chunk = Data(count: 300_000)
            let executor = URLSessionExecutor()
            for length in [nil, 1_500_000] {
                let body = RequestBody.stream(length: length) { chunks(Array(repeating: chunk, count: 5)) }
                let response = try await executor.execute(server.request(.put, body: body))
                #expect(response.text == "1500000 bytes")
            }
            #expect(server.exchanges.map { $0.header[.contentLength] } == [nil, "1500000"])
        }
        let files = found.withLock { $0 }.filter { !abandoned.contains($0.key) }
        #expect(files.count >= 2)
        #expect(files.values.allSatisfy { $0 == 0o600 })
        // The files of other tests are among them, and are removed too.
        while try !Set(spooledFiles().keys).isDisjoint(with: files.keys) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test("a produced body over the spool limit is an error before it is sent", .rows("L6"))
    func spoolLimit() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let executor = URLSessionExecutor(spoolLimit: 10)
            _ = try await executor.execute(server.request(.put, body: .stream { chunks("0123456789") }))
            for body in [RequestBody.stream { chunks("0123456789", "x") }, .stream(length: 11) { EndlessBody() }] {
                let error = await executor.failure(of: try server.request(.put, body: body))
                #expect(error?.reason == .tooLarge(limit: 10))
                #expect(error?.mayHaveReachedServer == false && error?.request?.method == .put)
            }
            #expect(server.exchanges.count == 1)
            #expect(URLSessionExecutor(spoolLimit: -1).spoolLimit == 0)
        }
    }

    @Test("long files and ranges of them are sent with their length", .rows("L6"))
    func files() async throws {
        let data = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) })
        try await withFolder { folder in
            let path = folder + "/body"
            try data.write(to: URL(filePath: path))
            try await withTestServer(serving: echo) { server in
                let executor = URLSessionExecutor()
                for range in [nil, 1..<2_000_001, 5..<70] {
                    let body = RequestBody.file(path: path, range: range)
                    let response = try await executor.execute(server.request(.put, body: body))
                    let echoed = try #require(response.data)
                    #expect(echoed == data[range ?? 0..<data.count])
                }
                #expect(server.exchanges.map { $0.header[.contentLength] } == ["2500000", "2000000", "65"])
                #expect(server.exchanges.allSatisfy { !$0.header.contains(.transferEncoding) })
                if Support.isOnLinux { #expect(server.exchanges.allSatisfy { !$0.header.contains(.expect) }) }
                let folderError = await executor.failure(of: try server.request(.put, body: .file(path: folder)))
                #expect(folderError?.reason == .fileAccessFailed)
            }
        }
    }

    @Test(
        "a file that shrinks while it is sent is an error, and one that grows is truncated", .rows("L6"),
        .enabled(if: Support.isOnLinux))
    func changingFiles() async throws {
        try await withFolder { folder in
            let path = folder + "/body"
            try await withTestServer(serving: MockExecutor { .ok("\($0.body)") }) { server in
                for (count, reason) in [(1_900_000, RequestError.Reason.bodyEncodingFailed), (2_100_000, nil)] {
                    try Data(count: 2_000_000).write(to: URL(filePath: path))
                    // The file changes between measuring its length and the first read.
                    let change = FileChange(path: path, count: count)
                    var request = try server.request(.put, body: .file(path: path))
                    request.progressHandler = { _ in change.make() }
                    if let reason {
                        #expect(await URLSessionExecutor().failure(of: request)?.reason == reason)
                    } else {
                        #expect(try await URLSessionExecutor().execute(request).text == "2000000 bytes")
                    }
                    // Otherwise the file did not change while it was sent.
                    #expect(try Data(contentsOf: URL(filePath: path)).count == count)
                }
            }
        }
    }

    @Test("the limit between bytes ends the wait for a peer that does not read", .rows("R-48"))
    func silent() async throws {
        try await withSilentPort { port in
            var request = PreparedRequest(
                method: .put, target: try TargetURI("http://127.0.0.1:\(port)/"), body: .bytes(Data(count: 64 << 20)))
            request.timeouts.betweenBytes = .milliseconds(60)
            #expect(await URLSessionExecutor().failure(of: request)?.reason == .timedOut(.sending))
        }
    }

    @Test("the connect limit ends a connection attempt for a request with a body", .rows("R-48"))
    func unconnected() async throws {
        try await withFullBacklogPort { port in
            var request = PreparedRequest(
                method: .put, target: try TargetURI("http://127.0.0.1:\(port)/"), body: .bytes(Data("x".utf8)))
            request.timeouts.connect = .milliseconds(60)
            let error = await URLSessionExecutor().failure(of: request)
            #expect(error?.reason == .timedOut(.connecting))
            #expect(error?.mayHaveReachedServer == false)
        }
    }

    @Test("a time limit with a fraction of a second does not end a call early", .rows("R-48"), arguments: [150, 900])
    func fractions(milliseconds: Int) async throws {
        try await withTestServer(serving: MockExecutor(.ok()), fault: .stallBeforeHead) { server in
            var request = try server.request()
            request.timeouts = Timeouts(firstByte: .milliseconds(milliseconds))
            let start = ContinuousClock.now
            #expect(await URLSessionExecutor().failure(of: request)?.reason == .timedOut(.firstByte))
            #expect(ContinuousClock.now - start >= .milliseconds(milliseconds))
        }
    }

    @Test("the deadline ends the production of a body", .rows("R-48"))
    func producing() async throws {
        var request = PreparedRequest(
            method: .put, target: try TargetURI("http://127.0.0.1:1/"), body: .stream { EndlessBody() })
        request.deadline = .now + .milliseconds(60)
        let error = await URLSessionExecutor().failure(of: request)
        #expect(error?.reason == .timedOut(.total))
        #expect(error?.mayHaveReachedServer == false)
    }
}

/// A change of a file's length, which happens once.
private final class FileChange: Sendable {
    private let path: String
    private let count: Int
    private let isMade = Mutex(false)

    init(path: String, count: Int) {
        self.path = path
        self.count = count
    }

    func make() {
        isMade.withLock { isMade in
            if !isMade { truncate(path, count) }
            isMade = true
        }
    }
}

/// A sequence that never produces its second chunk.
private struct EndlessBody: AsyncSequence, AsyncIteratorProtocol {
    var hasBegun = false

    func makeAsyncIterator() -> EndlessBody { self }

    mutating func next() async throws -> Data? {
        // Longer than any test runs: only the deadline under test ends the sleep.
        if hasBegun { try await Task.sleep(for: .seconds(3_600)) }
        hasBegun = true
        return Data("begin".utf8)
    }
}

private func chunks(_ texts: String...) -> AsyncStream<Data> {
    chunks(texts.map { Data($0.utf8) })
}

private func chunks(_ chunks: [Data]) -> AsyncStream<Data> {
    AsyncStream { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish()
    }
}

/// Returns the permissions of the files that hold stored bodies, by name.
private func spooledFiles() throws -> [String: Int] {
    let folder = FileManager.default.temporaryDirectory.path
    var files: [String: Int] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
        guard name.hasPrefix("requests-"), name.hasSuffix(".upload") else { continue }
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder + "/" + name)
        files[name] = (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }
    return files
}
