import RequestsMock
import TestSupport
import Testing

@Suite("Typed stubs")
struct TypedStubTests {
    @Test("a stub for an endpoint responds with its value, which passes through the wire", .rows("PM-120", "PM-122"))
    func values() async throws {
        let mock = MockExecutor()
        let stub = mock.on(StubbedBooks.titled("Emma"), return: emma)
        mock.on(StubbedBooks.titled("Orlando"), return: orlando)
        #expect(try await library(mock).perform(StubbedBooks.titled("Emma")) == emma)
        let response = try await library(mock).response(for: StubbedBooks.titled("Orlando"))
        #expect(response.value == orlando)
        #expect(response.status == 200)
        #expect(response.header[.contentType] == "application/json")
        #expect(response.header[.contentLength] == "\(#"{"title":"Orlando","year":1928}"#.utf8.count)")
        #expect(stub.callCount == 1)
        #expect(stub.requests.map(\.target.path) == ["/api/books/Emma"])
    }

    @Test("the query and the body of an endpoint distinguish its stubs")
    func distinguishes() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.add(emma), return: emma)
        mock.on(StubbedBooks.add(orlando), return: orlando)
        mock.on(StubbedBooks.latest(page: 2), return: orlando)
        mock.on(StubbedBooks.latest(page: nil), return: emma)
        let client = library(mock)
        #expect(try await client.perform(StubbedBooks.add(emma)) == emma)
        #expect(try await client.perform(StubbedBooks.add(orlando)) == orlando)
        #expect(try await client.perform(StubbedBooks.latest(page: 2)) == orlando)
        #expect(try await client.perform(StubbedBooks.latest(page: nil)) == emma)
        await #expect(throws: RequestError.self) { try await client.perform(StubbedBooks.latest(page: 3)) }
    }

    @Test(
        "JSON bodies are compared by value, integers exactly, and strings and names by their bytes",
        arguments: [
            ("{\"a\":1}", "{ \"a\" : 1.0 }", true), ("{\"a\":1e2}", "{\"a\":100}", true),
            ("{\"a\":-0}", "{\"a\":0}", true),
            ("{\"b\":1,\"a\":[2]}", "{\"a\":[2],\"b\":1}", true), ("[1,2]", "[2,1]", false),
            ("{\"a\":null}", "{}", false), ("null", "", false), ("[]", "{}", false), ("[null]", "[]", false),
            ("{\"a\":12345678901234567890}", "{\"a\":12345678901234567891}", false),
            ("[12345678901234567890]", "[ 12345678901234567890 ]", true),
            ("[12345678901234567890]", "[\"12345678901234567890\"]", false),
            ("[-9223372036854775809]", "[-9223372036854775808]", false),
            ("[\"\\\"12345678901234567890\"]", "[ \"\\\"12345678901234567891\"]", false),
            ("[\"12345678901234567890\"]", "[ \"12345678901234567890\"]", true),
            ("[0.1]", "[0.10000000000000001]", true), ("[9007199254740993]", "[9007199254740992]", false),
            ("{\"a\":\"caf\u{E9}\"}", "{\"a\":\"cafe\u{301}\"}", false), ("[\"\u{E9}\"]", "[\"\\u00e9\"]", true),
            ("{\"\u{E9}\":1}", "{\"e\u{301}\":1}", false),
        ])
    func equalBodies(stubbed: String, sent: String, isEqual: Bool) async throws {
        func request(_ body: String) -> Request<StubbedLibrary, String> {
            StubbedLibrary.main.post(
                .raw(data: Data(body.utf8), contentType: .json), to: "/raw", receiving: .text)
        }
        let mock = MockExecutor()
        mock.on(request(stubbed), return: "found")
        let error = await requestError { try await library(mock).perform(request(sent)) }
        #expect((error == nil) == isEqual)
        // A difference is always shown.
        if let error { #expect("\(error)".contains("body")) }
    }

    @Test("a stub responds for every value of its API, whichever was used first")
    func environments() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        for api in [StubbedLibrary.main, .mirror, .main] {
            #expect(try await library(mock, api).perform(StubbedBooks.titled("Emma")) == emma)
        }
    }

    @Test("a stub responds for every value of its API, also if it was added after another value was used")
    func laterStubs() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        #expect(try await library(mock, .main).perform(StubbedBooks.titled("Emma")) == emma)
        mock.on(StubbedBooks.titled("Orlando"), return: orlando)
        for api in [StubbedLibrary.mirror, .main, .mirror] {
            #expect(try await library(mock, api).perform(StubbedBooks.titled("Orlando")) == orlando)
        }
    }

    @Test("the newest stub responds, also for another value of its API and after middleware", .rows("PM-123"))
    func newestOfAll() async throws {
        let mock = MockExecutor()
        mock.on(where: { _ in true }, respond: .status(404))
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        let changing = mock.intercepting { request, next in
            var request = request
            request.target = try request.target.resolving("/elsewhere")
            return try await next.execute(request)
        }
        for api in [StubbedLibrary.main, .mirror, .main] {
            #expect(try await library(mock, api).perform(StubbedBooks.titled("Emma")) == emma)
            #expect(try await library(changing, api).perform(StubbedBooks.titled("Emma")) == emma)
        }
        mock.on(.get, "//mirror.test/v2/api/books/:title", respond: .status(410))
        let error = await requestError { try await library(mock, .mirror).perform(StubbedBooks.titled("Emma")) }
        #expect(error?.status == 410)
    }

    @Test("the type of an endpoint distinguishes stubs for the same request; a request without one matches both")
    func identity() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        mock.on(StubbedSummary(title: "Emma"), return: "A novel")
        #expect(try await library(mock).perform(StubbedBooks.titled("Emma")) == emma)
        #expect(try await library(mock).perform(StubbedSummary(title: "Emma")) == "A novel")
        #expect(try await library(mock).perform { $0.get(.text, from: "/books/Emma") } == "A novel")
    }

    @Test("calls and requests can be stubbed like endpoints")
    func calls() async throws {
        let mock = MockExecutor()
        mock.on(Call.books(since: 1900), return: [orlando])
        mock.on(StubbedLibrary.main.get(.text, from: "/motd"), return: "hello")
        #expect(try await library(mock).perform(.books(since: 1900)) == [orlando])
        #expect(try await library(mock).perform { $0.get(.text, from: "/motd") } == "hello")
        let error = await requestError { try await library(mock).perform(.books(since: 1901)) }
        #expect(error?.underlying is MockExecutor.UnmatchedRequest)
    }

    @Test("a stub for a type of endpoint receives the endpoint that was performed", .rows("PM-122"))
    func types() async throws {
        let mock = MockExecutor()
        let stub = mock.on(StubbedBooks.self) { book in
            switch book {
            case .titled(let title): .value(StubbedBook(title: title, year: 2000))
            case .add: .status(403)
            case .latest: .json(#"{"title": "T", "year": 1}"#)
            }
        }
        let client = library(mock)
        #expect(try await client.perform(StubbedBooks.titled("X")).title == "X")
        #expect(try await client.perform(StubbedBooks.latest(page: nil)).year == 1)
        #expect(await requestError { try await client.perform(StubbedBooks.add(emma)) }?.status == 403)
        #expect(stub.callCount == 3)
    }

    @Test("values are encoded with the encoder of the API, and decoded with its decoder")
    func coders() async throws {
        struct Snake: RequestProviding {
            let baseURL = URL("https://snake.test")
            func makeJSONEncoder() -> JSONEncoder {
                let encoder = JSONEncoder()
                encoder.keyEncodingStrategy = .convertToSnakeCase
                return encoder
            }
            func makeJSONDecoder() -> JSONDecoder {
                let decoder = JSONDecoder()
                decoder.keyDecodingStrategy = .convertFromSnakeCase
                return decoder
            }
        }
        struct Named: Codable, Sendable, Equatable { let firstName: String }
        struct Person: Endpoint {
            func request(from api: Snake) -> Request<Snake, Named> { api.get(.json(), from: "/person") }
        }
        let mock = MockExecutor()
        mock.on(Person(), return: Named(firstName: "Ada"))
        let client = Client(Snake(), executor: mock)
        #expect(try await client.perform(Person()) == Named(firstName: "Ada"))
        #expect(try await client.perform { _ in Snake().get(.text, from: "/person") } == #"{"first_name":"Ada"}"#)
    }

    @Test("middleware that changes a request does not keep a stub for its endpoint from matching")
    func middleware() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.add(emma), return: emma)
        let changing = mock.intercepting { request, next in
            var request = request
            request.target = try request.target.resolving("/elsewhere?signature=x")
            request.body = .bytes(Data("compressed".utf8))
            return try await next.execute(request)
        }
        #expect(try await library(changing).perform(StubbedBooks.add(emma)) == emma)
    }

    @Test("a stub that redirects does not respond to the redirected request, which keeps its endpoint")
    func redirects() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), respond: .response(.redirect(to: "/moved")))
        mock.on(StubbedBooks.self) { _ in .response(.redirect(to: "/moved")) }.optional()
        mock.on(.get, "/moved", respond: .json(#"{"title": "moved", "year": 1}"#))
        #expect(try await library(mock).perform(StubbedBooks.titled("Emma")).title == "moved")
        #expect(try await library(mock).perform(StubbedBooks.titled("Orlando")).title == "moved")
        #expect(mock.recordedCount == 4)
    }

    @Test("a value for a decoder that does not read JSON fails with an explanation; text and data are sent as they are")
    func otherDecoders() async throws {
        let api = StubbedLibrary.main
        let mock = MockExecutor()
        let opaque = api.get(ResponseDecoder { _, data in [data.count] }, from: "/opaque")
        mock.on(opaque, return: [1])
        let error = await requestError { try await library(mock).perform(opaque) }
        #expect(error?.detail?.contains("respond with data(_:contentType:)") == true)
        mock.on(opaque, respond: .data(Data([1, 2, 3])))
        #expect(try await library(mock).perform(opaque) == [3])
        mock.on(api.get(.data, from: "/data"), return: Data([1, 2]))
        #expect(try await library(mock).perform(api.get(.data, from: "/data")) == Data([1, 2]))
        mock.on(api.get(.json(String.self), from: "/string"), return: "x")
        #expect(try await library(mock).perform(api.get(.json(String.self), from: "/string")) == "x")
    }

    @Test("of two stubs that match, the newest responds; removing it twice is safe", .rows("PM-123", "T-67"))
    func order() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        let newest = mock.on(.get, "books/:title", respond: .json(#"{"title": "newest", "year": 1}"#))
        let client = library(mock)
        #expect(try await client.perform(StubbedBooks.titled("Emma")).title == "newest")
        newest.remove()
        newest.remove()
        #expect(try await client.perform(StubbedBooks.titled("Emma")) == emma)
        mock.removeAllStubs()
        await #expect(throws: RequestError.self) { try await client.perform(StubbedBooks.titled("Emma")) }
    }
    @Test("a reset forgets stubs, unmatched requests and unused stubs, and keeps what was recorded", .rows("PM-123"))
    func reset() async throws {
        let mock = MockExecutor()
        let other = MockExecutor(unmatched: .intercepting)
        for mock in [mock, other] {
            let used = mock.on(StubbedBooks.titled("Emma"), return: emma)
            mock.on(StubbedBooks.titled("Orlando"), return: orlando)
            _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
            _ = await requestError { try await library(mock).perform(StubbedBooks.add(emma)) }
            #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
            mock.removeAllStubs()
            try mock.verify()
            #expect(mock.recordedCount == 2 && used.callCount == 1)
            used.remove()
            // A stub that is added afterwards is not confused with the removed ones.
            let added = mock.on(StubbedBooks.titled("Orlando"), return: orlando)
            #expect(try await library(mock).perform(StubbedBooks.titled("Orlando")) == orlando)
            #expect(added.callCount == 1 && added.requests.count == 1 && used.requests.count == 1)
        }
        // The handling of unmatched requests is a constant of a mock, so a reset has nothing to change in it.
        await #expect(throws: RequestError.self) { try await library(mock).perform(StubbedBooks.titled("Emma")) }
        let intercepted = await requestError { try await library(other).perform(StubbedBooks.titled("Emma")) }
        #expect(intercepted?.response?.isInterceptedByMock == true)
    }
}
