import RequestsConformance
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import Synchronization
import TestCorpora
import TestSupport
import Testing

/// The size of a storm: tasks perform half as many calls, and blocked threads a quarter as many.
private let calls = ProcessInfo.processInfo.environment["REQUESTS_STREAM_CALLS"].flatMap(Int.init) ?? 2_000

/// Calls of many kinds over the shared connections of one executor, each of which checks its own result.
private struct StreamStorm: Sendable {
    static let kinds = 12
    private static let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    let server: TestServer
    let executor: SocketExecutor
    let seed: RandomSeed

    /// The responses of the server.
    static func respond(to request: PreparedRequest) async throws -> MockResponse {
        switch request.target.path {
        case "/echo":
            guard case .bytes(let body) = request.body else { return .ok() }
            return .data(body)
        case "/large": return .data(large)
        case "/never":
            while true { try await Task.sleep(for: .seconds(60)) }
        default: return .ok(request.target.path)
        }
    }

    private func request(
        _ method: HTTPMethod, _ path: String, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        var request = PreparedRequest(
            method: method, target: try TargetURI(server.baseURL.absoluteString + path), body: body, delivery: delivery)
        request.timeouts = .init()
        return request
    }

    /// Performs a call in a task, and checks its result.
    func call(_ id: String, kind: Int) async throws {
        switch kind {
        case 0...3: try await small(id)
        case 4: try await echo(.bytes(Data(id.utf8)), Data(id.utf8))
        case 5: try await echo(.bytes(Self.large), Self.large)
        case 6:
            let numbers = seed.numbers(for: id.utf8.reduce(0) { $0 &* 31 &+ Int($1) })
            try await echo(.stream(length: nil, isReplayable: false) { RandomPieces(Self.large, numbers) }, Self.large)
        case 7: try await collect()
        case 8: #expect(try await stream()?.collect() == Self.large)
        case 9: #expect(try await stream()?.next()?.isEmpty == false)
        case 10: await timeOut()
        default: await cancel()
        }
    }

    private func small(_ id: String) async throws {
        let response = try await executor.execute(request(.get, "/\(id)"))
        #expect(response.body.text == "/\(id)")
    }

    private func echo(_ body: RequestBody, _ expected: Data) async throws {
        let response = try await executor.execute(request(.post, "/echo", body: body))
        guard case .bytes(let data) = response.body else { throw RequestError(.bodyEncodingFailed) }
        #expect(data == expected)
    }

    private func collect() async throws {
        guard case .bytes(let data) = try await executor.execute(request(.get, "/large")).body else { return }
        #expect(data == Self.large)
    }

    private func stream() async throws -> ResponseStream? {
        let response = try await executor.execute(request(.get, "/large", delivery: .streamed))
        guard case .stream(let stream) = response.body else { return nil }
        return stream
    }

    private func timeOut() async {
        let error = await #expect(throws: RequestError.self) {
            var request = try request(.get, "/never")
            request.timeouts.firstByte = .milliseconds(20)
            _ = try await executor.execute(request)
        }
        #expect(error?.reason == .timedOut(.firstByte), "\(error as Any)")
    }

    private func cancel() async {
        let call = Task { try await executor.execute(request(.get, "/never")) }
        for _ in 0..<20 { await Task.yield() }
        call.cancel()
        let error = await #expect(throws: RequestError.self) { try await call.value }
        #expect(error?.reason == .cancelled, "\(error as Any)")
    }

    /// Performs a call that blocks the thread, and checks its result.
    func blockingCall(_ id: String, kind: Int) throws {
        let isEcho = kind % 3 == 0
        let body = isEcho ? RequestBody.bytes(Self.large) : .none
        let request = try request(isEcho ? .post : .get, isEcho ? "/echo" : "/\(id)", body: body)
        guard case .bytes(let data) = try executor.executeAndWait(request).body else { return }
        #expect(data == (isEcho ? Self.large : Data("/\(id)".utf8)))
    }
}

/// A source whose pieces have random sizes, and which pauses before each.
private struct RandomPieces: RequestBody.Source {
    private var rest: Data
    private var numbers: SplitMix64

    init(_ data: Data, _ numbers: SplitMix64) {
        rest = data
        self.numbers = numbers
    }

    mutating func next() async -> Data? {
        await Task.yield()
        let piece = rest.prefix(.random(in: 1...40_000, using: &numbers))
        rest = rest.dropFirst(piece.count)
        return piece.isEmpty ? nil : Data(piece)
    }
}

extension ResponseBody {
    fileprivate var text: String? {
        if case .bytes(let data) = self { String(decoding: data, as: UTF8.self) } else { nil }
    }
}

@Suite("HTTP/2: storms", .tags(.concurrent), .timeLimit(.minutes(60)))
struct HTTP2StormTests {
    @Test(
        "calls of all kinds, in tasks and on blocked threads, share connections and do not affect each other",
        .rows("H-24", "H-31"), arguments: [2, 16])
    func shared(tasks: Int) async throws {
        try await Self.run(tasks: tasks, tls: nil)
    }

    @Test(
        "tasks on two threads, which every fourth call blocks, share connections with four blocked threads",
        .rows("H-31"))
    func fewThreads() async throws {
        try await withThreads(2) { threads in
            try await withTaskExecutorPreference(threads) {
                try await Self.run(tasks: 8, blockingTasks: true, tls: nil)
            }
        }
    }

    @Test(
        "calls of all kinds share connections over TLS and do not affect each other", .rows("H-24", "H-31"),
        .enabled(if: TestTLS.isAvailable, "libssl is not installed"))
    func secured() async throws {
        try await Self.run(tasks: 16, tls: TestServer.TLS())
    }

    /// Performs the calls in tasks and on half as many threads; with `blockingTasks`, every fourth call of a task
    /// blocks its thread.
    private static func run(tasks: Int, blockingTasks: Bool = false, tls: TestServer.TLS?) async throws {
        let seed = RandomSeed()
        let service = MockExecutor { try await StreamStorm.respond(to: $0) }
        try await withTestServer(serving: service, using: .http2, tls: tls) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.httpVersion = .http2PriorKnowledge
            if tls != nil { configuration.tls = server.clientTLS }
            let executor = SocketExecutor(configuration: configuration)
            let storm = StreamStorm(server: server, executor: executor, seed: seed)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<tasks {
                    group.addTask {
                        var numbers = seed.numbers(for: worker)
                        for round in 0..<calls / tasks / 2 {
                            let kind = Int.random(in: 0..<StreamStorm.kinds, using: &numbers)
                            if blockingTasks, round.isMultiple(of: 4) {
                                try storm.blockingCall("\(worker)-\(round)", kind: kind)
                            } else {
                                try await storm.call("\(worker)-\(round)", kind: kind)
                            }
                        }
                    }
                }
                for worker in 0..<tasks / 2 {
                    group.addTask {
                        try await onThread {
                            Result { () throws in
                                var numbers = seed.numbers(for: 1_000 + worker)
                                for round in 0..<calls / tasks / 2 {
                                    let kind = Int.random(in: 0..<StreamStorm.kinds, using: &numbers)
                                    try storm.blockingCall("thread-\(worker)-\(round)", kind: kind)
                                }
                            }
                        }.get()
                    }
                }
                try await group.waitForAll()
            }
            #expect(executor.waiters == 0)
            // A connection takes no more calls after 500 cancelled ones.
            #expect(server.record.acceptedConnections <= 6 + calls / 1_000)
            print("storm: \(calls * 3 / 4) calls over \(server.record.acceptedConnections) connections")
        }
    }
}
