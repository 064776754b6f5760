import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

enum TLSAndTrustArticle {
    struct UnexpectedServer: Error {
        let host: String

        init(_ host: String) { self.host = host }
    }

    struct Secrets: Sendable {
        func passphrase() throws -> String { "planted" }
    }

    static func trusting() -> SocketExecutor {
        var configuration = SocketExecutor.Configuration()
        configuration.tls.trust = .certificates(atPath: "/etc/app/ca.pem")
        let executor = SocketExecutor(configuration: configuration)
        return executor
    }

    static func trust(
        _ pem: Data, _ current: TLSConfiguration.Fingerprint, _ backup: TLSConfiguration.Fingerprint, _ secrets: Secrets
    ) throws -> TLSConfiguration {
        var tls = TLSConfiguration()
        tls.trust = .certificates(atPath: "/etc/app/ca.pem")  // these only
        tls.trust = .system.adding(.certificates(pem))  // these as well
        tls.trust = .system(readsEnvironment: true)  // SSL_CERT_FILE, SSL_CERT_DIR

        tls.pins = [
            .host("example.com", publicKeys: [current, backup])
        ]

        tls.identity = TLSConfiguration.Identity(
            certificatesAtPath: "/etc/app/client.pem",
            privateKeyAtPath: "/etc/app/client.key",
            passphrase: { try secrets.passphrase() })

        tls.serverCheck = { host, chain in
            guard chain.first?.names.contains(host) == true else {
                throw UnexpectedServer(host)
            }
        }
        return tls
    }

    static func reload(_ executor: SocketExecutor) async throws {
        try await executor.reloadTLS()
    }

    static func server(_ mock: MockExecutor) async throws {
        try await withTestServer(serving: mock, tls: .init()) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.tls = server.clientTLS
            let executor = SocketExecutor(configuration: configuration)
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let text = try await executor.perform(api.get(.text, from: "/"))
            #expect(text == "ok")
        }
    }
}
