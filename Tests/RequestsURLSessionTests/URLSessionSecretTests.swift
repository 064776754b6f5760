import RequestsConformance
import RequestsURLSession
import Testing

// libcurl asks the proxy that `http_proxy` names, which is how a session reaches hosts that are not there; a process of
// its own has that variable.
@Suite("URLSession: secrets and redirects", .timeLimit(.minutes(5)), .enabled(if: Support.isOnLinux))
struct URLSessionSecretTests {
    @Test("secrets stay with their origin, whatever the redirect and their spelling (T-59, R-27, L3, D-22)")
    func matrix() async {
        await #expect(processExitsWith: .success) {
            try await withTestServer(serving: SecretMatrix.responder) { server in
                setenv("http_proxy", server.baseURL.absoluteString, 1)
                setenv("no_proxy", "", 1)
                try await SecretMatrix().verify(over: URLSessionExecutor(), reaching: ["http"]) {
                    server.exchanges.suffix(2).filter { $0.target.contains("/next") }.map(\.header)
                }
            }
        }
    }

    @Test("between 127.0.0.1, localhost and another port go no secrets (T-59, R-27)")
    func loopbackNames() async throws {
        try await withTestServer(serving: SecretMatrix.responder) { server in
            try await withTestServer(serving: SecretMatrix.responder) { other in
                let port = try #require(server.baseURL.port)
                let executor = URLSessionExecutor()
                for (location, isSameOrigin) in [
                    ("http://127.0.0.1:\(port)/next", true), ("http://localhost:\(port)/next", false),
                    ("\(other.baseURL.absoluteString)/next", false),
                ] {
                    let header: Header = [
                        Field(name: "aUtHoRiZaTiOn", value: "a"), Field(name: "X-To", value: location),
                        Field(name: "X-Status", value: "307"),
                    ]
                    let request = Place(baseURL: server.baseURL).get(.none, from: "/").with(header: header)
                    try await executor.perform(request)
                    let last = (server.exchanges + other.exchanges).last { $0.target.hasSuffix("/next") }
                    #expect(last?.header[.authorization] == (isSameOrigin ? "a" : nil), "\(location)")
                }
            }
        }
    }
}
