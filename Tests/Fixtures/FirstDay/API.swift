import RequestsSocket

/// The API that the tasks use: names in snake case, and dates in ISO 8601.
struct GitHub: RequestProviding {
    let baseURL: URL

    func makeJSONEncoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }

    func makeJSONDecoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }
}

struct User: Codable, Sendable, Equatable {
    let id: Int
    let login: String
    var createdAt: Date?
}

struct Repo: Codable, Sendable, Equatable {
    let id: Int
}

struct RepoList: Codable, Sendable {
    let results: [Repo]
    let query: String
}

struct GitHubProblem: Codable, Sendable {
    let message: String
}

enum Users: Endpoint {
    case me, named(String), add(User)

    func request(from api: GitHub) -> Request<GitHub, User> {
        switch self {
        case .me: api.get(.json(), from: "/user")
        case .named(let login): api.get(.json(), from: "/users/\(login)")
        case .add(let user): api.post(.json(user), to: "/users", receiving: .json())
        }
    }
}

extension Call<GitHub, [Repo]> {
    static var repos: Self { Call { $0.get(.json(), from: "/repos") } }
}

extension Call<GitHub, ResponseStream.Events> {
    static var feed: Self { Call { $0.get(.events, from: "/feed") } }
}
