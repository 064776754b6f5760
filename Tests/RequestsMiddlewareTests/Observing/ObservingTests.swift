@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Observing", .serialized, .timeLimit(.minutes(10)))
struct ObservingTests {
    private let api = AnonymousRequestProvider("http://e.com")

    @Test(
        "a request has one beginning and one end, with its status, duration and bytes both ways", .rows("PM-111"),
        arguments: Transport.allCases, CallForm.allCases)
    func complete(transport: Transport, form: CallForm) async throws {
        let served = MockExecutor { request in
            guard case .bytes(let body) = request.body else { return .status(400) }
            return .data(body + body, contentType: .plainText)
        }
        try await transport.run(serving: served) { api, executor in
            let log = SharedLog()
            let observed = executor.observing(.attempts, by: RecordingObserver("a", log: log))
            let body = Data(repeating: 0x61, count: 1000)
            let request = api.post(.raw(data: body, contentType: "text/plain"), to: "/x", receiving: .text)
            #expect(try await form.response(for: request, over: observed).value.utf8.count == 2000)
            #expect(log.steps == ["a begin", "a end"])
            let report = try #require(log.reports.first)
            #expect(report.result == "complete" && report.response?.status == 200 && report.seat == .attempts)
            #expect(report.requestBodyLength == 1000 && report.responseBodyLength == 2000)
            #expect(report.duration > .zero && report.body == Data("aaaa".utf8) && !report.isStreamed)
        }
    }

    @Test(
        "a streamed body ends its request when it is read, released or fails, with the bytes until then",
        .rows("PM-111"),
        arguments: Transport.allCases)
    func streamed(transport: Transport) async throws {
        let served = MockExecutor { request in
            if request.target.path.hasSuffix("cut") {
                return MockResponse(
                    header: [Field(name: .contentLength, value: "10")],
                    body: [.bytes(Data("four".utf8)), .failure(RequestError(.connectionLost))])
            }
            return .chunks([Data("four".utf8), Data("more".utf8)])
        }
        try await transport.run(serving: served) { api, executor in
            for (path, reads, result, count) in [
                ("whole", true, "complete", 8), ("released", false, "abandoned", 0), ("cut", true, "failed", 4),
            ] {
                let log = SharedLog()
                let observed = executor.observing(.calls, by: RecordingObserver("a", log: log))
                try await read(observed.execute(streamedRequest(api, path)), reads, log)
                #expect(log.steps == ["a begin", "a head", "a end"], "\(path)")
                let report = try #require(log.reports.first)
                #expect(report.result == result && report.isStreamed, "\(path)")
                // URLSession delivers what has arrived before a cut only if it arrived early enough.
                if path != "cut" || transport != .urlSession { #expect(report.responseBodyLength == count) }
                if path == "whole" { #expect(report.body == Data("four".utf8)) }
            }
        }
    }

    /// Reads the body of `response` to its end, or releases it.
    private func read(_ response: RawResponse, _ reads: Bool, _ log: SharedLog) async throws {
        guard case .stream(let stream) = response.body else { throw RequestError(.other) }
        #expect(log.steps == ["a begin", "a head"])
        guard reads else { return }
        do throws(RequestError) {
            while try await stream.next() != nil {}
            #expect(try await stream.next() == nil)
        } catch {
            // A second error is no second end.
            _ = await failure { () async throws(RequestError) in try await stream.next() }
        }
    }

    @Test("a failed and a cancelled request end with their error", .rows("PM-111"), arguments: Transport.allCases)
    func failing(transport: Transport) async throws {
        let began = AsyncStream<Void>.makeStream()
        let served = MockExecutor { _ in
            began.continuation.yield()
            return MockResponse.ok("x").delayed(by: .endless)
        }
        try await transport.run(serving: served) { api, executor in
            let log = SharedLog()
            let observed = executor.observing(.calls, by: RecordingObserver("a", log: log))
            let task = Task { try await observed.perform(api.get(.text, from: "/x")) }
            for await _ in began.stream { break }
            task.cancel()
            _ = await task.result
            #expect(log.reports.map(\.result) == ["cancelled"] && log.steps == ["a begin", "a end"])
            let refused = try PreparedRequest(url: URL("http://e.com/x"), header: [Field(name: "A", value: "\n")])
            _ = await failure { () async throws(RequestError) in try await observed.execute(refused) }
            #expect(log.reports.map(\.result) == ["cancelled", "failed"])
            #expect(log.reports.last?.requestBodyLength == 0 && log.reports.last?.metrics == nil)
        }
    }

    @Test("of several observers the first is outermost, and one without interest receives nothing")
    func order() async throws {
        struct Uninterested: Observing.Observer {
            func begin(_ observation: inout Observing.Observation) -> Observing.Handler? { nil }
        }
        let log = SharedLog()
        let executor = MockExecutor(.ok("x"))
            .observing(
                .calls, by: RecordingObserver("1", log: log), Uninterested(), RecordingObserver("2", log: log))
        #expect(try await executor.perform(api.get(.text, from: "/x")) == "x")
        #expect(log.steps == ["1 begin", "2 begin", "2 end", "1 end"])
    }

    @Test("observers inside a retry see each attempt, and observers outside see one request", .rows("PM-111"))
    func seats() async throws {
        let (attempts, calls) = (RecordingObserver(), RecordingObserver())
        let script = ResponseScript(.status(503), .status(503), .json("[1]"))
        let executor = script.executor.observing(.attempts, by: attempts)
            .retrying(
                .retryNetworkFailureOrServiceUnavailable(with: .retryTwiceWithDefaultDelay),
                clock: ManualClock().clock()
            )
            .observing(.calls, by: calls)
        #expect(try await executor.perform(api.get(.json([Int].self), from: "/x")) == [1])
        #expect(attempts.reports.map(\.resendCount) == [0, 1, 2])
        #expect(attempts.reports.map { $0.response?.status.code } == [503, 503, 200])
        #expect(calls.reports.count == 1 && calls.reports[0].metrics?.retries.count == 2)
        #expect(calls.reports[0].resendCount == 0)
        // Another call counts from 0.
        _ = try await executor.perform(api.get(.json([Int].self), from: "/x"))
        #expect(attempts.reports.last?.resendCount == 0)
    }

    @Test("a redirect begins another request, whose number includes the redirect")
    func redirects() async throws {
        let log = RecordingObserver()
        let served = MockExecutor { request in
            request.target.path.hasSuffix("b") ? .ok("x") : .redirect(to: "/b")
        }
        let executor = served.observing(.attempts, by: log).retrying().observing(.calls, by: RecordingObserver())
        #expect(try await executor.perform(api.get(.text, from: "/a")) == "x")
        #expect(log.reports.map(\.resendCount) == [0, 1])
        #expect(log.reports.map { $0.response?.status.code } == [302, 200])
    }

    @Test("an observer of reports is free without a function, and silent after it was removed", .rows("PM-111"))
    func replaceable() async throws {
        let collected = Collected<Int?>()
        let reports = Observing.Reports()
        let executor = MockExecutor { request in
            if request.target.path.hasSuffix("clear") { reports.handler = nil }
            return .ok("x")
        }.observing(.attempts, by: reports)
        func perform(_ path: String) async throws {
            _ = try await executor.perform(api.get(.text, from: "/\(path)"))
        }
        try await perform("a")
        reports.handler = { collected.add($0.response?.status.code) }
        try await perform("b")
        try await perform("clear")
        try await perform("c")
        #expect(collected.elements == [200])
        // A request that began without a function is not reported to a later one.
        let late = MockExecutor { _ in
            reports.handler = { _ in collected.add(nil) }
            return .ok("x")
        }.observing(.attempts, by: reports)
        _ = try await late.perform(api.get(.text, from: "/x"))
        #expect(collected.elements == [200])
    }

    @Test("without a function, nothing is measured: no handler is created, and no clock is read", .rows("PM-111"))
    func unmeasured() async throws {
        let reads = Lock(0)
        let clock = Retrying.Clock(
            now: {
                reads.withLock { $0 += 1 }
                return .now
            },
            date: {
                reads.withLock { $0 += 1 }
                return Date()
            }, sleep: { _ in }, random: { 0 })
        let (collected, reports) = (Collected<Int?>(), Observing.Reports())
        let request = try preparedRequest()
        var observation = Observing.Observation(of: request, at: .attempts)
        #expect(reports.begin(&observation) == nil && observation.bodyLimit == 0)
        // Other observers of the same kind do not change that.
        let executor = MockExecutor(.ok("x")).observing(.attempts, by: reports, Observing.Reports(), clock: clock)
        _ = try await executor.execute(request)
        #expect(reads.withLock(\.self) == 0)
        reports.handler = { collected.add($0.response?.status.code) }
        #expect(reports.begin(&observation) != nil)
        _ = try await executor.execute(request)
        #expect(reads.withLock(\.self) > 0 && collected.elements == [200])
        reports.handler = nil
        #expect(reports.begin(&observation) == nil)
    }

    @Test(
        "the socket executor measures every stage of an attempt, and says that a connection was reused", .rows("PM-111")
    )
    func phases() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hello"))) { server in
            let observer = RecordingObserver()
            let executor = SocketExecutor().observing(.attempts, by: observer)
            let request = AnonymousRequestProvider(baseURL: server.baseURL).get(.text, from: "/x")
            for _ in 0..<2 { #expect(try await executor.perform(request) == "hello") }
            let (first, second) = (try #require(observer.reports.first), try #require(observer.reports.last))
            let phases = try #require(first.phases)
            let times = [phases.connecting, phases.sending, phases.waiting, phases.receiving]
            let sum = times.reduce(phases.lookup ?? .zero) { $0 + ($1 ?? .zero) }
            #expect(times.allSatisfy { $0 != nil } && phases.securing == nil)
            #expect(sum <= first.duration && sum > .zero)
            #expect(first.metrics?.isReusedConnection == false && second.metrics?.isReusedConnection == true)
            #expect(second.phases?.connecting == nil && second.phases?.waiting != nil)
        }
    }

    @Test("stages are never negative, and unknown ones are nil")
    func stageTable() {
        var metrics = RawResponse.Metrics()
        #expect(Observing.Phases(metrics).waiting == nil)
        metrics.timeToLookup = .milliseconds(1)
        metrics.timeToConnect = .milliseconds(3)
        metrics.timeToTLS = .milliseconds(7)
        metrics.timeToRequestSent = .milliseconds(8)
        metrics.timeToFirstByte = .milliseconds(6)
        metrics.timeToEnd = .milliseconds(20)
        let phases = Observing.Phases(metrics)
        #expect(phases.lookup == .milliseconds(1) && phases.connecting == .milliseconds(2))
        #expect(phases.securing == .milliseconds(4) && phases.sending == .milliseconds(1))
        #expect(phases.waiting == .zero && phases.receiving == .milliseconds(14))
    }

    @Test(
        "inside the decoding of contents, observers see the encoded bytes, and outside the decoded ones",
        .rows("PM-111"))
    func coded() async throws {
        #expect(MockExecutor(.ok()).observing(.attempts, by: RecordingObserver()).traits == MockExecutor(.ok()).traits)
        let socket = SocketExecutor().observing(.attempts, by: RecordingObserver()).traits
        #expect(socket.contains(.streamsEncodedBodies))
        let content = Data(repeating: 0x61, count: 10_000)
        guard let coding = Coding.available.first, let encoded = coding.apply(to: content) else { return }
        let served = MockExecutor { _ in
            MockResponse(header: [Field(name: .contentEncoding, value: coding.name)], body: [.bytes(encoded)])
        }
        try await withTestServer(serving: served) { server in
            let (inside, outside) = (RecordingObserver(), RecordingObserver())
            let executor = SocketExecutor().observing(.attempts, by: inside).decodingContent()
                .observing(.calls, by: outside)
            let request = AnonymousRequestProvider(baseURL: server.baseURL).get(.data, from: "/x")
            let received = try await executor.perform(request)
            #expect(received == content)
            #expect(inside.reports.map(\.responseBodyLength) == [encoded.count])
            #expect(outside.reports.map(\.responseBodyLength) == [content.count])
            #expect(inside.reports[0].request.header.contains(.acceptEncoding))
            #expect(outside.reports[0].metrics?.contentEncoding == coding.name)
        }
    }

    @Test(
        "many tasks that read, release and cancel streams have as many ends as beginnings", .rows("T-89"),
        .tags(.concurrent))
    func storm() async throws {
        let log = SharedLog()
        let activity = ActivityCounter()
        let served = MockExecutor(.chunks([Data("four".utf8), Data("more".utf8), Data("last".utf8)]))
        let executor = served.observing(.calls, by: activity, RecordingObserver("a", log: log))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    guard let request = try? streamedRequest(api), let response = try? await executor.execute(request),
                        case .stream(let stream) = response.body
                    else { return }
                    switch number % 3 {
                    case 0: while let chunk = try? await stream.next(), !chunk.isEmpty {}
                    case 1: _ = try? await stream.next()
                    default:
                        // Two readers at once: one of them fails, and the body ends once.
                        async let other = stream.collect()
                        _ = try? await stream.collect()
                        _ = try? await other
                    }
                }
                if number % 7 == 0 { group.addTask { _ = activity.count } }
            }
        }
        #expect(log.reports.count == 400 && log.steps.filter { $0 == "a begin" }.count == 400)
        #expect(activity.count == 0)
    }
}
