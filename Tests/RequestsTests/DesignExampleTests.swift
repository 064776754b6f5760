import Requests
import Testing

private enum GitHub: RequestProviding {
    case production, staging
    var baseURL: URL {
        switch self {
        case .production: URL("https://api.github.com")
        case .staging: URL("https://staging.example.com")
        }
    }
}
private struct User: Codable, Equatable { let login: String }
private struct NewUser: Codable { let login: String }
private enum Users: Endpoint {
    case me, named(String), create(NewUser)
    func request(from api: GitHub) -> Request<GitHub, User> {
        switch self {
        case .me: api.get(.json(), from: "/user")
        case .named(let login): api.get(.json(), from: "/users/\(login)")
        case .create(let user): api.post(.json(user), to: "/users", receiving: .json())
        }
    }
}
extension Call<GitHub, [User]> {
    static func followers(of login: String, page: Int = 1) -> Self {
        Call { $0.get(.json(), from: "/users/\(login)/followers").adding(queryItem: ("page", page)) }
    }
}
private struct Echo: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let login = request.target.path.split(separator: "/").last.map(String.init) ?? ""
        return RawResponse(
            head: ResponseHead(status: 200, header: [.contentType(.json)], target: request.target),
            body: .bytes(Data(#"{"login":"\#(login)"}"#.utf8)))
    }
}

@Suite("The design's example")
struct DesignExampleTests {
    private let github = Client(GitHub.production, executor: Echo())

    @Test("the wire text of an endpoint is its request as sent")
    func wireText() throws {
        let text = try github.preparedRequest(for: Users.me).wireText
        #expect(text == "GET /user HTTP/1.1\nHost: api.github.com\nAccept: application/json\n\n")
        let other = try github.preparedRequest(for: .followers(of: "octo/cat")).wireText
        #expect(other.hasPrefix("GET /users/octo%2Fcat/followers?page=1 HTTP/1.1\n"))
        let post = try github.preparedRequest(for: Users.create(NewUser(login: "x"))).wireText
        let expected = """
            POST /users HTTP/1.1
            Host: api.github.com
            Accept: application/json
            Content-Type: application/json
            Content-Length: 13

            {"login":"x"}
            """
        #expect(post == expected)
    }

    @Test("an endpoint is performed from the main actor and returns its value")
    @MainActor
    func value() async throws {
        let user = try await github.perform(Users.named("octo/cat"))
        #expect(user == User(login: "octo%2Fcat"))
        await #expect(throws: RequestError.self) { try await github.perform(.followers(of: "x")) }
        let same = try await github.perform { $0.get(.json(User.self), from: "/users/\("a b")") }
        #expect(same.login == "a%20b")
    }
}
