import RequestsMock
import TestSupport
import Testing

@Suite("Verification of mocks", .timeLimit(.minutes(10)))
struct VerificationTests {
    /// A program under test: it waits until a book is available, adds another one, and reads it.
    ///
    /// Each case but the first contains one mistake.
    enum Program: CaseIterable {
        case correct, givesUp, readsTwiceAtFirst, addsTwice, addsNothing, addsOther, readsFirst, readsOther

        func run(_ client: Client<StubbedLibrary>) async throws {
            let latest = StubbedBooks.latest(page: nil)
            if self == .readsFirst { _ = try await client.perform(StubbedBooks.titled("Orlando")) }
            _ = try? await client.perform(latest)
            if self != .givesUp { _ = try? await client.perform(latest) }
            if self == .readsTwiceAtFirst { _ = try? await client.perform(latest) }
            switch self {
            case .addsNothing: break
            case .addsOther: _ = try? await client.perform(StubbedBooks.add(emma))
            case .addsTwice:
                for _ in 0..<2 { _ = try await client.perform(StubbedBooks.add(orlando)) }
            default: _ = try await client.perform(StubbedBooks.add(orlando))
            }
            let title = self == .readsOther ? "Emma" : "Orlando"
            if self != .readsFirst { _ = try? await client.perform(StubbedBooks.titled(title)) }
        }
    }

    @Test(
        "a program with any of these mistakes fails an assertion, and one without them fails none",
        .rows("PM-121", "D-3"), arguments: Program.allCases)
    func mutants(program: Program) async throws {
        for mock in [MockExecutor(), MockExecutor(unmatched: .intercepting)] {
            let latest = mock.on(StubbedBooks.latest(page: nil), respond: .sequence(.status(503), .value(emma)))
            let added = mock.on(StubbedBooks.add(orlando), return: orlando)
            let read = mock.on(StubbedBooks.titled("Orlando"), return: orlando)
            try await program.run(library(mock))
            let result = Result {
                try mock.verify()
                try mock.verify(order: latest, latest, added, read)
            }
            #expect(succeeds { try result.get() } == (program == .correct), "\(result)")
        }
    }

    @Test(
        "verify checks how often a result is used, by its kind and the method", .rows("PM-121"),
        arguments: [
            // The method, the result, and the numbers of calls from 0 to 4 that are accepted.
            (.get, .status(200), [1, 2, 3, 4]), (.put, .status(200), [1, 2, 3, 4]), (.post, .status(200), [1]),
            (.patch, .text("x"), [1]), ("PROPOSE", .json("{}"), [1]),
            (.post, .failure(.connectionLost), [1]), (.post, .fault(.refuse), [1]),
            (.post, .status(200).delayed(by: .seconds(1)), [1]),
            (.post, .file(URL(filePath: "/dev/null")), [1]),
            (.post, .make { _ in .ok() }, [1, 2, 3, 4]),
            (.get, .sequence(.status(200), .status(201)), [2]), (.post, .sequence(.status(200), .status(201)), [2]),
            (.get, .sequence(.status(200), .status(201), repeatsLastResponse: true), [2, 3, 4]),
            (.post, .sequence(.status(200), repeatsLastResponse: true), [1, 2, 3, 4]), (.get, .sequence(), []),
            (.get, .sequence(.status(200), .status(201)).delayed(by: .seconds(1)), [2]),
            (.get, .status(200).failing(with: RequestError(.connectionLost), onCall: 3), [3, 4]),
            (.post, .status(200).with(fault: .refuse, onCall: 1), [1, 2, 3, 4]),
        ] as [(HTTPMethod, MockResult<Void>, [Int])])
    func counts(method: HTTPMethod, result: MockResult<Void>, accepted: [Int]) async throws {
        for unmatched in [MockExecutor.Unmatched.throwing, .intercepting] {
            for count in 0...4 {
                let mock = MockExecutor(unmatched: unmatched, clock: MockClock())
                let optional = MockExecutor(unmatched: unmatched, clock: MockClock())
                let exact = MockExecutor(unmatched: .intercepting, clock: MockClock())
                mock.on(method, "/x", respond: result)
                optional.on(nil, "/x", respond: result).optional()
                exact.on(where: { _ in true }, respond: result).expecting(calls: 2)
                let request = PreparedRequest(method: method, target: try TargetURI("http://host.test/x"))
                for mock in [mock, optional, exact] {
                    for _ in 0..<count { _ = try? await mock.execute(request) }
                }
                let isVerified = { (mock: MockExecutor) in succeeds { try mock.verify() } }
                #expect(isVerified(mock) == accepted.contains(count), "\(count) calls")
                // Without a minimum, but with the same maximum.
                #expect(isVerified(optional) == (count <= accepted.max() ?? 0), "\(count) calls, optional")
                #expect(isVerified(exact) == (count == 2), "\(count) calls of 2")
            }
        }
    }

    @Test("a request with an explicit isIdempotent is counted by it and not by its method", .rows("PM-121"))
    func idempotence() async throws {
        for (method, isIdempotent) in [(HTTPMethod.post, true), (.get, false)] {
            let mock = MockExecutor()
            mock.on(method, "/x", respond: .status(200))
            var request = PreparedRequest(method: method, target: try TargetURI("http://host.test/x"))
            request.isIdempotent = isIdempotent
            for _ in 0..<2 { _ = try await mock.execute(request) }
            #expect(succeeds { try mock.verify() } == isIdempotent)
        }
    }

    @Test(
        "the order of calls is verified with stubs that are called and named several times", .rows("PM-123"),
        arguments: [
            ("xyx", ["", "x", "y", "xx", "xy", "xyx"]), ("xxy", ["", "x", "y", "xx", "xy", "xxy"]),
            ("yxy", ["", "x", "y", "yx", "yxy", "yy"]), ("xy", ["", "x", "y", "xy"]), ("", [""]),
            ("xxyxy", ["", "x", "y", "xx", "xy", "yy", "xxx", "xxy", "xyx", "xyy", "xyxy", "xxyx", "xxyy", "xxyxy"]),
            ("x?x", ["", "x", "xx"]),
        ])
    func order(calls: String, accepted: [String]) async throws {
        // Also without a record of the requests.
        for mock in [MockExecutor(), MockExecutor().recording(.none)] {
            let (x, y) = (mock.on(.get, "/x", respond: .status(200)), mock.on(.get, "/y", respond: .status(200)))
            for call in calls {
                _ = try? await mock.execute(PreparedRequest(target: try TargetURI("http://host.test/\(call)")))
            }
            let orders = (0..<64).map { number in
                // All orders of up to five names, each from the digits of a number that begins with 1.
                String(String(number, radix: 2).dropFirst()).map { $0 == "0" ? "x" : "y" }.joined()
            }
            for order in Set(orders) {
                let stubs = order.map { $0 == "x" ? x : y }
                #expect(succeeds { try mock.verify(stubs) } == accepted.contains(order), "\(order) of \(calls)")
            }
        }
    }

    @Test("the report names each difference and the way to expect it", .rows("PM-121"))
    func report() async throws {
        let mock = MockExecutor(unmatched: .intercepting)
        mock.on(.get, "/a", respond: .sequence(.status(200), .status(200), .status(200)), line: 1)
        mock.on(.post, "/b", respond: .status(200), line: 2)
        mock.on(.get, "/c", respond: .sequence(.status(200)), line: 3)
        mock.on(.get, "//[/d", respond: .status(200), line: 4)
        mock.on(.get, "/e", respond: .status(200).with(fault: .refuse, onCall: 2), line: 5)
        for (method, path) in [("GET", "a"), ("POST", "b"), ("POST", "b"), ("GET", "c"), ("GET", "c"), ("GET", "e")] {
            let target = try TargetURI("http://host.test/\(path)")
            _ = try await mock.execute(PreparedRequest(method: HTTPMethod(method), target: target))
        }
        let error = #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
        let place = "at RequestsMockTests/VerificationTests.swift"
        #expect(
            error?.description == """
                unused results: expected 3 calls: GET “/a” \(place):1, called once
                repeated request: one result permits one request that is not idempotent; use expecting(calls:) to expect \
                more: POST “/b” \(place):2, called twice
                more calls than results: GET “/c” \(place):3, called twice
                unused stub: GET “//[/d” \(place):4, called 0 times: it never matches: the pattern is malformed: “//[” \
                has an invalid host
                unused results: expected 2 calls: GET “/e” \(place):5, called once
                """)
    }
}

/// Returns whether `operation` throws no error.
private func succeeds(_ operation: () throws -> Void) -> Bool { (try? operation()) != nil }

extension MockExecutor {
    /// Checks the order of up to five stubs, because an array cannot be passed as variadic arguments.
    fileprivate func verify(_ stubs: [MockStub]) throws(VerificationError) {
        switch stubs.count {
        case 0: break
        case 1: try verify(order: stubs[0])
        case 2: try verify(order: stubs[0], stubs[1])
        case 3: try verify(order: stubs[0], stubs[1], stubs[2])
        case 4: try verify(order: stubs[0], stubs[1], stubs[2], stubs[3])
        default: try verify(order: stubs[0], stubs[1], stubs[2], stubs[3], stubs[4])
        }
    }
}
