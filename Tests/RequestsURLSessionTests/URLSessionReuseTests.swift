import RequestsConformance
import RequestsPOSIX
import RequestsURLSession
import Synchronization
import TestCorpora
import TestSupport
import Testing

// The limits are the defaults of `Timeouts`, so a call that hangs exceeds the time limit of the suite.
@Suite("URLSession: reused connections", .serialized, .timeLimit(.minutes(10)))
struct URLSessionReuseTests {
    /// Returns a body of every kind.
    private static func bodies(in folder: String) throws -> [RequestBody] {
        let data = Data((0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try data.write(to: URL(filePath: folder + "/body"))
        return [
            .none, .bytes(Data("abc".utf8)), .file(path: folder + "/body"),
            .stream(length: nil, isReplayable: false) { Pieces(data: Data("abc".utf8)) },
            .stream(length: 3, isReplayable: false) { Pieces(data: Data("abc".utf8)) },
        ]
    }

    @Test(
        "a request that is not idempotent is sent once, even if its connection closes before the response",
        .rows("R-42", "R-43"),
        arguments: [TestServer.Fault.closeBeforeHead, .resetBeforeHead], [HTTPMethod.post, "PURGE"])
    func sentOnce(fault: TestServer.Fault, method: HTTPMethod) async throws {
        try await withFolder { folder in
            for (body, way) in try Self.bodies(in: folder).flatMap({ body in Way.all.map { (body, $0) } }) {
                let mock = MockExecutor { .ok($0.target.path) }
                // The second request has the fault, whichever connection it uses.
                let behavior: @Sendable (Int, Int) -> TestServer.Behavior = { connection, exchange in
                    connection + exchange == 1 ? .failing(fault) : .standard
                }
                try await withTestServer(serving: mock, behaving: behavior) { server in
                    _ = try await way.body(of: server.request())
                    let error = await #expect(throws: RequestError.self) {
                        try await way.body(of: server.request(method, "/once", body: body))
                    }
                    #expect(error?.reason == .connectionLost, "\(body)")
                    #expect(error?.mayHaveReachedServer == true, "\(body)")
                    #expect(try await way.body(of: server.request(.get, "/next")) == Data("/next".utf8))
                    #expect(server.exchanges.count { $0.target == "/once" } == 1, "\(body)")
                }
            }
        }
    }

    @Test(
        "an idempotent request is sent again with its whole body if its connection closes", .rows("R-42"),
        arguments: [TestServer.Fault.closeBeforeHead, .resetBeforeHead], [HTTPMethod.put, "REPORT"])
    func sentAgain(fault: TestServer.Fault, method: HTTPMethod) async throws {
        try await withFolder { folder in
            for (body, way) in try Self.bodies(in: folder).flatMap({ body in Way.all.map { (body, $0) } }) {
                let behavior: @Sendable (Int, Int) -> TestServer.Behavior = { connection, exchange in
                    connection == 0 && exchange == 1 ? .failing(fault) : .standard
                }
                try await withTestServer(serving: echo, behaving: behavior) { server in
                    _ = try await way.body(of: server.request())
                    let echoed = try await way.body(of: server.request(method, "/again", body: body))
                    let bodies = server.exchanges.filter { $0.target == "/again" }.map(\.body)
                    #expect(bodies.count == (Support.isOnLinux ? 2 : bodies.count), "\(body)")
                    #expect(Set(bodies).count == 1 && bodies.last == echoed, "\(body)")
                }
            }
        }
    }

    @Test(
        "a connection that closes before the request is read is replaced, or the call fails at once",
        .rows("R-42", "R-48"),
        arguments: AbruptPeer.End.allCases, [HTTPMethod.post, .put, .get])
    func unread(end: AbruptPeer.End, method: HTTPMethod) async throws {
        // The server responds to one request on the first connection, and to all on later ones.
        let peer = try AbruptPeer(ending: end) { $0 == 0 ? 1 : .max }
        let executor = URLSessionExecutor()
        let target = try TargetURI("http://127.0.0.1:\(peer.port)/")
        _ = try await executor.execute(PreparedRequest(target: target))
        let body: RequestBody = method == .get ? .none : .bytes(Data("hello".utf8))
        let request = PreparedRequest(method: method, target: target, body: body)
        do throws(RequestError) {
            let text = try await executor.execute(request).text
            #expect(text == "good")
        } catch {
            #expect(error.reason == .connectionLost)
        }
        if method == .post { #expect(peer.requests.reduce(0, +) == 2) }
    }

    @Test(
        "a call fails at once if every connection closes before the response", .rows("R-43"),
        arguments: AbruptPeer.End.allCases)
    func always(end: AbruptPeer.End) async throws {
        let peer = try AbruptPeer(ending: end) { $0 == 0 ? 1 : 0 }
        let executor = URLSessionExecutor()
        let target = try TargetURI("http://127.0.0.1:\(peer.port)/")
        _ = try await executor.execute(PreparedRequest(target: target))
        for method in [HTTPMethod.put, .post] {
            let before = peer.requests.reduce(0, +)
            let request = PreparedRequest(method: method, target: target, body: .bytes(Data("hello".utf8)))
            #expect(await executor.failure(of: request)?.reason == .connectionLost)
            if method == .post { #expect(peer.requests.reduce(0, +) == before + 1) }
        }
    }

    @Test(
        "a call succeeds or fails at once if the server ends idle connections at the same time",
        .rows("R-42", "R-43", "R-48"),
        arguments: AbruptPeer.End.allCases, [HTTPMethod.get, .put, .post])
    func idleLimit(end: AbruptPeer.End, method: HTTPMethod) async throws {
        let peer = try AbruptPeer(ending: end) { _ in .max }
        let executor = URLSessionExecutor()
        let target = try TargetURI("http://127.0.0.1:\(peer.port)/")
        let body: RequestBody = method == .get ? .none : .bytes(Data("hello".utf8))
        let request = PreparedRequest(method: method, target: target, body: body)
        var successes = 0
        var numbers = RandomSeed().numbers()
        for round in 0..<200 {
            let untilEnd = Duration.microseconds(Int.random(in: 0...500, using: &numbers))
            let untilCall = Duration.microseconds(Int.random(in: 0...300, using: &numbers))
            // Leaves an idle connection, unless the server ends it just then, as in the round before.
            _ = try? await executor.execute(PreparedRequest(target: target))
            try DetachedThread.start(named: "ending") {
                spin(for: untilEnd)
                peer.endIdleConnections()
            }
            spin(for: untilCall)
            do throws(RequestError) {
                let text = try await executor.execute(request).text
                #expect(text == "good", "round \(round)")
                successes += 1
            } catch {
                #expect(error.reason == .connectionLost, "round \(round): \(error)")
            }
        }
        #expect(successes > 0)
        if method == .post { #expect((successes...200).contains(peer.requests(.post)), "\(peer.requests(.post))") }
    }

    @Test(
        "requests that are not idempotent respect the connection limit of an origin, and all complete",
        .rows("PM-10", "R-42"))
    func limited() async throws {
        let running = Mutex((current: 0, maximum: 0))
        let mock = MockExecutor { request in
            // The server may still process a call that was cancelled.
            guard request.target.path == "/kept" else { return .ok() }
            running.withLock { running in
                running.current += 1
                running.maximum = max(running.maximum, running.current)
            }
            for _ in 0..<100 { await Task.yield() }
            running.withLock { $0.current -= 1 }
            return .ok("done")
        }
        try await withTestServer(serving: mock) { server in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = 2
            let executor = URLSessionExecutor(configuration: configuration)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<60 {
                    let path = index % 3 == 0 ? "/cancelled" : "/kept"
                    let request = try server.request(.post, path, body: .bytes(Data("x".utf8)))
                    group.addTask {
                        let call = Task { try await executor.execute(request).text == "done" }
                        guard index % 3 == 0 else { return try await call.value }
                        // Some calls are cancelled before they are admitted, some later.
                        for _ in 0..<index { await Task.yield() }
                        call.cancel()
                        let error = await call.result.failure as? RequestError
                        return error == nil || error?.reason == .cancelled
                    }
                }
                for try await isExpected in group { #expect(isExpected) }
            }
            #expect(running.withLock { $0.maximum } <= 2)
        }
    }

    @Test("the connections of requests that are not idempotent are closed after use", .rows("R-42", "PM-10"))
    func released() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let executor = URLSessionExecutor()
            for _ in 0..<50 { _ = try await executor.execute(server.request(.post, body: .bytes(Data("x".utf8)))) }
            for _ in 0..<50 {
                let request = try server.request(.post)
                let call = Task { try await executor.execute(request) }
                call.cancel()
                _ = await call.result
            }
            if Support.isOnLinux { try await server.waitUntil { $0.openConnections == 0 } }
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// Keeps the calling thread busy for `time`.
private func spin(for time: Duration) {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {}
}

/// The two ways to send a request with URLSession.
private enum Way: Sendable {
    case executor(URLSessionExecutor)
    /// The function of Requests 0.3.2.
    case perform(URLSession)

    /// Both ways, with separate connections.
    static var all: [Way] { [.executor(URLSessionExecutor()), .perform(URLSession(configuration: .ephemeral))] }

    /// Returns the body of the response to `request`.
    func body(of request: PreparedRequest) async throws(RequestError) -> Data {
        switch self {
        case .executor(let executor):
            guard case .bytes(let data) = try await executor.execute(request).body else {
                throw RequestError(.other, detail: "the body is not collected")
            }
            return data
        case .perform(let session):
            let result = await withCheckedContinuation { continuation in
                session.perform(PreparedOnly(request: request), callbackQueue: DispatchQueue(label: "test.completion"))
                {
                    continuation.resume(returning: $0.map(\.1).mapError(\.error))
                }
            }
            return try result.get()
        }
    }
}

/// A request that is already prepared.
private struct PreparedOnly: RequestConvertible {
    let request: PreparedRequest

    var baseURL: URL { URL("http://127.0.0.1") }
    var endpoint: RequestPath { "" }
    var responseDecoder: ResponseDecoder<Data> { .data }

    func prepared() throws(RequestError) -> PreparedRequest { request }
}

/// A body in pieces of 100,000 bytes.
private struct Pieces: RequestBody.Source {
    var data: Data

    mutating func next() async throws -> Data? {
        guard !data.isEmpty else { return nil }
        defer { data = data.dropFirst(100_000) }
        return data.prefix(100_000)
    }
}
