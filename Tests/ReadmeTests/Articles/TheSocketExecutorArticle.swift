import RequestsMiddleware
import RequestsSocket

enum TheSocketExecutorArticle {
    enum GitHub: RequestProviding {
        case production

        var baseURL: URL { URL("https://api.github.com") }
    }

    enum Engine: RequestProviding {
        case local

        var baseURL: URL { URL("http://engine") }
    }

    struct Repo: Decodable, Sendable {
        let id: Int
    }

    static func executors() -> (Client<GitHub>, Client<Engine>, SocketExecutor) {
        let github = Client(GitHub.production, executor: SocketExecutor())
        let socket = SocketExecutor(.unix(path: "/run/engine.sock"))
        let engine = Client(Engine.local, executor: socket)

        var configuration = SocketExecutor.Configuration()
        configuration.maximumConnectionsPerOrigin = 16
        configuration.proxy = .init(
            host: "proxy.example", port: 3128,
            excludedHosts: [".internal.example"])
        let tuned = SocketExecutor(configuration: configuration)
        return (github, engine, tuned)
    }

    static func upload(
        _ client: Client<GitHub>, _ api: GitHub, _ movie: URL, _ digest: Digest
    ) async throws -> Request<GitHub, Void> {
        let upload = api.put(.file(at: movie), to: "/movies/1")
            .expectingContinue(timeout: .seconds(2))
        try await client.perform(upload)

        let signed = upload.sending(trailers: "Content-Digest") {
            [Field(name: "Content-Digest", value: digest.value)]
        }
        return signed
    }

    /// The digest of a body, which is known when the body has been produced.
    final class Digest: Sendable {
        var value: String { "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:" }
    }

    static func onTheThread(_ github: Client<GitHub>) async throws -> [Repo] {
        try await withTaskExecutorPreference(SocketTaskExecutor.shared) {
            try await github.perform(.repos(of: "octocat"))
        }
    }

    static func decoding() -> Client<GitHub> {
        let executor = SocketExecutor().decodingContent()
        let github = Client(GitHub.production, executor: executor)
        return github
    }

    static func proxies(_ secret: String) throws -> SocketExecutor.Configuration {
        var configuration = SocketExecutor.Configuration()
        configuration.proxy = .init(
            scheme: .socks5, host: "127.0.0.1", port: 1080)
        configuration.proxy = try .environment()

        configuration.proxy = .init(
            host: "proxy.example", port: 3128,
            authorization: .init(
                with: DigestAuthenticator(username: "me", password: secret)))
        return configuration
    }

    static func http2() -> SocketExecutor {
        var configuration = SocketExecutor.Configuration()
        configuration.httpVersion = .http2PriorKnowledge
        let executor = SocketExecutor(configuration: configuration)
        return executor
    }

    static func addresses() -> SocketExecutor.Configuration {
        var configuration = SocketExecutor.Configuration()
        configuration.hostResolver = .mapping([
            "api.example.com": "127.0.0.1:8080"
        ])
        configuration.localAddress = "192.0.2.7"
        configuration.keepAliveProbes = .init(idleTime: .seconds(30))
        return configuration
    }

    static func service(_ executor: SocketExecutor, _ api: some RequestProviding) async throws -> Bool {
        try await executor.connect(to: api.baseURL, count: 4)
        // …
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        let isIdle = await executor.drain(until: deadline)
        return isIdle
    }
}

extension Call<TheSocketExecutorArticle.GitHub, [TheSocketExecutorArticle.Repo]> {
    fileprivate static func repos(of login: String) -> Self {
        Call { $0.get(.json(), from: "/users/\(login)/repos") }
    }
}
