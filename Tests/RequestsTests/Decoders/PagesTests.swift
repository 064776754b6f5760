import Requests
import Synchronization
import Testing

/// Answers with what a function makes of each request, and notes the requests.
private final class Recorder: RequestExecutor {
    let requests = Mutex<[PreparedRequest]>([])
    let answer: @Sendable (Int, PreparedRequest) throws(RequestError) -> RawResponse

    init(_ answer: @escaping @Sendable (Int, PreparedRequest) throws(RequestError) -> RawResponse) {
        self.answer = answer
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count
        }
        return try answer(number, request)
    }

    var urls: [String] { requests.withLock { $0.map(\.target.absoluteString) } }
}

@Suite("Pages and events that go on")
struct PagesTests {
    static func numbers(
        _ executor: any RequestExecutor, by paging: Paging<AnonymousRequestProvider, [Int]>,
        from query: QueryItems = [:]
    ) async throws -> [Int] {
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        var numbers: [Int] = []
        let first = client.api.get(.json([Int].self), from: "/list").with(query: query)
        for try await page in client.pages(of: first, by: paging) { numbers += page }
        return numbers
    }

    @Test("the Link field leads to the next page, credentials and all, at the same origin only")
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
        "pages that lead back to an earlier one end with an error, however long the way", .timeLimit(.minutes(5)),
        arguments: [1, 2, 7])
    func cycles(length: Int) async throws {
        // The fragment differs each time, and is never sent.
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
        #expect(taken == length + 2 && executor.urls.count == length + 3)
        #expect(try await pages.next() == nil)
    }

    @Test("cursors and page numbers, until there is no more")
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

    @Test("cursors that alternate end with an error at the first that was used before")
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
        #expect(taken == [[1], [2]])
        #expect(
            executor.urls.map { $0.split(separator: "?").last } == ["https://e.com/api/list", "cursor=a", "cursor=b"])
        #expect(try await pages.next() == nil)
    }

    @Test("events go on after the last id; a 204 ends them, a refusal is an error")
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
        let events = client.reconnectingEvents(client.api.get(.events, from: "/feed")) { duration in
            pauses.withLock { $0.append(duration) }
        }
        var data: [String] = []
        for try await event in events { data.append(event.data + event.lastEventID) }
        #expect(data == ["a1", "b1"])
        #expect(pauses.withLock { $0 } == Array(repeating: .milliseconds(7), count: 3))
        #expect(executor.requests.withLock { $0.map { $0.header["Last-Event-ID"] } } == [nil, "1", "1", "1"])

        let refusing = Client(AnonymousRequestProvider.example, executor: StubExecutor(500))
        var refused = refusing.reconnectingEvents(refusing.api.get(.events, from: "/feed")).makeAsyncIterator()
        let error = await #expect(throws: RequestError.self) { try await refused.next() }
        #expect(error?.reason == .unacceptableStatus)
        #expect(try await refused.next() == nil)
    }

    @Test("so many failures in a row are borne, and no more")
    func giving() async throws {
        let executor = Recorder { _, _ throws(RequestError) in throw RequestError(.connectionFailed) }
        let client = Client(AnonymousRequestProvider.example, executor: executor)
        let events = client.reconnectingEvents(client.api.get(.events, from: "/feed"), limit: 2) { _ in }
        await #expect(throws: RequestError.self) { for try await _ in events {} }
        #expect(executor.urls.count == 3)
    }
}
