import RequestsSocket
import RequestsTestServer
import Synchronization
import Testing

/// The authenticator of an app for proxies with a scheme that the package does not know.
private final class TicketAuthenticator: AuthenticationChallenge.ProxyAuthenticator {
    private let secret: String
    /// The ticket of each proxy.
    private let tickets = Mutex<[String: String]>([:])
    private let accepted = Mutex<[String]>([])

    init(secret: String) { self.secret = secret }

    /// The tickets of the requests that proxies accepted.
    var acceptedTickets: [String] { accepted.withLock { $0 } }

    func proxyCredentials(
        for request: AuthenticationChallenge.ProxyRequest
    ) throws(RequestError) -> (fieldValue: String?, token: String) {
        guard let ticket = tickets.withLock({ $0[request.proxy] }) else { return (nil, "") }
        return ("Ticket id=\(ticket), method=\(request.method), secret=\(secret)", ticket)
    }

    func handleChallenge(
        in response: ResponseHead, to request: AuthenticationChallenge.ProxyRequest, token: String
    ) throws(RequestError) -> Bool {
        let challenges = response.header.proxyChallenges
        guard let ticket = challenges.first(where: { $0.usesScheme("ticket") })?.parameters["id"], ticket != token
        else { return false }
        tickets.withLock { $0[request.proxy] = ticket }
        return true
    }

    func receive(
        fromProxy response: ResponseHead, for request: AuthenticationChallenge.ProxyRequest, token: String
    ) throws(RequestError) {
        accepted.withLock { $0.append(token) }
    }
}

/// A proxy that challenges requests without the ticket 7 and the secret `s`, and responds to the others.
///
/// A mock would not receive Proxy-Authorization.
private struct TicketProxy: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let isSignedIn = request.header[.proxyAuthorization] == "Ticket id=7, method=GET, secret=s"
        var header: Header = [.contentType(.plainText)]
        if !isSignedIn { header["Proxy-Authenticate"] = #"Basic realm="x", Ticket id="7""# }
        return RawResponse(
            head: ResponseHead(status: isSignedIn ? 200 : 407, header: header, target: request.target),
            body: .bytes(Data((isSignedIn ? "welcome" : "sign in").utf8)))
    }
}

@Suite("An app's own authenticator for a proxy", .timeLimit(.minutes(10)))
struct ProxySignInTests {
    private func client(
        _ server: TestServer, _ authenticator: TicketAuthenticator
    ) throws -> Client<AnonymousRequestProvider> {
        var configuration = SocketExecutor.Configuration()
        let port = try #require(server.port)
        configuration.proxy = .init(host: "127.0.0.1", port: port, authorization: .init(with: authenticator))
        let api = AnonymousRequestProvider("http://shop.test")
        return Client(api, executor: SocketExecutor(configuration: configuration))
    }

    @Test("a challenge is met once, and later requests have the credentials at once")
    func meets() async throws {
        try await withTestServer(serving: TicketProxy()) { server in
            let authenticator = TicketAuthenticator(secret: "s")
            let shop = try client(server, authenticator)
            for _ in 1...2 {
                let text = try await shop.perform { $0.get(.text, from: "/items") }
                #expect(text == "welcome")
            }
            #expect(server.exchanges.map(\.status) == [407, 200, 200])
            #expect(server.exchanges.allSatisfy { $0.target == "http://shop.test/items" })
            #expect(authenticator.acceptedTickets == ["7", "7"])
        }
    }

    @Test("a 407 to credentials that the authenticator does not change is final")
    func refused() async throws {
        try await withTestServer(serving: TicketProxy()) { server in
            let shop = try client(server, TicketAuthenticator(secret: "wrong"))
            let error = await #expect(throws: RequestError.self) {
                try await shop.perform { $0.get(.text, from: "/items") }
            }
            #expect(error?.status == .proxyAuthenticationRequired)
            #expect(server.exchanges.map(\.status) == [407, 407])
        }
    }
}
