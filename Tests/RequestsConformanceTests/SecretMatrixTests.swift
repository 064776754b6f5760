import RequestsConformance
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Secrets and redirects", .notInstrumented("its cases differ only in text"), .timeLimit(.minutes(10)))
struct SecretMatrixTests {
    @Test("a redirect never sends a secret to another origin, however it is spelled", .rows("T-59", "R-27", "R-28"))
    func overSockets() async throws {
        let loopback = try #require(SocketAddress(ipLiteral: "127.0.0.1", port: 0))
        var configuration = SocketExecutor.Configuration()
        configuration.resolver = Resolver { _ throws(ResolverError) in [loopback] }
        let executor = SocketExecutor(configuration: configuration)
        try await withTestServer(serving: SecretMatrix.responder) { server in
            try await withTestServer(serving: SecretMatrix.responder) { other in
                let ports = try (#require(server.baseURL.port as Int?), #require(other.baseURL.port as Int?))
                let matrix = try SecretMatrix(port: ports.0, otherPort: ports.1)
                try await matrix.verify(over: executor, reaching: ["http"]) {
                    (server.exchanges.suffix(2) + other.exchanges.suffix(2)).filter { $0.target.hasPrefix("/next") }
                        .map(\.header)
                }
            }
        }
    }

    @Test("a proxy keeps its credentials, and zones are compared although they are never sent", .rows("R-27", "R-28"))
    func throughProxy() async throws {
        try await withTestServer(serving: SecretMatrix.responder) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.proxy = .init(host: "127.0.0.1", port: try #require(server.baseURL.port))
            let executor = SocketExecutor(configuration: configuration)
            for matrix in [try SecretMatrix(), SecretMatrix.zones] {
                try await matrix.verify(over: executor, reaching: ["http"], isProxied: true) {
                    server.exchanges.suffix(2).filter { $0.target.contains("/next") }.map(\.header)
                }
            }
            #expect(server.exchanges.allSatisfy { !$0.target.contains("%25") })
        }
    }
}
