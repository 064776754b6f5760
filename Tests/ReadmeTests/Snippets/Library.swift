import RequestsMock

// The API of the README’s program, which a test cannot import.

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
