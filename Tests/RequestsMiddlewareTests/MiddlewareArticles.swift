import RequestsFoundation
import RequestsMiddleware
import RequestsSocket

// The code of the articles on caching, cookies and protection, which `MiddlewareArticleTests` runs; a House test finds
// each of their snippets in this file, line for line.

struct ArticleUser: Decodable, Hashable, Sendable { var login: String? }

private typealias User = ArticleUser

enum Users: Endpoint {
    case me
    case named(String)

    func request(from api: AnonymousRequestProvider) -> Request<AnonymousRequestProvider, ArticleUser> {
        switch self {
        case .me: api.get(.json(), from: "/user")
        case .named(let login): api.get(.json(), from: "/users/\(login)")
        }
    }
}

enum CachingArticle {
    static func chain(_ authenticator: FixedCredentials, _ environment: RequestEnvironment) -> some RequestExecutor {
        let executor = SocketExecutor()
            .decodingContent()
            .retrying()
            .authenticating(with: authenticator, within: environment)
            .caching()
        return executor
    }

    static func status(_ client: Client<AnonymousRequestProvider>) async throws -> String? {
        let response = try await client.response(for: Users.me)
        print(response.metrics.cacheStatus?.description ?? "no cache")
        // Requests; fwd=stale; fwd-status=304; ttl=60; stored
        return response.metrics.cacheStatus?.description
    }

    static func partition(_ base: SocketExecutor) -> some RequestExecutor {
        let store = Caching.DiskStore(folder: "/home/me/.cache/app")
        let executor = base.caching(
            in: store, partition: .named("octocat"))
        return executor
    }
}

enum CookiesArticle {
    static func client(_ api: AnonymousRequestProvider) -> Client<AnonymousRequestProvider> {
        let client = Client(api, executor: SocketExecutor())
            .keepingCookies()
        return client
    }

    static func shared(
        _ executor: some RequestExecutor, _ shopAPI: AnonymousRequestProvider, _ loginAPI: AnonymousRequestProvider
    ) -> [Client<AnonymousRequestProvider>] {
        let store = CookieStore()
        let shop = Client(shopAPI, executor: executor.keepingCookies(in: store))
        let login = Client(loginAPI, executor: executor.keepingCookies(in: store))
        return [shop, login]
    }

    static func file() async throws {
        let store = try CookieStore(path: "/home/me/.config/app/cookies")
        try await store.save()
    }

    static func requests(_ api: AnonymousRequestProvider) -> [Request<AnonymousRequestProvider, ArticleUser>] {
        [
            api.get(.json(), from: "/public").withoutCookies(),
            api.get(.json(), from: "/session").keepingCookies(in: CookieStore()),
        ]
    }

    static func jar(_ target: TargetURI, _ now: Date) -> [CookieJar.StoredCookie] {
        var jar = CookieJar()
        jar.store("id=7; Path=/a; Secure", from: target, at: now)
        let cookies = jar.cookies(for: target, at: now)
        return cookies
    }

    static func suffixes(_ publicSuffixList: String) -> CookieStore {
        let suffixes = CookieJar.PublicSuffixes(list: publicSuffixList)
        let store = CookieStore(CookieJar(publicSuffixes: suffixes))
        return store
    }

    static func system(_ store: CookieStore) -> [HTTPCookie] {
        for cookie in HTTPCookieStorage.shared.cookies ?? [] {
            if let head = ResponseHead(setting: cookie) { store.store(head) }
        }
        let cookies = store.cookies.compactMap { $0.settingHead?.cookies.first }
        return cookies
    }
}

enum ProtectionArticle {
    static func chain() -> some RequestExecutor {
        let executor = SocketExecutor()
            .decodingContent()
            .collecting(within: .shared)
            .coalescing()
            .limitingConcurrency(to: 64, perOrigin: 8)
            .limitingRate(to: 100, per: .seconds(1))
            .breakingCircuit()
            .retrying()
        return executor
    }

    static func fanOut(_ client: Client<AnonymousRequestProvider>, _ names: [String]) async throws -> [ArticleUser] {
        let users = try await client.concurrently(limit: 8)
            .perform(names.map(Users.named))
        return users
    }
}
