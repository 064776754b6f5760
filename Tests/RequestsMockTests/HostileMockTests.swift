import RequestsMock
import TestSupport
import Testing

/// An API whose requests contain secrets in all places.
private enum SecretAPI: RequestProviding {
    case first, second

    var secret: String { self == .first ? "hunter2-first" : "hunter2-second" }
    var baseURL: URL { URL("https://secret.test") }
}

private struct SecretEndpoint: Endpoint {
    let secret: String

    func request(from api: SecretAPI) -> Request<SecretAPI, String> {
        api.post(.json(["password": secret, "note": "note \(secret)"]), to: "/login/\(secret)", receiving: .text)
            .adding(queryItem: ("access_token", secret))
            .adding(headerField: .authorization(bearerToken: secret))
            .adding(headerField: Field(name: "X-API-Key", value: secret))
    }
}

@Suite("Hostile use of mocks", .timeLimit(.minutes(10)))
struct HostileMockTests {
    @Test("no report contains a secret from the request or a stub")
    func secrets() async throws {
        let mock = MockExecutor()
        mock.on(SecretEndpoint(secret: "hunter2-stub"), return: "x")
        mock.on(.get, "https://secret.test/a?token=hunter2-pattern", respond: .status(200))
        mock.on(.get, "https://user:hunter2-user@secret.test/a", respond: .status(200))
        let client = Client(SecretAPI.first, executor: mock)
        let error = try #require(
            await requestError { try await client.perform(SecretEndpoint(secret: "hunter2-request")) })
        let verification = #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", error.debugDescription, dumped, "\(try #require(verification))"] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
        #expect("\(error)".contains("body.password: expected <redacted>, received <redacted>"))
    }

    @Test("10,000 stubs of each kind, of which the newest and the oldest respond", .notInstrumented("one thread"))
    func manyStubs() async throws {
        let mock = MockExecutor()
        for number in 0..<10_000 {
            mock.on(StubbedBooks.titled("T\(number)"), return: StubbedBook(title: "T", year: number))
            mock.on(.get, "/items/\(number)/:part", respond: .json("\(number)"))
        }
        for number in [0, 5_000, 9_999] {
            #expect(try await library(mock).perform(StubbedBooks.titled("T\(number)")).year == number)
            let target = try TargetURI("https://library.test/items/\(number)/x")
            let response = try await mock.execute(PreparedRequest(target: target))
            guard case .bytes(let data) = response.body else { continue }
            #expect(data == Data("\(number)".utf8))
        }
        let error = await requestError { try await library(mock).perform(StubbedBooks.titled("T10000")) }
        #expect("\(try #require(error))".contains("and 19988 more"))
    }

    @Test(
        "huge bodies and paths, ill-formed text and control characters give a report of limited length",
        .notInstrumented("one thread"))
    func hugeRequests() async throws {
        let mock = MockExecutor()
        mock.on(StubbedLibrary.main.post(.raw(data: Data(count: 8 << 20)), to: "/data"), respond: .status(200))
        mock.on(
            StubbedLibrary.main.post(.json(Array(repeating: 1, count: 100_000)), to: "/data"), respond: .status(200))
        let bodies: [BodyProvider] = [
            .raw(data: Data(repeating: 1, count: 8 << 20)), .raw(data: Data([0xFF, 0xFE, 0x1B])),
            .json(Array(repeating: 2, count: 100_000)), .raw(data: Data(repeating: 0x5B, count: 1 << 20)),
            .raw(data: Data("\u{1B}[31m\r\nX: y\u{202E}".utf8)),
        ]
        for body in bodies {
            let error = await requestError { try await mock.perform(StubbedLibrary.main.post(body, to: "/data")) }
            let text = "\(try #require(error))"
            #expect(text.utf8.count < 10_000)
            #expect(!text.utf8.contains(0x1B) && !text.utf8.contains(0x0D))
        }
        let path = String(repeating: "/a", count: 20_000)
        let long = PreparedRequest(target: try TargetURI("https://library.test\(path)"))
        mock.on(.get, String(repeating: "/:a", count: 20_000), respond: .status(204))
        #expect(try await mock.execute(long).head.status == 204)
    }

    @Test("200 stubs that differ in their bodies respond to bodies that are the same JSON")
    func manyBodies() async throws {
        let mock = MockExecutor()
        let api = StubbedLibrary.main
        let text = String(repeating: "x", count: 10_000)
        for number in 0..<200 {
            let body = Data("{\"text\": \"\(text)\", \"number\": \(number)}".utf8)
            mock.on(api.post(.raw(data: body), to: "/data").receiving(.text), respond: .text("\(number)"))
        }
        for number in [0, 100, 199] {
            let body = Data("{\"number\":\(number),\"text\":\"\(text)\"}".utf8)
            #expect(try await mock.perform(api.post(.raw(data: body), to: "/data").receiving(.text)) == "\(number)")
        }
        let error = await requestError { try await mock.perform(api.post(.raw(data: Data("{}".utf8)), to: "/data")) }
        #expect("\(try #require(error))".utf8.count < 10_000)
    }

    @Test("JSON bodies that nest deeply are compared without overflowing the stack", .notInstrumented("one thread"))
    func depth() async throws {
        let nested = { (value: String) in
            String(repeating: "{\"a\":[", count: 200) + value + String(repeating: "]}", count: 200)
        }
        let mock = MockExecutor()
        let api = StubbedLibrary.main
        mock.on(api.post(.raw(data: Data(nested("1").utf8)), to: "/data"), respond: .status(200))
        try await mock.perform(api.post(.raw(data: Data(nested(" 1").utf8)), to: "/data"))
        let other = api.post(.raw(data: Data(nested("2").utf8)), to: "/data")
        let error = await requestError { try await mock.perform(other) }
        #expect("\(try #require(error))".contains("expected 1, received 2"))
    }

    @Test("the time to explain a miss grows linearly with the depth and the width of a JSON body together")
    func deepMiss() async throws {
        let ratio = try await Growth.ratio(size: 40) { size in
            let wide = Array(repeating: "1", count: 50 * size).joined(separator: ",")
            func request(_ value: Int) -> Request<StubbedLibrary, Data> {
                let (start, end) = (String(repeating: "{\"a\":", count: size), String(repeating: "}", count: size))
                let body = Data((start + "{\"x\":\(value),\"y\":[\(wide)]}" + end).utf8)
                return StubbedLibrary.main.post(.raw(data: body, contentType: .json), to: "/data", receiving: .data)
            }
            let mock = MockExecutor().recording(.none)
            mock.on(request(1), respond: .status(200))
            let sent = try request(2).prepared()
            return { _ = await requestError { try await mock.execute(sent) } }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test("the time to replay entries for one URL grows linearly with their number, in any order of their bodies")
    func replayTime() async throws {
        let ratio = try await Growth.ratio(size: 250) { size in
            let bodies = (0..<size).map { Data("{\"query\": \"books\", \"number\": \($0)}".utf8) }
            var requests: [PreparedRequest] = []
            for body in bodies.reversed() {
                let body = BodyProvider.raw(data: body, contentType: .json)
                requests.append(try StubbedLibrary.main.post(body, to: "/graph", receiving: .data).prepared())
            }
            let entries = bodies.map { body in
                HARArchive.Entry(
                    startedAt: Date(timeIntervalSince1970: 0), method: .post, url: "https://library.test/api/graph",
                    requestBody: .init(data: body), status: 200)
            }
            let archive = HARArchive(entries: entries)
            return { [requests] in
                let mock = MockExecutor(replaying: archive).recording(.none)
                for request in requests { _ = try await mock.execute(request) }
                try mock.verify()
            }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test(
        "numbers at the limits of Int in results have no effect beyond their meaning", .notInstrumented("one thread"),
        arguments: [Int.min, 0, Int.max])
    func numbers(number: Int) async throws {
        let mock = MockExecutor(clock: MockClock())
        let api = AnonymousRequestProvider("http://host.test")
        mock.on(.get, "/cut", respond: .text("abc").with(fault: .cut(afterBytes: number)))
        mock.on(.get, "/drip", respond: .text("abc").with(fault: .drip(bytes: number, every: .zero)))
        mock.on(.get, "/call", respond: .text("abc").failing(with: RequestError(.other), onCall: number))
            .expecting(calls: number)
        _ = await requestError { try await mock.perform(api.get(.text, from: "/cut")) }
        #expect(try await mock.perform(api.get(.text, from: "/drip")) == "abc")
        #expect(try await mock.perform(api.get(.text, from: "/call")) == "abc")
    }

    @Test("the first requests to many stubs can arrive at once")
    func firstRequests() async throws {
        for _ in 0..<20 {
            let mock = MockExecutor()
            for number in 0..<200 {
                mock.on(StubbedBooks.titled("T\(number)"), return: StubbedBook(title: "T", year: number))
            }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let year = try? await library(mock).perform(StubbedBooks.titled("T\(number * 20)")).year
                        #expect(year == number * 20)
                    }
                }
            }
            #expect(mock.recordedCount == 8)
        }
    }

    @Test("10,000 query items give a report of limited length", .notInstrumented("one thread"))
    func manyQueryItems() async throws {
        let mock = MockExecutor()
        let items = { (prefix: String) in (0..<10_000).map { "\(prefix)\($0)=\($0)" }.joined(separator: "&") }
        mock.on(.get, "/x?" + items("a"), respond: .status(204))
        let request = PreparedRequest(target: try TargetURI("http://host.test/x?" + items("b")))
        let error = try #require(await requestError { try await mock.execute(request) })
        #expect(try #require(error.underlying as? MockExecutor.UnmatchedRequest).description.utf8.count < 10_000)
    }

    @Test("tasks that add, remove and call stubs at once leave the mock consistent")
    func concurrency() async throws {
        let mock = MockExecutor()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let stub = mock.on(StubbedBooks.titled("T\(number)"), return: StubbedBook(title: "T", year: number))
                    let year = try? await library(mock).perform(StubbedBooks.titled("T\(number)")).year
                    #expect(year == number)
                    #expect(stub.callCount == 1)
                    stub.remove()
                }
            }
        }
        #expect(mock.recordedCount == 64)
        try mock.verify()
        await #expect(throws: RequestError.self) { try await library(mock).perform(StubbedBooks.titled("T1")) }
    }
}
