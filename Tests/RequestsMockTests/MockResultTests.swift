@_spi(Lock) import Requests
import RequestsMock
import TestSupport
import Testing

@Suite("Results of stubs", .timeLimit(.minutes(10)))
struct MockResultTests {
    private let api = AnonymousRequestProvider("http://host.test")

    /// Returns the statuses, or the reasons of the errors, of `count` calls.
    private func outcomes(_ count: Int, _ mock: MockExecutor) async -> [String] {
        var outcomes: [String] = []
        for _ in 0..<count {
            do throws(RequestError) {
                outcomes.append("\(try await mock.response(for: api.get(.none, from: "/x")).status.code)")
            } catch {
                outcomes.append(error.status.map { "\($0.code)" } ?? "\(error.reason)")
            }
        }
        return outcomes
    }

    @Test(
        "a sequence ends with a 500 in an intercepting mock, unless it repeats its last result", .rows("PM-121", "T-67")
    )
    func sequences() async throws {
        let mock = MockExecutor(unmatched: .intercepting)
        mock.on(.get, "/x", respond: .sequence(.status(201), .status(202)))
        #expect(await outcomes(3, mock) == ["201", "202", "500"])
        let error = await requestError { try await mock.perform(api.get(.none, from: "/x")) }
        #expect(error?.body == Data("Mock sequence exhausted".utf8))
        #expect(error?.response?.header[.contentType] == "text/plain; charset=utf-8")
        #expect(error?.response?.isInterceptedByMock == true)
        let repeating = MockExecutor()
        repeating.on(.get, "/x", respond: .sequence(.status(201), .status(202), repeatsLastResponse: true))
        #expect(await outcomes(4, repeating) == ["201", "202", "202", "202"])
        try repeating.verify()
    }

    @Test("a response with a status can have a header, whose Content-Type replaces that of the text")
    func header() async throws {
        let mock = MockExecutor()
        #expect("\(mock)" == "MockExecutor (stubs: 0, requests: 0)")
        let header: Header = [Field(name: .retryAfter, value: "3"), .contentType(.json)]
        mock.on(
            .get, "/x", respond: .sequence(.status(429, header: header), .status(400, "[1]", header: header)))
        let request = api.get(.data, from: "/x").validating(.none)
        let (empty, text) = (try await mock.response(for: request), try await mock.response(for: request))
        #expect(empty.status == 429 && empty.header[.retryAfter] == "3" && empty.value.isEmpty)
        #expect(text.header.values(of: .contentType) == ["application/json"] && text.value == Data("[1]".utf8))
        #expect(text.status == 400 && text.header[.retryAfter] == "3")
        let plain = MockResponse.status(404, "no", header: [Field(name: .retryAfter, value: "3")])
        #expect(plain.header[.contentType] == "text/plain; charset=utf-8" && plain.header[.retryAfter] == "3")
        #expect("\(mock)" == "MockExecutor (stubs: 1, requests: 2)")
    }

    @Test("a strict mock reports the end of a sequence as an error")
    func exhausted() async throws {
        let mock = MockExecutor()
        mock.on(.get, "/x", respond: .sequence(.status(201)))
        #expect(await outcomes(2, mock) == ["201", "request failed"])
        let empty = MockExecutor()
        empty.on(.get, "/x", respond: .sequence([], repeatsLastResponse: true))
        #expect(await outcomes(1, empty) == ["request failed"])
    }

    @Test("the call with a number can fail, by an error or a fault")
    func numbered() async throws {
        let mock = MockExecutor()
        mock.on(
            .get, "/x",
            respond: .status(200).failing(with: RequestError(.hostNotFound), onCall: 2).with(
                fault: .refuse, onCall: 3))
        let expected = ["200", "could not resolve the host name", "could not connect", "200"]
        #expect(await outcomes(4, mock) == expected)
    }

    @Test("texts, data, JSON and files have their content types", .rows("PM-120"))
    func bodies() async throws {
        let folder = TemporaryDirectory()
        try folder.write("[7]".utf8, to: "file.json")
        let file = URL(filePath: folder.path(of: "file.json"))
        let mock = MockExecutor()
        mock.on(.get, "/text", respond: .text("hello"))
        mock.on(.get, "/json", respond: .json("[1, 2]", status: 201))
        mock.on(.get, "/file", respond: .file(file))
        mock.on(.get, "/gone", respond: .file(file.appending(path: "gone")))
        let text = try await mock.response(for: api.get(.text, from: "/text"))
        #expect(text.value == "hello")
        #expect(text.header[.contentType] == "text/plain; charset=utf-8")
        #expect(text.header[.contentLength] == "5")
        #expect(try await mock.perform(api.get(.json([Int].self), from: "/json")) == [1, 2])
        #expect(try await mock.perform(api.get(.json([Int].self), from: "/file")) == [7])
        #expect(
            await requestError { try await mock.perform(api.get(.none, from: "/gone")) }?.reason == .fileAccessFailed)
    }

    @Test(
        "a fault ends the call with the reason that a real one has",
        arguments: [
            (.refuse, .connectionFailed), (.cut(afterBytes: 4), .connectionLost),
            (.cut(afterBytes: -1), .connectionLost),
            (.garbage, .protocolViolation), (.stall, .timedOut(.firstByte)), (.cut(afterBytes: 26), nil),
            (.drip(bytes: 0, every: .seconds(1)), nil),
            (.drip(bytes: 1, every: .seconds(61)), .timedOut(.betweenBytes)),
        ] as [(MockExecutor.Fault, RequestError.Reason?)])
    func faults(fault: MockExecutor.Fault, reason: RequestError.Reason?) async throws {
        let mock = MockExecutor(clock: MockClock())
        mock.on(.get, "/x", respond: .fault(fault))
        let error = await requestError { try await mock.perform(api.get(.data, from: "/x")) }
        #expect(error?.reason == reason)
        if case .cut(4) = fault { #expect(error?.body == Data("abcd".utf8)) }
        if fault == .refuse { #expect(error?.mayHaveReachedServer == false) }
    }

    @Test("a dripping body arrives in chunks, with pauses on the clock of the mock")
    func drip() async throws {
        let clock = MockClock()
        let mock = MockExecutor(clock: clock)
        mock.on(.get, "/x", respond: .text("abcdefg").with(fault: .drip(bytes: 3, every: .seconds(10))))
        var chunks: [Data] = []
        for try await chunk in try await mock.perform(api.get(.chunks, from: "/x")) { chunks.append(chunk) }
        #expect(chunks == ["abc", "def", "g"].map { Data($0.utf8) })
        #expect(clock.elapsed == .seconds(20))
    }

    @Test("a delay on an injected clock takes no time, and the limits of the request apply to it", .rows("T-70"))
    func clock() async throws {
        let clock = MockClock()
        let mock = MockExecutor(clock: clock)
        mock.on(.get, "/x", respond: .status(200).delayed(by: .seconds(30)))
        try await mock.perform(api.get(.none, from: "/x"))
        #expect(clock.elapsed == .seconds(30))
        let impatient = api.get(.none, from: "/x").timeout(after: 10)
        #expect(await requestError { try await mock.perform(impatient) }?.reason == .timedOut(.firstByte))
        #expect(clock.elapsed == .seconds(40))
    }

    @Test("a delay in real time lasts at least as long, and a cancelled one ends the call", .rows("PM-129", "T-70"))
    func delay() async throws {
        let mock = MockExecutor()
        mock.on(.get, "/x", respond: .status(200).delayed(by: .milliseconds(10)))
        let start = ContinuousClock.now
        // Other tests can occupy the threads of the pool for longer than the limits.
        try await mock.perform(api.get(.none, from: "/x").with(timeouts: Timeouts(connect: nil, firstByte: nil)))
        #expect(.now - start >= .milliseconds(10))
        let arrived = AsyncStream.makeStream(of: Void.self)
        mock.on(.get, "/endless") { _, _ in
            arrived.continuation.finish()
            return .ok("ignored").delayed(by: .endless)
        }
        let task = Task { try await mock.perform(api.get(.text, from: "/endless")) }
        for await _ in arrived.stream {}
        task.cancel()
        #expect(await requestError { try await task.value }?.reason == .cancelled)
    }

    @Test("each result of a sequence is used once by concurrent calls", .rows("PM-121"))
    func concurrentSequence() async throws {
        let mock = MockExecutor()
        mock.on(.get, "/x", respond: .sequence((0..<100).map { .text("\($0)") }))
        let values = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await mock.perform(api.get(.text, from: "/x")) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(values == Set((0..<100).map(String.init)))
    }

    @Test("a clock that has slept for the longest durations neither overflows nor goes back")
    func longestSleeps() async throws {
        let clock = MockClock()
        for _ in 0..<100 { try await clock.sleep(for: .seconds(Int64.max)) }
        let end = clock.elapsed
        try await clock.sleep(for: .seconds(Int64.min))
        #expect(clock.elapsed == end && end == .seconds(Int64(1) << 60))
    }

    @Test("the state of a stub counts 100 concurrent calls", .rows("PM-122", "T-70"))
    func state() async throws {
        let mock = MockExecutor()
        let stub = mock.on(.get, "/count", state: 0) { count, _, _ in
            count += 1
            return .ok("\(count)")
        }
        let values = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await mock.perform(api.get(.text, from: "/count")) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(values == Set((1...100).map(String.init)))
        #expect(stub.callCount == 100)
    }
}
