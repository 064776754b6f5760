import Requests

private typealias GitHub = DescribingRequestsArticle.GitHub
private typealias Repo = DescribingRequestsArticle.Repo
private typealias Storage = DescribingRequestsArticle.Storage

enum DescribingRequestsArticle {
    struct GitHub: RequestProviding {
        let baseURL = URL("https://api.github.com")

        func makeJSONDecoder() -> JSONDecoder {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            decoder.dateDecodingStrategy = .iso8601
            return decoder
        }
    }

    struct User: Codable, Sendable {
        let login: String
    }

    struct Repo: Codable, Sendable {
        let id: Int
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

    struct Storage: RequestProviding {
        let baseURL = URL("https://storage.example.com")
    }

    static let key = "planted"

    struct External: RequestProviding {
        let baseURL = URL("https://api.example.org")

        func request(
            to endpoint: RequestPath, using method: HTTPMethod
        ) -> Request<External, Void> {
            Request(
                api: self, endpoint: endpoint, responseDecoder: .none,
                method: method
            )
            .adding(headerField: Field(name: "X-API-Key", value: key))
        }
    }

    static func perform(_ github: Client<GitHub>) async throws -> (User, [Repo]) {
        let user = try await github.perform(Users.named("octocat"))
        let repos = try await github.perform(.repos(of: "octocat"))
        return (user, repos)
    }

    static func photo(_ storage: Client<Storage>) async throws -> Data {
        // GET /photos/2026/caf%C3%A9%20%26%20bar.jpg
        let photo = try await storage.perform(
            .object("2026/café & bar.jpg", in: "photos"))
        return photo
    }

    static func prepare(_ github: Client<GitHub>) throws {
        let request = try github.preparedRequest(for: Users.me)
        print(request.wireText)
    }
}

extension Call<GitHub, [Repo]> {
    static func repos(of login: String) -> Self {
        Call { $0.get(.json(), from: "/users/\(login)/repos") }
    }
}

extension Call<Storage, Data> {
    static func object(_ key: String, in bucket: String) -> Self {
        Call { $0.get(.data, from: "/\(bucket)/\(segments: key)") }
    }
}
