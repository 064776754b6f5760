import RequestsConformance
import RequestsURLSession
import TestSupport
import Testing

// The matrix needs hosts that do not exist. The session reaches them through the proxy in `http_proxy`, which libcurl
// uses, so a child process sets this variable.
@Suite("URLSession: secrets and redirects", .timeLimit(.minutes(10)), .enabled(if: Support.isOnLinux))
struct URLSessionSecretTests {
    @Test(
        "a redirect never sends a secret to another origin, however it is spelled", .rows("T-59", "R-27", "L3", "D-22"))
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

    @Test("127.0.0.1, localhost and another port are different origins for secrets", .rows("T-59", "R-27"))
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
                    let request = ServerAPI(baseURL: server.baseURL).get(.none, from: "/").with(header: header)
                    try await executor.perform(request)
                    let last = (server.exchanges + other.exchanges).last { $0.target.hasSuffix("/next") }
                    #expect(last?.header[.authorization] == (isSameOrigin ? "a" : nil), "\(location)")
                }
            }
        }
    }
}
