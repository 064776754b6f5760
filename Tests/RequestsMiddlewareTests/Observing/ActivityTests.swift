@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Activity counter", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct ActivityTests {
    private let api = AnonymousRequestProvider("http://e.com")

    @Test(
        "the count that the server sees is 1 during both attempts of a request, and 0 at the end",
        .rows("T-89", "PM-112"),
        arguments: Transport.allCases)
    func attempts(transport: Transport) async throws {
        let activity = ActivityCounter()
        let (seen, reported) = (Collected<Int>(), Collected<Int>())
        activity.handler = { reported.add($0) }
        let served = MockExecutor { _ in
            seen.add(activity.count)
            return seen.elements.count == 1 ? .status(503) : try .json([1])
        }
        try await transport.run(serving: served) { api, executor in
            let observed = executor.retrying(.retryNetworkFailureOrServiceUnavailable(with: .retryOnce))
                .observing(.calls, by: activity)
            let value = try await observed.perform(api.get(.json([Int].self), from: "/x"))
            #expect(value == [1] && activity.count == 0)
        }
        #expect(seen.elements == [1, 1] && reported.elements == [1, 0])
    }

    @Test(
        "a handler set while a request runs is called at once, and one set while none runs is not",
        .rows("T-89", "PM-112"),
        arguments: Transport.allCases)
    func replaced(transport: Transport) async throws {
        let activity = ActivityCounter()
        let (first, second) = (Collected<Int>(), Collected<Int>())
        activity.handler = { first.add($0) }
        let served = MockExecutor { request in
            if request.target.path.hasSuffix("first") { activity.handler = { second.add($0) } }
            return .ok("x")
        }
        try await transport.run(serving: served) { api, executor in
            let observed = executor.observing(.calls, by: activity)
            let text = try await observed.perform(api.get(.text, from: "/first"))
            #expect(text == "x")
            #expect(first.elements == [1] && second.elements == [1, 0])
            let third = Collected<Int>()
            activity.handler = { third.add($0) }
            #expect(third.elements.isEmpty)
            activity.handler = nil
            _ = try await observed.perform(api.get(.text, from: "/second"))
            #expect(third.elements.isEmpty && second.elements == [1, 0])
        }
    }

    @Test(
        "a request that is excluded does not change the count", .rows("T-89", "PM-112"), arguments: Transport.allCases)
    func excluded(transport: Transport) async throws {
        let activity = ActivityCounter()
        let (seen, reported) = (Collected<Int>(), Collected<Int>())
        activity.handler = { reported.add($0) }
        let served = MockExecutor { _ in
            seen.add(activity.count)
            return .ok("x")
        }
        try await transport.run(serving: served) { api, executor in
            let observed = executor.observing(.calls, by: activity)
            _ = try await observed.perform(api.get(.text, from: "/x").countingActivity(false))
            _ = try await observed.perform(api.get(.text, from: "/x").countingActivity(false).countingActivity())
        }
        #expect(seen.elements == [0, 1] && reported.elements == [1, 0])
    }

    @Test("counters among other observers count alike, and attempts are numbered with a counter alone", .rows("PM-112"))
    func besideOthers() async throws {
        struct Marking: Observing.Observer {
            func begin(_ observation: inout Observing.Observation) -> Observing.Handler? {
                observation.fields.set(Field(name: "X-Mark", value: "1"))
                return nil
            }
        }
        let (first, second, log) = (ActivityCounter(), ActivityCounter(), SharedLog())
        let seen = Collected<[String]>()
        let served = MockExecutor { request in
            seen.add(["\(first.count)", "\(second.count)", request.header["X-Mark"] ?? "none"])
            return .chunks([Data("a".utf8)])
        }
        let (recording, marking) = (RecordingObserver("r", log: log), Marking())
        let chains: [([any Observing.Observer], [String])] = [
            ([first], ["1", "0", "none"]), ([first, second], ["1", "1", "none"]), ([marking, first], ["1", "0", "1"]),
            ([first, marking, second], ["1", "1", "1"]), ([first, recording, second], ["1", "1", "none"]),
            ([first, marking, recording], ["1", "0", "1"]), ([recording, first], ["1", "0", "none"]),
            ([first, first], ["2", "0", "none"]),
        ]
        for (observers, expected) in chains {
            let executor = served.intercepted(by: Observing(.calls, by: observers))
            for isStreamed in [false, true] {
                let request = try isStreamed ? streamedRequest(api) : api.get(.text, from: "/x").prepared()
                let response = try await executor.execute(request)
                #expect(seen.elements.last == expected && first.count == (isStreamed ? Int(expected[0]) : 0))
                if case .stream(let stream) = response.body { while try await stream.next() != nil {} }
                #expect(first.count == 0 && second.count == 0)
            }
        }
        #expect(log.steps.count { $0 == "r begin" } == 6 && log.steps.count { $0 == "r end" } == 6)
        let script = ResponseScript(.status(503), .json("[1]"))
        let attempts = RecordingObserver()
        let executor = script.executor.observing(.attempts, by: attempts)
            .retrying(.retryNetworkFailureOrServiceUnavailable(with: .retryOnce)).observing(.calls, by: first)
        #expect(try await executor.perform(api.get(.json([Int].self), from: "/x")) == [1])
        #expect(attempts.reports.map(\.resendCount) == [0, 1])
    }

    @Test(
        "the count includes a streamed body until it is read or released, and a failure and a cancellation end it",
        .rows("T-89"),
        arguments: Transport.allCases)
    func ends(transport: Transport) async throws {
        let activity = ActivityCounter()
        let began = AsyncStream<Void>.makeStream()
        let served = MockExecutor { request in
            guard request.target.path.hasSuffix("endless") else { return .chunks([Data("a".utf8), Data("b".utf8)]) }
            began.continuation.yield()
            return MockResponse.ok("x").delayed(by: .endless)
        }
        try await transport.run(serving: served) { api, executor in
            let observed = executor.observing(.calls, by: activity)
            do {
                let response = try await observed.execute(streamedRequest(api))
                guard case .stream(let stream) = response.body else { throw RequestError(.other) }
                #expect(activity.count == 1)
                while try await stream.next() != nil {}
                #expect(activity.count == 0)
            }
            do {
                let response = try await observed.execute(streamedRequest(api))
                #expect(activity.count == 1)
                withExtendedLifetime(response) {}
            }
            #expect(activity.count == 0)
            let task = Task { try await observed.perform(api.get(.text, from: "/endless")) }
            for await _ in began.stream { break }
            #expect(activity.count == 1)
            task.cancel()
            _ = await task.result
            #expect(activity.count == 0)
        }
    }

    @Test(
        "under many concurrent requests the last reported count is 0, and calls of the handler do not overlap",
        .rows("PM-112"))
    func concurrent() async throws {
        let activity = ActivityCounter()
        let state = Lock((isRunning: false, overlaps: 0, last: -1, least: 0))
        activity.handler = { count in
            let overlaps = state.withLock { state in
                defer { state.isRunning = true }
                return state.isRunning
            }
            // The handler may use the counter.
            let least = min(count, activity.count)
            state.withLock { state in
                state.isRunning = false
                state.last = count
                state.least = min(state.least, least)
                if overlaps { state.overlaps += 1 }
            }
        }
        let executor = MockExecutor(.ok("x")).observing(.calls, by: activity)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask { _ = try? await executor.perform(api.get(.text, from: "/x")) }
            }
        }
        // A thread that reports for others may still do so.
        while state.withLock({ $0.last }) != 0 { await Task.yield() }
        let result = state.withLock { $0 }
        #expect(result.overlaps == 0 && result.least == 0 && activity.count == 0)
    }

    @Test("a change during a call of the handler is reported after that call", .rows("PM-112"))
    func nested() throws {
        let activity = ActivityCounter()
        let request = try preparedRequest()
        let state = Lock((depth: 0, deepest: 0, counts: [Int]()))
        activity.handler = { count in
            state.withLock { state in
                state.depth += 1
                state.deepest = max(state.deepest, state.depth)
                state.counts.append(count)
            }
            if count == 1 {
                var observation = Observing.Observation(of: request, at: .calls)
                _ = activity.begin(&observation)
            }
            state.withLock { $0.depth -= 1 }
        }
        var observation = Observing.Observation(of: request, at: .calls)
        _ = activity.begin(&observation)
        #expect(state.withLock { $0.counts } == [1, 2] && state.withLock { $0.deepest } == 1)
    }

    @Test(
        "a stream of counts begins with the present one, keeps the newest, and ends with the counter", .rows("PM-112"))
    func stream() async throws {
        var activity: ActivityCounter? = ActivityCounter()
        let executor = try MockExecutor(.ok("x")).observing(.calls, by: #require(activity))
        var counts = try #require(activity).counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        _ = try await executor.perform(api.get(.text, from: "/x"))
        #expect(await counts.next() == 0)
        activity = nil
        let ended = try await Self.streamOfReleasedCounter()
        #expect(ended == [0])
    }

    private static func streamOfReleasedCounter() async throws -> [Int] {
        let counts = ActivityCounter().counts
        return await counts.reduce(into: []) { $0.append($1) }
    }
}
