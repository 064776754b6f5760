import RequestsSocket

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

enum Books: Endpoint {  // every case returns a Book
    case titled(String), add(Book)
    func request(from api: Library) -> Request<Library, Book> {
        switch self {
        case .titled(let title): api.get(.json(), from: "/books/\(title)")
        case .add(let book):
            api.post(.json(book), to: "/books", receiving: .json())
        }
    }
}

extension Call<Library, [Book]> {  // a one-off request with its own result type
    static func books(since year: Int) -> Self {
        Call {
            $0.get(.json(), from: "/books").adding(queryItem: ("since", year))
        }
    }
}

let library = Client(Library.local, executor: SocketExecutor())
do throws(RequestError) {
    // GET /api/books/Either%2FOr
    let book = try await library.perform(Books.titled("Either/Or"))
    let recent = try await library.perform(.books(since: 2020))
    print("\(book.title) (\(book.year)), and \(recent.count) recent ones")
} catch {
    print(error)  // GET http://127.0.0.1:8080/…: could not connect: …
}
