import Requests
import Synchronization
import TestSupport
import Testing

/// An executor that responds from a function and records the requests.
private final class Recorder: RequestExecutor {
    let requests = Mutex<[PreparedRequest]>([])
    let respond: @Sendable (Int, PreparedRequest) throws(RequestError) -> RawResponse

    init(_ respond: @escaping @Sendable (Int, PreparedRequest) throws(RequestError) -> RawResponse) {
        self.respond = respond
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count
        }
        return try respond(number, request)
    }

    var urls: [String] { requests.withLock { $0.map(\.target.absoluteString) } }
}

@Suite("Pages and reconnecting events", .tags(.concurrent))
struct PagesTests {
    static func numbers(
        _ executor: any RequestExecutor, by strategy: Pages<AnonymousRequestProvider, [Int]>.Strategy,
        from query: QueryItems = [:]
    ) async throws -> [Int] {
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        var numbers: [Int] = []
        let first = client.api.get(.json([Int].self), from: "/list").with(query: query)
        for try await page in client.pages(of: first, by: strategy) { numbers += page }
        return numbers
    }

    @Test("the Link field leads to the next page, at the same origin only")
    func links() async throws {
        let executor = Recorder { number, request in
            let links = ["<?page=2&x=y>; rel=next", "</api/list?page=3>; rel=\"next\", </>; rel=prev", ""]
            return .stub(200, header: [Field(name: .link, value: links[number - 1])], "[\(number)]", to: request)
        }
        #expect(try await Self.numbers(executor, by: .linkHeader, from: ["q": "1"]) == [1, 2, 3])
        #expect(
            executor.urls == [
                "https://e.com/api/list?q=1", "https://e.com/api/list?page=2&x=y", "https://e.com/api/list?page=3",
            ])
        let elsewhere = StubExecutor(200, header: [Field(name: .link, value: "<//evil.com/>; rel=next")], "[1]")
        let error = await #expect(throws: RequestError.self) { try await Self.numbers(elsewhere, by: .linkHeader) }
        #expect(error?.reason == .unexpectedRedirect)
        let circle = StubExecutor(200, header: [Field(name: .link, value: "<?q=1>; rel=next")], "[1]")
        await #expect(throws: RequestError.self) {
            try await Self.numbers(circle, by: .linkHeader, from: ["q": "1"])
        }
    }

    @Test(
        "a page whose next link is malformed or foreign is delivered before the error",
        arguments: [
            "<http://[>; rel=next", "<//evil.com/>; rel=next", "<https://e.com:1/x>; rel=next",
            "<http://e.com/x>; rel=next",
            "<mailto:x>; rel=next", "<https://e.com/a\u{7F}b>; rel=next",
        ])
    func foreignLinks(link: String) async throws {
        let executor = Recorder { _, request in
            .stub(200, header: [Field(name: .link, value: link)], "[1, 2]", to: request)
        }
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        let list = client.pages(of: client.api.get(.json([Int].self), from: "/list"), by: .linkHeader)
        var pages = list.makeAsyncIterator()
        #expect(try await pages.next() == [1, 2])
        let error = await #expect(throws: RequestError.self) { try await pages.next() }
        #expect(error?.reason == .unexpectedRedirect && error?.response != nil)
        #expect(try await pages.next() == nil)
        var items: [Int] = []
        await #expect(throws: RequestError.self) { for try await item in list.items { items.append(item) } }
        #expect(items == [1, 2] && executor.urls.count == 2)
    }

    @Test("a page is delivered before the error of its strategy")
    func failingStrategy() async throws {
        let client = Client(AnonymousRequestProvider.example, executor: StubExecutor(200, "[1]"))
        let first = client.api.get(.json([Int].self), from: "/list")
        var pages = client.pages(of: first, by: .init { _, _ in throw CancellationError() }).makeAsyncIterator()
        #expect(try await pages.next() == [1])
        await #expect(throws: RequestError.self) { try await pages.next() }
        #expect(try await pages.next() == nil)
    }

    @Test("after a redirect to another origin, a link to that origin does not receive the credentials")
    func redirectedLinks() async throws {
        let executor = Recorder { number, request in
            number == 1
                ? .stub(302, header: [Field(name: .location, value: "https://other.test/list")], to: request)
                : .stub(200, header: [Field(name: .link, value: "<?page=2>; rel=next")], "[1]", to: request)
        }
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        let first = client.api.get(.json([Int].self), from: "/list").authenticated(with: .bearerToken("planted"))
        var pages = client.pages(of: first, by: .linkHeader).makeAsyncIterator()
        #expect(try await pages.next() == [1])
        await #expect(throws: RequestError.self) { try await pages.next() }
        #expect(executor.requests.withLock { $0.map { $0.header[.authorization] } } == ["Bearer planted", nil])
    }

    @Test(
        "pages that lead back to an earlier page end with an error, whatever the length of the cycle",
        .timeLimit(.minutes(10)),
        arguments: [1, 2, 7])
    func cycles(length: Int) async throws {
        // The fragment differs each time but is never sent.
        let executor = Recorder { number, request in
            let next = number < 3 ? number : 3 + (number - 2) % length
            return .stub(
                200, header: [Field(name: .link, value: "<?page=\(next)#\(number)>; rel=next")], "[\(number)]",
                to: request)
        }
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        var pages = client.pages(of: client.api.get(.json([Int].self), from: "/list"), by: .linkHeader)
            .makeAsyncIterator()
        var taken = 0
        let error = await #expect(throws: RequestError.self) { while try await pages.next() != nil { taken += 1 } }
        #expect(
            error?.reason == .other
                && Set(executor.urls.map { $0.split(separator: "#")[0] }).count == executor.urls.count)
        #expect(taken == length + 3 && executor.urls.count == length + 3)
        #expect(try await pages.next() == nil)
    }

    @Test("cursors and page numbers lead through the pages up to the last")
    func cursors() async throws {
        let executor = Recorder { number, request in .stub(200, number < 3 ? "[\(number)]" : "[]", to: request) }
        let cursors = try await Self.numbers(executor, by: .cursor("after") { $0.first.map { "c \($0)" } })
        #expect(cursors == [1, 2])
        #expect(
            executor.urls.map { $0.split(separator: "?").last } == [
                "https://e.com/api/list", "after=c%201", "after=c%202",
            ])
        let counted = Recorder { number, request in .stub(200, number < 3 ? "[\(number)]" : "[]", to: request) }
        #expect(try await Self.numbers(counted, by: .pageNumber { $0.isEmpty }, from: ["page": 5, "n": 2]) == [1, 2])
        #expect(counted.urls.map { $0.split(separator: "?").last } == ["page=5&n=2", "n=2&page=6", "n=2&page=7"])
    }

    @Test("alternating cursors end with an error at the first repeated cursor")
    func alternatingCursors() async throws {
        let executor = Recorder { number, request in .stub(200, "[\(number)]", to: request) }
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        var pages = client.pages(
            of: client.api.get(.json([Int].self), from: "/list"),
            by: .cursor { $0.first.map { $0.isMultiple(of: 2) ? "b" : "a" } }
        ).makeAsyncIterator()
        var taken: [[Int]] = []
        let error = await #expect(throws: RequestError.self) {
            while let page = try await pages.next() { taken.append(page) }
        }
        #expect(error?.reason == .other)
        #expect(taken == [[1], [2], [3]])
        #expect(
            executor.urls.map { $0.split(separator: "?").last } == ["https://e.com/api/list", "cursor=a", "cursor=b"])
        #expect(try await pages.next() == nil)
    }

    @Test("events continue after the last event ID, a 204 ends them, and an unacceptable status is an error")
    func reconnecting() async throws {
        let executor = Recorder { number, request throws(RequestError) in
            switch number {
            case 1: .stream(["retry: 7\nid: 1\ndata: a\n\n"], type: "text/event-stream", to: request)
            case 2: throw RequestError(.connectionFailed)
            case 3:
                .stream(["data: b\n\n"], type: "text/event-stream", error: RequestError(.connectionLost), to: request)
            default: .stub(204, to: request)
            }
        }
        let pauses = Mutex<[Duration]>([])
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        let events = client.reconnectingEvents(for: client.api.get(.events, from: "/feed")) { duration in
            pauses.withLock { $0.append(duration) }
        }
        var data: [String] = []
        for try await event in events { data.append(event.data + event.lastEventID) }
        #expect(data == ["a1", "b1"])
        #expect(pauses.withLock { $0 } == Array(repeating: .milliseconds(7), count: 3))
        #expect(executor.requests.withLock { $0.map { $0.header["Last-Event-ID"] } } == [nil, "1", "1", "1"])

        let refusing = Client(AnonymousRequestProvider.example, executor: StubExecutor(500))
        var refused = refusing.reconnectingEvents(for: refusing.api.get(.events, from: "/feed")).makeAsyncIterator()
        let error = await #expect(throws: RequestError.self) { try await refused.next() }
        #expect(error?.reason == .unacceptableStatus)
        #expect(try await refused.next() == nil)
    }

    @Test("events end with an error after the maximum number of consecutive failures")
    func failureLimit() async throws {
        let executor = Recorder { _, _ throws(RequestError) in throw RequestError(.connectionFailed) }
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        let events = client.reconnectingEvents(for: client.api.get(.events, from: "/feed"), maximumFailures: 2) { _ in }
        await #expect(throws: RequestError.self) { for try await _ in events {} }
        #expect(executor.urls.count == 3)
    }
}
