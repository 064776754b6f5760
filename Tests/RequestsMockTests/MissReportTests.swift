import RequestsMock
import Testing

@Suite("Reports of mocks")
struct MissReportTests {
    /// Returns the error of `endpoint` over `mock` as text, with this file's name for its path.
    private func report<E: Endpoint>(
        _ mock: MockExecutor, _ endpoint: E, api: E.API
    ) async throws -> String {
        let error = await requestError {
            _ = try await Client(api, executor: mock).perform(endpoint)
            return true
        }
        return "\(try #require(error))"
    }

    @Test("a miss shows the nearest stubs, their differences and a line that adds a stub")
    func miss() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma, line: 1)
        mock.on(.post, "books/:title", respond: .status(201), line: 2)
        mock.on(StubbedBooks.latest(page: 2), return: orlando, line: 3)
        mock.on(StubbedBooks.add(emma), return: emma, line: 4)
        #expect(
            try await report(mock, StubbedBooks.titled("Emmo"), api: .main) == """
                GET https://library.test/api/books/Emmo: request failed: no stub matches
                  nearest stubs:
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called 0 times
                      path: expected “/api/books/Emma”, received “/api/books/Emmo”
                    POST “books/:title” at RequestsMockTests/MissReportTests.swift:2, called 0 times
                      method: expected “POST”, received “GET”
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:3, called 0 times
                      path: expected “/api/books”, received “/api/books/Emmo”
                      query item “page”: expected “2”, received nothing
                  other unused stubs:
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:4, called 0 times
                  to accept the request, add:
                    mock.on(.get, "/api/books/Emmo", respond: .json("{}"))
                """)
    }

    @Test("a miss shows the differences of two JSON bodies by path")
    func bodies() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.add(emma), return: emma, line: 1)
        #expect(
            try await report(mock, StubbedBooks.add(StubbedBook(title: "Emma II", year: 1816)), api: .main) == """
                POST https://library.test/api/books: request failed: no stub matches
                  nearest stubs:
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called 0 times
                      body.title: expected "Emma", received "Emma II"
                      body.year: expected 1815, received 1816
                  to accept the request, add:
                    mock.on(.post, "/api/books", respond: .json("{}"))
                """)
    }

    @Test("a miss of a mock without stubs, and one after a sequence, have reports of their own")
    func others() async throws {
        let mock = MockExecutor()
        #expect(
            try await report(mock, StubbedBooks.titled("Emma"), api: .main) == """
                GET https://library.test/api/books/Emma: request failed: the mock has no stubs
                  to accept the request, add:
                    mock.on(.get, "/api/books/Emma", respond: .json("{}"))
                """)
        mock.on(StubbedBooks.titled("Emma"), respond: .sequence(.value(emma)), line: 1)
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        let ended = """
            GET https://library.test/api/books/Emma: request failed: the sequence of the stub has ended
              the stub:
                StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called twice
              to accept the request, add:
                mock.on(.get, "/api/books/Emma", respond: .json("{}"))
            """
        #expect(try await report(mock, StubbedBooks.titled("Emma"), api: .main) == ended)
        let next = try await report(mock, StubbedRemoval(title: "Emma"), api: .main)
        #expect(
            next == """
                DELETE https://library.test/api/books/Emma: request failed: no stub matches
                  nearest stubs:
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called twice
                      endpoint: expected “StubbedBooks”, received “StubbedRemoval”
                      method: expected “GET”, received “DELETE”
                      field Accept (not compared): expected “application/json”, received nothing
                  exhausted stubs:
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called twice
                  to accept the request, add:
                    mock.on(.delete, "/api/books/Emma", respond: .status(200))
                """)
    }

    @Test("a miss shows why conditions, hosts, schemes and malformed patterns do not match, and counts the other stubs")
    func rareDifferences() async throws {
        let mock = MockExecutor()
        mock.on(where: { _ in false }, respond: .status(204), line: 1)
        mock.on(nil, "http://library.test:81/api/books/Emma", respond: .status(204), line: 2)
        mock.on(.get, "//ho st/", respond: .status(204), line: 3)
        #expect(
            try await report(mock, StubbedBooks.titled("Emma"), api: .main) == """
                GET https://library.test/api/books/Emma: request failed: no stub matches
                  nearest stubs:
                    any method “http://library.test:81/api/books/Emma” at \
                RequestsMockTests/MissReportTests.swift:2, called 0 times
                      scheme: expected “http”, received “https”
                      host: expected “library.test:81”, received “library.test”
                    a condition at RequestsMockTests/MissReportTests.swift:1, called 0 times
                      condition: returned false
                    GET “//ho st/” at RequestsMockTests/MissReportTests.swift:3, called 0 times
                      pattern: “//ho st/” is malformed: “//ho st” has an invalid host
                  to accept the request, add:
                    mock.on(.get, "/api/books/Emma", respond: .json("{}"))
                """)
        for line: UInt in 10...15 { mock.on(.delete, "/far/away/\(line)", respond: .status(204), line: line) }
        let text = try await report(mock, StubbedBooks.titled("Emma"), api: .main)
        #expect(text.contains("other unused stubs:\n") && text.contains(" and 3 more\n"), "\(text)")
    }

    @Test("a miss shows the difference of two texts, and of the first ten members of two objects")
    func bodiesOfOtherKinds() async throws {
        func lines(_ expected: BodyProvider, _ received: BodyProvider) async throws -> [String] {
            let api = AnonymousRequestProvider("http://host.test")
            let mock = MockExecutor()
            mock.on(api.post(expected, to: "/x"), respond: .status(204), line: 1)
            let error = try #require(await requestError { try await mock.perform(api.post(received, to: "/x")) })
            return "\(error)".split(separator: "\n").map(String.init).filter { $0.contains(" body") }
        }
        #expect(
            try await lines(.text("left"), .text("right")) == ["      body: expected “left”, received “right”"])
        let numbers = { (offset: Int) in
            BodyProvider.json(Dictionary(uniqueKeysWithValues: (10..<22).map { ("m\($0)", $0 + offset) }))
        }
        let members = try await lines(numbers(0), numbers(1))
        #expect(members.count == 11 && members.first == "      body.m10: expected 10, received 11", "\(members)")
        #expect(members.last == "      body: more differences")
    }

    @Test("the report of verify names unused stubs, wrong numbers of calls and unmatched requests")
    func verification() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma, line: 1).expecting(calls: 2)
        mock.on(.get, "/unused", respond: .status(204), line: 2)
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        _ = await requestError { try await library(mock).perform(StubbedRemoval(title: "X")) }
        let error = #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
        #expect(
            error?.description == """
                expected calls: 2: StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called once
                unused stub: GET “/unused” at RequestsMockTests/MissReportTests.swift:2, called 0 times
                unmatched request: DELETE https://library.test/api/books/X: no stub matches
                  nearest stubs:
                    StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called once
                      endpoint: expected “StubbedBooks”, received “StubbedRemoval”
                      method: expected “GET”, received “DELETE”
                      path: expected “/api/books/Emma”, received “/api/books/X”
                      field Accept (not compared): expected “application/json”, received nothing
                    GET “/unused” at RequestsMockTests/MissReportTests.swift:2, called 0 times
                      method: expected “GET”, received “DELETE”
                      path: expected “/unused”, received “/api/books/X”
                  to accept the request, add:
                    mock.on(.delete, "/api/books/X", respond: .status(200))
                """)
    }

    @Test("the report on the order of calls shows the order that was found")
    func order() async throws {
        let mock = MockExecutor()
        let first = mock.on(StubbedBooks.titled("Emma"), return: emma, line: 1)
        let second = mock.on(StubbedBooks.titled("Orlando"), return: orlando, line: 2)
        let third = mock.on(.get, "/third", respond: .status(204), line: 3)
        _ = try await library(mock).perform(StubbedBooks.titled("Orlando"))
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        let error = #expect(throws: MockExecutor.VerificationError.self) {
            try mock.verify(order: first, second, third)
        }
        #expect(
            error?.description == """
                expected calls in this order:
                  request 2: StubbedBooks at RequestsMockTests/MissReportTests.swift:1, called once
                  request 1: StubbedBooks at RequestsMockTests/MissReportTests.swift:2, called once
                  never: GET “/third” at RequestsMockTests/MissReportTests.swift:3, called 0 times
                """)
    }

    @Test(
        "the line of a report adds a stub that accepts the request",
        arguments: [
            "http://host.test/", "http://host.test/a/b?x=1&y=%20&z", "http://host.test/:a/b:c/:",
            "http://host.test:81/%2F%22%5C%00", "http://host.test/caf%C3%A9?q=%22%23",
            "https://u:p@host.test/x?token=s3cr3t&a=1",
            "http://host.test//a//b/", "http://host.test/(x)'y;z=1,2/$&", "http://host.test/%FF/%fe",
        ])
    func suggestions(url: String) async throws {
        let request = PreparedRequest(method: "PROPFIND", target: try TargetURI(url))
        let error = try #require(await requestError { try await MockExecutor().execute(request) })
        let line = try #require("\(error)".split(separator: "\n").last)
        let match = try #require(line.firstMatch(of: /mock\.on\("PROPFIND", "(.*)", respond: \.status\(200\)\)/))
        let pattern = match.1.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
        let mock = MockExecutor()
        mock.on("PROPFIND", String(pattern), respond: .status(200))
        #expect(try await mock.execute(request).head.status == 200)
    }

    @Test("a request to another host is accepted by the line with that host")
    func otherHost() async throws {
        let mock = MockExecutor()
        mock.on(.get, "/start", respond: .response(.redirect(to: "http://other.test:81/end?a=1")))
        let api = AnonymousRequestProvider("http://host.test")
        let error = try #require(await requestError { try await mock.perform(api.get(.none, from: "/start")) })
        #expect("\(error)".hasSuffix("mock.on(.get, \"//other.test:81/end?a=1\", respond: .status(200))"))
    }
}
