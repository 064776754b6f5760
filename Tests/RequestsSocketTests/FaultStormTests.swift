@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

/// Random calls to a server with random faults; each value of a call follows from its number and the seed.
private final class FaultStorm: Sendable {
    static let seconds = ProcessInfo.processInfo.environment["REQUESTS_STRESS_SECONDS"].flatMap(Int.init) ?? 1

    let seed: UInt64
    let isHTTP2: Bool
    let folder = TemporaryDirectory()
    let service = DigestService()
    let totals = Lock<[String: Int]>([:])
    /// The numbers of the calls whose errors say that the request has not reached the server.
    private let unsent = Lock<[Int]>([])

    init(_ seed: RandomSeed, usingHTTP2 isHTTP2: Bool = false) {
        self.seed = seed.value
        self.isHTTP2 = isHTTP2
    }

    /// Performs calls over plain connections or TLS until the time is over, and checks each.
    func run(tls: TestServer.TLS?) async throws {
        let before = openSockets()
        var limits = TestServer.Limits()
        limits.recording.requests = 0
        try await withTestServer(
            serving: service, using: isHTTP2 ? .http2 : .http1, tls: tls, limits: limits,
            behaving: { self.behavior(connection: $0, exchange: $1) }
        ) { server in
            let end = Deadline.after(.seconds(Self.seconds))
            // Small reads and writes split the messages at other places.
            let executors = [(Int.max, Int.max), (7, 1_000), (900, 11)].map { read, write in
                SocketExecutor.with {
                    if tls != nil { $0.tls = server.clientTLS }
                    if isHTTP2 { $0.httpVersion = .http2PriorKnowledge }
                    $0.maximumConnectionsPerOrigin = 6
                    $0.faults = TransferFaults(longestRead: read, longestWrite: write)
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<24 {
                    group.addTask {
                        var number = worker
                        repeat {
                            let call = try StormCall(number, self.seed, server.baseURL, self.folder)
                            try await self.perform(call, over: executors[worker % executors.count])
                            number += 24
                        } while !end.hasPassed
                    }
                }
                try await group.waitForAll()
            }
            for executor in executors { #expect(executor.waiters == 0) }
        }
        await eventually { openSockets() <= before }
        // Whatever happened, a POST is never executed twice, and nothing else more often than its transmissions allow.
        let repeated = service.executions(above: 1, of: .post) + service.executions(above: isHTTP2 ? 3 : 2)
        #expect(repeated.isEmpty, "calls \(repeated), seed \(seed)")
        let executed = unsent.withLock { $0.filter { service.count(of: $0) > 0 } }
        #expect(executed.isEmpty, "calls \(executed), seed \(seed)")
        let totals = totals.withLock { $0 }
        let counts = totals.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        print("storm: \(counts.joined(separator: ", "))")
        // Half of the responses are correct, and five of six over HTTP/2; on a slow machine, limits end some of them.
        let complete = totals["complete", default: 0]
        #expect(complete * (isHTTP2 ? 2 : 10) > totals.values.reduce(0, +), "seed \(seed)")
    }

    /// Returns the behavior of a response; half of them are correct.
    ///
    /// Over HTTP/2, where many faults end all calls of a connection, five of six are.
    private func behavior(connection: Int, exchange: Int) -> TestServer.Behavior {
        var numbers = SplitMix64(state: seed ^ UInt64(connection) << 20 ^ UInt64(exchange))
        let byte = Int.random(in: 0..<400, using: &numbers)
        var behavior = TestServer.Behavior(
            framing: Bool.random(using: &numbers) ? .automatic : .chunked(sizes: [byte + 1, 3_000]))
        switch Int.random(in: 0..<(isHTTP2 ? 90 : 20), using: &numbers) {
        case 0: behavior.fault = .closeBeforeHead
        case 1: behavior.fault = .resetBeforeHead
        case 2: behavior.fault = .truncateHead(atByte: byte)
        case 3: behavior.fault = .truncateBody(atByte: byte)
        case 4: behavior.fault = .resetBody(atByte: byte)
        case 5: behavior.fault = .stallBody(atByte: byte)
        case 6: behavior.fault = .garbage
        case 7: behavior.fault = .unsolicitedBytes(Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!".utf8))
        case 8: behavior.fault = .unannouncedClose
        case 9: behavior.interim = [.earlyHints]
        case 11:
            behavior.earlyResponse = TestServer.Behavior.EarlyResponse(
                .accepted, announcesClose: Bool.random(using: &numbers),
                next: TestServer.Behavior.EarlyResponse.Continuation.allCases.randomElement(using: &numbers) ?? .reads)
        // Without faults only: the end of such a body cannot be told from a cut.
        case 10: behavior.framing = .untilClose
        case 12 where isHTTP2: behavior.fault = .stallBeforeHead
        // REFUSED_STREAM: the request is not executed.
        case 13 where isHTTP2: behavior.fault = .resetStream(code: 7)
        case 14 where isHTTP2:
            let code = ([0, 2, 8, 11] as [UInt32]).randomElement(using: &numbers) ?? 2
            behavior.fault = .resetStream(code: code, atByte: Bool.random(using: &numbers) ? byte : nil)
        case 15 where isHTTP2:
            behavior.goAway = TestServer.Behavior.GoAway(
                lastStream: Bool.random(using: &numbers) ? nil : 0x7FFF_FFFF, debugText: "end")
        default: break
        }
        return behavior
    }

    private func perform(_ call: StormCall, over executor: SocketExecutor) async throws {
        let task = Task { try await call.result(over: executor) }
        if call.isCancelled {
            for _ in 0..<call.number % 64 { await Task.yield() }
            task.cancel()
        }
        let outcome: String
        do {
            let body = try await task.value
            // The server responds early only to requests with a body, and does not execute them then.
            let isEarly = call.hasBody && body == Data("early".utf8)
            #expect(body == call.expected || isEarly, "call \(call.number), seed \(seed)")
            let count = isEarly ? 0 : 1
            #expect(service.count(of: call.number) == count || !call.isPost, "call \(call.number), seed \(seed)")
            outcome = isEarly ? "early" : "complete"
        } catch let error as RequestError {
            if !error.mayHaveReachedServer { unsent.withLock { $0.append(call.number) } }
            switch error.reason {
            case .cancelled where call.isCancelled: outcome = "cancelled"
            case .connectionLost: outcome = "lost"
            case .protocolViolation: outcome = "violations"
            case .timedOut: outcome = "timed out"
            default:
                outcome = "unexpected"
                Issue.record("call \(call.number), seed \(seed): \(error)")
            }
        }
        totals.withLock { $0[outcome, default: 0] += 1 }
    }
}

/// One call of a storm, and the response that it must have.
private struct StormCall: Sendable {
    let number: Int
    let isPost: Bool
    let isCancelled: Bool
    let expected: Data
    private let request: PreparedRequest

    var hasBody: Bool { !request.body.isNone }

    init(_ number: Int, _ seed: UInt64, _ base: URL, _ folder: TemporaryDirectory) throws {
        self.number = number
        var numbers = SplitMix64(state: seed &+ UInt64(number) &* 0x9E37_79B9)
        let method = [HTTPMethod.get, .post, .put].randomElement(using: &numbers) ?? .get
        let size = [0, 11, 1_000, 100_000].randomElement(using: &numbers) ?? 0
        let content = method == .get ? Data() : DigestService.bytes(Int.random(in: 0...size, using: &numbers), numbers)
        let path = folder.path(of: "\(number)")
        let body: RequestBody
        switch Int.random(in: 0..<3, using: &numbers) {
        case 0 where method != .get:
            try content.write(to: URL(filePath: path + ".up"))
            body = .file(path: path + ".up")
        case 1 where method != .get:
            body = .stream(length: nil, isReplayable: true) { HalvedSource(content) }
        default: body = method == .get ? .none : .bytes(content)
        }
        let delivery = [ResponseBody.Delivery.collected(limit: 1 << 20), .streamed, .file(path: path + ".down")]
        var request = PreparedRequest(
            method: method, target: try TargetURI(base.absoluteString + "/\(number)"), body: body,
            delivery: delivery.randomElement(using: &numbers) ?? .streamed)
        request.timeouts.connect = .seconds(60)
        request.timeouts.firstByte = .seconds(2)
        // Ends the stalled responses.
        request.timeouts.betweenBytes = .milliseconds(500)
        self.request = request
        isPost = method == .post
        isCancelled = Int.random(in: 0..<16, using: &numbers) == 0
        expected = DigestService.response(to: "/\(number)", content)
    }

    /// Performs the call, and returns the body of the response.
    func result(over executor: SocketExecutor) async throws -> Data {
        defer { removeFiles() }
        switch try await executor.execute(request).body {
        case .bytes(let data): return data
        case .stream(let stream): return try await stream.collect()
        case .file(let path): return try Data(contentsOf: URL(filePath: path))
        }
    }

    private func removeFiles() {
        if case .file(let path, _) = request.body { try? FileManager.default.removeItem(atPath: path) }
        if case .file(let path) = request.delivery { try? FileManager.default.removeItem(atPath: path) }
    }
}

/// A source that produces its bytes in two halves.
private struct HalvedSource: RequestBody.Source {
    private var halves: [Data]

    init(_ data: Data) {
        halves = [data.prefix(data.count / 2), data.dropFirst(data.count / 2)]
    }

    mutating func next() async throws -> Data? { halves.isEmpty ? nil : halves.removeFirst() }
}

/// An executor that responds with the digest of the request, and counts the executions.
private final class DigestService: RequestExecutor {
    /// The numbers of the executed calls, with their methods and how often each was executed.
    private let counts = Lock<[Int: (isPost: Bool, count: Int)]>([:])

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        if let number = Int(request.target.path.dropFirst()) {
            counts.withLock { $0[number, default: (request.method == .post, 0)].count += 1 }
        }
        guard case .bytes(let content) = try await request.body.collected() else {
            return RawResponse(
                head: ResponseHead(status: .ok, target: request.target),
                body: .bytes(Self.response(to: request.target.path, Data())))
        }
        return RawResponse(
            head: ResponseHead(status: .ok, target: request.target),
            body: .bytes(Self.response(to: request.target.path, content)))
    }

    func count(of number: Int) -> Int { counts.withLock { $0[number]?.count ?? 0 } }

    /// Returns the numbers of the calls that were executed more than `most` times; with `method`, of POSTs only.
    func executions(above most: Int, of method: HTTPMethod? = nil) -> [Int] {
        counts.withLock { $0.filter { $0.value.count > most && (method == nil || $0.value.isPost) }.map(\.key) }
    }

    /// Returns the response to a request: its path, the digest of its content, and bytes that follow from both.
    static func response(to path: String, _ content: Data) -> Data {
        let digest = content.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
        return Data("\(path) \(content.count) \(digest) ".utf8)
            + bytes(Int(digest % 50_000), SplitMix64(state: digest))
    }

    /// Returns `count` random bytes.
    static func bytes(_ count: Int, _ numbers: SplitMix64) -> Data {
        var numbers = numbers
        var data = Data(capacity: count + 8)
        while data.count < count {
            withUnsafeBytes(of: numbers.next()) { data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }
}

// Calls end at limits of 500 ms, so the speed of the machine decides how many complete.
@Suite("Fault storms", .timeLimit(.minutes(90)))
struct FaultStormTests {
    @Test(
        "calls to a server with random faults receive their own response or a typed error, and no POST is executed twice",
        .rows("R-20", "R-22", "R-42", "R-44"))
    func plain() async {
        let seed = RandomSeed()
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [seed = seed as RandomSeed] in
            try await FaultStorm(seed).run(tls: nil)
        }
        Self.printOutput(of: result)
    }

    @Test(
        "calls over TLS to a server with random faults receive their own response or a typed error, and no POST is executed twice",
        .enabled(if: Secured.isAvailable, Secured.comment), .rows("R-20", "R-22", "R-42", "R-44"))
    func secured() async {
        let seed = RandomSeed()
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [seed = seed as RandomSeed] in
            try await FaultStorm(seed).run(tls: TestServer.TLS())
        }
        Self.printOutput(of: result)
    }

    @Test(
        "calls that share connections of HTTP/2 receive their own response or a typed error, and no POST is executed twice",
        .rows("H-20", "H-21", "H-24"))
    func http2() async {
        let seed = RandomSeed()
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [seed = seed as RandomSeed] in
            try await FaultStorm(seed, usingHTTP2: true).run(tls: nil)
        }
        Self.printOutput(of: result)
    }

    @Test(
        "calls that share connections of HTTP/2 over TLS receive their own response or a typed error, and no POST is executed twice",
        .enabled(if: Secured.isAvailable, Secured.comment), .rows("H-20", "H-21", "H-24"))
    func securedHTTP2() async {
        let seed = RandomSeed()
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [seed = seed as RandomSeed] in
            try await FaultStorm(seed, usingHTTP2: true).run(tls: TestServer.TLS())
        }
        Self.printOutput(of: result)
    }

    /// Prints the counts of a run.
    private static func printOutput(of result: ExitTest.Result?) {
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }
}
