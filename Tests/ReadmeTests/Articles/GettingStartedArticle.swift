import RequestsMock
import RequestsURLSession
import Testing

enum GettingStartedArticle {
    enum Library: RequestProviding {
        case production, staging
        var baseURL: URL {
            switch self {
            case .production: URL("https://library.example.com/api")
            case .staging: URL("https://staging.example.com/api")
            }
        }
    }

    struct Book: Codable, Sendable, Equatable {
        let title: String
        let year: Int
    }

    enum Books: Endpoint {  // every case returns a Book
        case titled(String), add(Book)
        func request(from api: Library) -> Request<Library, Book> {
            switch self {
            case .titled(let title):
                api.get(.json(), from: "/books/\(title)")
            case .add(let book):
                api.post(.json(book), to: "/books", receiving: .json())
            }
        }
    }

    static func perform() async {
        let executor = URLSessionExecutor()
        let library = Client(Library.production, executor: executor)
        do throws(RequestError) {
            let book = try await library.perform(Books.titled("Either/Or"))
            print(book.year)
        } catch {
            print(error)  // method, URL, status and reason; never a secret
        }
    }

    struct Shelf {
        let library: Client<Library>

        func book(titled title: String) async throws(RequestError) -> Book? {
            do throws(RequestError) {
                return try await library.perform(Books.titled(title))
            } catch {
                guard error.status == 404 else { throw error }
                return nil
            }
        }
    }

    @Suite("The article on getting started")
    struct Tests {
        @Test("the example is tested without a network")
        func mocked() async throws {
            let book = Book(title: "Either/Or", year: 1843)
            let mock = MockExecutor { request in try .json(book) }
            let library = Client(Library.production, executor: mock)
            #expect(try await library.perform(Books.titled("Either/Or")) == book)

            let emma = try library.preparedRequest(for: Books.titled("Emma"))
            #expect(emma.url.path() == "/api/books/Emma")
        }

        @Test("a missing book is nil, and any other error is passed on")
        func missing() async throws {
            func shelf(_ status: HTTPStatus) -> Shelf {
                Shelf(library: Client(Library.staging, executor: MockExecutor(.status(status))))
            }
            #expect(try await shelf(404).book(titled: "Emma") == nil)
            let error = await #expect(throws: RequestError.self) { try await shelf(500).book(titled: "Emma") }
            #expect(error?.status == 500)
        }
    }
}
