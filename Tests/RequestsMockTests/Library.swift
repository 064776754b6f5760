import RequestsMock

/// The API of these tests.
enum StubbedLibrary: RequestProviding {
    case main, mirror

    var baseURL: URL {
        switch self {
        case .main: URL("https://library.test/api")
        case .mirror: URL("https://mirror.test/v2/api")
        }
    }
}

struct StubbedBook: Codable, Sendable, Equatable {
    var title: String
    var year: Int
}

enum StubbedBooks: Endpoint {
    case titled(String)
    case add(StubbedBook)
    case latest(page: Int?)

    func request(from api: StubbedLibrary) -> Request<StubbedLibrary, StubbedBook> {
        switch self {
        case .titled(let title): api.get(.json(), from: "/books/\(title)")
        case .add(let book): api.post(.json(book), to: "/books", receiving: .json())
        case .latest(let page): api.get(.json(), from: "/books").adding(queryItem: ("page", page))
        }
    }
}

struct StubbedSummary: Endpoint {
    let title: String

    func request(from api: StubbedLibrary) -> Request<StubbedLibrary, String> {
        api.get(.text, from: "/books/\(title)")
    }
}

struct StubbedRemoval: Endpoint {
    let title: String

    func request(from api: StubbedLibrary) -> Request<StubbedLibrary, Void> {
        api.delete("/books/\(title)")
    }
}

extension Call<StubbedLibrary, [StubbedBook]> {
    static func books(since year: Int) -> Self {
        Call { $0.get(.json(), from: "/books").adding(queryItem: ("since", year)) }
    }
}

let emma = StubbedBook(title: "Emma", year: 1815)
let orlando = StubbedBook(title: "Orlando", year: 1928)

/// Returns a client of the main library over `executor`.
func library(_ executor: any RequestExecutor, _ api: StubbedLibrary = .main) -> Client<StubbedLibrary> {
    Client(api, executor: executor)
}

/// Returns the error of `operation`; nil if it throws none or another.
func requestError(of operation: () async throws -> some Sendable) async -> RequestError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? RequestError
    }
}
