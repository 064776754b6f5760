import Requests
import RequestsMock
import RequestsURLSession

enum RequestsArticle {
    struct User: Codable, Sendable {
        let login: String
    }

    enum GitHub: RequestProviding {
        case production, staging
        var baseURL: URL {
            switch self {
            case .production: URL("https://api.github.com")
            case .staging: URL("https://staging.example.com")
            }
        }
    }

    enum Users: Endpoint {
        case me, named(String)
        func request(from api: GitHub) -> Request<GitHub, User> {
            switch self {
            case .me: api.get(.json(), from: "/user")
            case .named(let login): api.get(.json(), from: "/users/\(login)")
            }
        }
    }
}

enum CallingFromSynchronousCodeArticle {
    typealias Users = RequestsArticle.Users

    @MainActor
    static func handler(_ client: Client<RequestsArticle.GitHub>, _ show: @escaping @MainActor (Any) -> Void) {
        let task = client.perform(Users.me) { result in  // on the main actor
            switch result {
            case .success(let response):
                show(response.value)
            case .failure(let error) where error.isCancellation:
                break
            case .failure(let error):
                show(error)
            }
        }
        task.cancel()
    }

    static func blocking(_ client: Client<RequestsArticle.GitHub>) throws {
        let user = try client.performAndWait(Users.me)
        let response = try client.responseAndWait(for: Users.me)
        print(response.status, response.value)
        print(user)
    }
}

enum HandlingErrorsArticle {
    static func emma(in library: Client<GettingStartedArticle.Library>) async throws -> GettingStartedArticle.Book? {
        typealias Books = GettingStartedArticle.Books
        do throws(RequestError) {
            return try await library.perform(Books.titled("Emma"))
        } catch {
            switch error.reason {
            case .unacceptableStatus where error.status == .notFound:
                return nil
            case .timedOut(let phase):
                print("too slow: \(phase)")
            default:
                print(error)
            }
            throw error
        }
    }
}

enum HeaderFieldsArticle {
    static func headers(_ token: String) -> [Header] {
        let header: Header = [.accept: "text/csv", "X-Client": "app"]
        let typed: Header = [.accept("text/csv"), .authorization(bearerToken: token)]
        return [header, typed]
    }
}

enum ChoosingAnExecutorArticle {
    typealias Library = GettingStartedArticle.Library

    static func client(_ isTest: Bool) -> Client<Library> {
        let executor: any RequestExecutor =
            isTest ? MockExecutor(.ok()) : URLSessionExecutor()
        let library = Client(Library.production, executor: executor)
        return library
    }
}
