import Requests
import Testing

private struct Page: Codable, Sendable {
    let results: [Int]
}

private enum Lists: Endpoint {
    case all
    func request(from api: AnonymousRequestProvider) -> Request<AnonymousRequestProvider, [Int]> {
        api.get(.json(), from: "/list")
    }
}

extension Call<AnonymousRequestProvider, [Int]> {
    fileprivate static var list: Self { Call { $0.get(.json(), from: "/list") } }
}

@Suite("The items of pages, and endpoints for pages and events")
struct PageItemsTests {
    /// A server with three pages, the second of which is empty, and a fourth that fails if `isFailing`.
    private static func client(isFailing: Bool = false) -> Client<AnonymousRequestProvider> {
        Client(
            .example,
            executor: StubExecutor { request throws(RequestError) in
                let page = Int(request.target.query?.split(separator: "=").last ?? "1") ?? 1
                if page > 3 { throw RequestError(.connectionLost) }
                let bodies = ["[1, 2]", "[]", "[3]"]
                let next = page < (isFailing ? 4 : 3) ? "<?page=\(page + 1)>; rel=next" : ""
                let isNested = request.target.path.hasSuffix("/pages")
                let body = isNested ? "{\"results\": \(bodies[page - 1])}" : bodies[page - 1]
                return .stub(200, header: [.link: next], body, to: request)
            })
    }

    private static func collected<Items: AsyncSequence>(
        _ items: Items
    ) async throws(RequestError) -> [Items.Element] where Items.Failure == RequestError {
        var collected: [Items.Element] = []
        for try await item in items { collected.append(item) }
        return collected
    }

    @Test("items come from all pages in order, and empty pages are skipped")
    func items() async throws {
        let client = Self.client()
        #expect(try await Self.collected(client.pages(of: Lists.all, by: .linkHeader).items) == [1, 2, 3])
        let pages = client.pages(of: { $0.get(.json(Page.self), from: "/pages") }, by: .linkHeader)
        #expect(try await Self.collected(pages.items(\.results)) == [1, 2, 3])
        #expect(try await Self.collected(pages.items { $0.results.map(String.init) }) == ["1", "2", "3"])
    }

    @Test("the error that ends the pages ends the items, after the items before it")
    func failing() async throws {
        var items = Self.client(isFailing: true).pages(of: .list, by: .linkHeader).items.makeAsyncIterator()
        var taken: [Int] = []
        let error = await #expect(throws: RequestError.self) {
            while let item = try await items.next() { taken.append(item) }
        }
        #expect(error?.reason == .connectionLost && taken == [1, 2, 3])
        #expect(try await items.next() == nil)
    }

    @Test("pages begin with an endpoint, a call, a request or a closure")
    func beginnings() async throws {
        let client = Self.client()
        let expected = [[1, 2], [], [3]]
        #expect(try await Self.collected(client.pages(of: Lists.all, by: .linkHeader)) == expected)
        #expect(try await Self.collected(client.pages(of: .list, by: .linkHeader)) == expected)
        let request = client.api.get(.json([Int].self), from: "/list")
        #expect(try await Self.collected(client.pages(of: request, by: .linkHeader)) == expected)
        let made = client.pages(of: { $0.get(.json([Int].self), from: "/list") }, by: .linkHeader)
        #expect(try await Self.collected(made) == expected)
    }

    @Test("events begin with an endpoint, a call, a request or a closure")
    func events() async throws {
        typealias API = AnonymousRequestProvider
        struct Feed: Endpoint {
            func request(from api: API) -> Request<API, ResponseStream.Events> { api.get(.events, from: "/feed") }
        }
        let executor = StubExecutor { request in .stub(204, to: request) }
        let client = Client(API.example, executor: executor)
        let call = Call<API, ResponseStream.Events> { $0.get(.events, from: "/feed") }
        let streams = [
            client.reconnectingEvents(for: Feed()), client.reconnectingEvents(for: call),
            client.reconnectingEvents(for: client.api.get(.events, from: "/feed")),
            client.reconnectingEvents(for: { $0.get(.events, from: "/feed") }),
        ]
        for events in streams { #expect(try await Self.collected(events).isEmpty) }
    }
}
