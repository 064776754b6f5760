import Dispatch
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

enum Library: RequestProviding {
    case local, staging
    var baseURL: URL {
        switch self {
        case .local: URL("http://127.0.0.1:8080/api")
        case .staging: URL("http://staging.example.com/api")
        }
    }
}

struct Book: Codable, Sendable {
    let title: String
    let year: Int
}

enum Books: Endpoint {
    case titled(String), add(Book)
    func request(from api: Library) -> Request<Library, Book> {
        switch self {
        case .titled(let title): api.get(.json(), from: "/books/\(title)")
        case .add(let book): api.post(.json(book), to: "/books", receiving: .json())
        }
    }
}

@Suite("The README")
struct ReadmeTests {
    @Test("the in-memory test passes", .rows("RQ-1", "RQ-9"))
    func inMemory() async throws {
        try await books()
        try await routes()
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

func books() async throws {
    let mock = MockExecutor()
    let eitherOr = Book(title: "Either/Or", year: 1843)
    mock.on(Books.titled("Either/Or"), return: eitherOr)
    let library = Client(Library.local, executor: mock)

    let book = try await library.perform(Books.titled("Either/Or"))
    #expect(book.year == 1843)
    try mock.verify()  // every stub was used, every request matched

    // Nothing is sent:
    try library.assertWire(
        Books.titled("Emma"),
        matches: """
            GET /api/books/Emma HTTP/1.1
            Host: 127.0.0.1:8080
            Accept: application/json
            """)
}

func routes() async throws {
    let emma = try MockResponse.json(Book(title: "Emma", year: 1815))
    let routes = MockExecutor(
        routes: .on(.get, "/api/books/{}", emma),
        .on(.delete, "/api/books/{}", .status(204)))
    try await withTestServer(serving: routes) { server in
        let served = AnonymousRequestProvider(baseURL: server.baseURL)
        let book = try await SocketExecutor().perform(
            served.get(.json(Book.self), from: "/api/books/Emma"))
        #expect(book.year == 1815)
    }
}

func signing(
    _ executor: some RequestExecutor, with token: String
) -> some RequestExecutor {
    executor.intercepting { request, next in
        var request = request
        request.header[.authorization] = "Bearer \(token)"
        return try await next.execute(request)
    }
}

func found(_ title: String, in library: Client<Library>) async -> Book? {
    do throws(RequestError) {
        return try await library.perform(Books.titled(title))
    } catch {
        switch error.reason {
        case .unacceptableStatus where error.status == .notFound:
            print("no such book")
        case .timedOut(let phase): print("too slow: \(phase)")
        case .cancelled: break
        default: print(error)
        }
        return nil
    }
}

func titles(
    in library: Client<Library>, on queue: DispatchQueue
) throws(RequestError) -> RequestTask {
    // Blocks this thread until the call ends:
    let book = try library.performAndWait(Books.titled("Emma"))
    return library.perform(Books.titled(book.title), on: queue) { result in
        print(result.map(\.value.year))  // called exactly once, on the queue
    }
}
