import Dispatch
import RequestsMock
import TestSupport
import Testing

@Suite("The README")
struct ReadmeTests {
    /// Returns whether a block of the README consists of `text`.
    private func readmeContains(_ text: String) throws -> Bool {
        let readme = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md")
        return try String(decoding: Data(contentsOf: readme), as: UTF8.self).contains("```text\n\(text)\n```")
    }

    @Test("the README shows the error of a body that cannot be decoded", .rows("RQ-1", "RQ-9"))
    func error() async throws {
        let body = MockResponse.ok(#"{"title": "Emma", "year": "1815"}"#, contentType: .json)
        let library = Client(Library.local, executor: MockExecutor(body))
        let error = await #expect(throws: RequestError.self) { try await library.perform(Books.titled("Emma")) }
        #expect(try readmeContains(#require(error).debugDescription))
    }

    @Test("the README shows the report of a mock on a request that no stub matches")
    func report() async throws {
        let emma = Book(title: "Emma", year: 1815)
        let mock = MockExecutor()
        mock.on(Books.add(emma), return: emma)
        let library = Client(Library.local, executor: mock)
        let error = await #expect(throws: RequestError.self) {
            try await library.perform(Books.add(Book(title: "Emma", year: 1816)))
        }
        let text = try "\(#require(error))".replacing(/ReadmeTests\/\w+\.swift:\d+/, with: "BookTests.swift:9")
        #expect(try readmeContains(text))
    }

    @Test(
        "the middleware signs the requests of a call until a redirect leads to another origin", .rows("HT-22", "R-27"))
    func middleware() async throws {
        let locations = ["/api/books/1": "/b", "/b": "http://other.example/c", "/c": "http://127.0.0.1:8080/d"]
        let mock = MockExecutor { request in locations[request.target.path].map { .redirect(307, to: $0) } ?? .ok() }
        let signed = signing(mock, with: "secret")
        try await Client(Library.local, executor: signed).perform { $0.delete("/books/1") }
        let tokens = mock.recordedRequests.map { $0.header[.authorization] }
        #expect(tokens == ["Bearer secret", "Bearer secret", nil, nil])
    }

    @Test("the calls from synchronous code complete", .rows("C29", "C20"))
    func synchronous() async throws {
        let mock = MockExecutor { request in try .json(Book(title: "Emma", year: 1815)) }
        let queue = DispatchQueue(label: "readme")
        let task = try titles(in: Client(Library.local, executor: mock), on: queue)
        #expect(await task.stateUpdates.contains(.completed))
        #expect(mock.recordedRequests.count == 2)
    }

    @Test("the error handling handles a 404", .rows("PM-69"))
    func errors() async throws {
        let mock = MockExecutor(.status(404, "no such book"))
        let library = Client(Library.local, executor: mock)
        #expect(await found("Emma", in: library) == nil)
    }
}
