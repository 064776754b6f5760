import RequestsMock
import TestSupport
import Testing

@Suite("Strict mocks")
struct StrictMockTests {
    @Test("an unmatched request is an error that no retry repeats, with a report", .rows("D-3"))
    func strict() async throws {
        let mock = MockExecutor()
        let error = try #require(await requestError { try await library(mock).perform(StubbedBooks.titled("Emma")) })
        #expect(error.reason == .other)
        #expect(error.status == nil)
        #expect(!error.mayHaveReachedServer)
        #expect(error.underlying is MockExecutor.UnmatchedRequest)
        #expect(mock.recordedCount == 1)
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
    }

    @Test("two mocks share nothing, and copies of one mock share its stubs")
    func isolation() async throws {
        let (first, second) = (MockExecutor(), MockExecutor())
        let copy = first
        copy.on(StubbedBooks.titled("Emma"), return: emma)
        #expect(try await library(first).perform(StubbedBooks.titled("Emma")) == emma)
        #expect(second.recordedCount == 0)
        await #expect(throws: RequestError.self) { try await library(second).perform(StubbedBooks.titled("Emma")) }
    }

    @Test("an empty mock, and one whose stubs were called as expected, are verified")
    func verified() async throws {
        let mock = MockExecutor()
        try mock.verify()
        let twice = mock.on(StubbedBooks.titled("Emma"), return: emma).expecting(calls: 2)
        mock.on(StubbedBooks.titled("Orlando"), return: orlando).optional()
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        try mock.verify()
        #expect(twice.callCount == 2)
    }

    @Test("the order of calls is verified")
    func order() async throws {
        let mock = MockExecutor()
        let first = mock.on(StubbedBooks.titled("Emma"), return: emma)
        let second = mock.on(StubbedBooks.titled("Orlando"), return: orlando)
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify(order: first, second) }
        _ = try await library(mock).perform(StubbedBooks.titled("Orlando"))
        try mock.verify(order: first, second)
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify(order: second, first) }
    }

    @Test("the order of calls is verified although their requests were removed from the record", arguments: [0, 1, 3])
    func orderBeyondRecord(limit: Int) async throws {
        let mock = MockExecutor().recording(.init(requests: limit))
        let first = mock.on(StubbedBooks.titled("Emma"), return: emma)
        let second = mock.on(StubbedBooks.titled("Orlando"), return: orlando)
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        for _ in 0..<4 { _ = try await library(mock).perform(StubbedBooks.titled("Orlando")) }
        #expect(mock.recordedRequests.allSatisfy { $0.target.path.hasSuffix("Orlando") })
        try mock.verify(order: first, second)
        let error = #expect(throws: MockExecutor.VerificationError.self) { try mock.verify(order: second, first) }
        #expect(error?.description.contains("request 2: ") == true)
    }

    @Test("recorded requests have their endpoints and decoded bodies", .rows("D-8", "PM-129"))
    func captured() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.self) { _ in .value(emma) }
        _ = try await library(mock).perform(StubbedBooks.add(orlando))
        _ = try await library(mock).perform(StubbedBooks.titled("Emma"))
        let endpoints = mock.endpoints(of: StubbedBooks.self)
        #expect(endpoints.count == 2)
        guard case .add(orlando) = endpoints.first else {
            Issue.record("the first endpoint is not the performed one")
            return
        }
        #expect(mock.endpoints(of: StubbedSummary.self).isEmpty)
        let request = try #require(mock.recordedRequests.first)
        #expect(try request.decodedBody(as: StubbedBook.self) == orlando)
        #expect(throws: RequestError.self) { try request.decodedBody(as: [Int].self) }
    }
}
