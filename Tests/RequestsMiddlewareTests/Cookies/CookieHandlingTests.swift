@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Cookies of calls", .serialized, .timeLimit(.minutes(10)))
struct CookieHandlingTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    private static func store() -> CookieStore {
        CookieStore(CookieJar(publicSuffixes: .conservative), now: { now })
    }

    /// A server that sets cookies with a path, redirects `/a` to `/b/c`, and records the Cookie fields.
    private static func server() -> MockExecutor {
        MockExecutor { request in
            var response = MockResponse.ok("ok")
            switch request.target.path {
            case "/a":
                response = MockResponse(
                    status: 302,
                    header: [
                        Field(name: .location, value: "/b/c"), Field(name: .setCookie, value: "hop=1; Path=/b"),
                        Field(name: .setCookie, value: "other=1; Path=/other"),
                    ])
            case "/set": response.header.add(Field(name: .setCookie, value: "id=7; Path=/"))
            default: break
            }
            return response
        }
    }

    @Test(
        "a cookie that a redirect sets is stored, and sent to its target if it belongs there",
        .rows("HT-27", "HT-28", "R-39"),
        arguments: Transport.allCases)
    func redirects(transport: Transport) async throws {
        let server = Self.server()
        let store = Self.store()
        try await transport.run(serving: server) { api, executor in
            let client = Client(api, executor: executor.keepingCookies(in: store))
            _ = try await client.perform(api.get(.text, from: "/a"))
            _ = try await client.perform(api.get(.text, from: "/set"))
            _ = try await client.perform(api.get(.text, from: "/b/d"))
        }
        #expect(
            server.recordedRequests.map { $0.header[.cookie] } == [nil, "hop=1", nil, "hop=1; id=7"])
        #expect(store.cookies.map(\.name) == ["hop", "other", "id"])
    }

    @Test("an error does not print the cookies that its response repeats", .rows("R-74"))
    func repeatedCookies() async throws {
        let server = MockExecutor { .status(404, "cookies: \($0.header[.cookie] ?? "")") }
        let store = Self.store()
        let api = AnonymousRequestProvider("http://example.com")
        store.store(
            ResponseHead(
                status: 200, header: [Field(name: .setCookie, value: "id=planted")],
                target: try TargetURI("http://example.com/")))
        let client = Client(api, executor: server.keepingCookies(in: store))
        let error = await failure { () async throws(RequestError) in
            try await client.perform(api.get(.text, from: "/a"))
        }
        #expect(error?.body == Data("cookies: id=planted".utf8))
        #expect(error.map { !String(reflecting: $0).contains("planted") } == true)
    }

    @Test("each host receives its own cookies, also after the call has left its origin", .rows("HT-27", "R-27", "R-39"))
    func origins() async throws {
        let server = MockExecutor { request in
            switch request.target.host {
            case "one.example.com":
                MockResponse(
                    status: 302,
                    header: [
                        Field(name: .location, value: "https://two.example.com/"),
                        Field(name: .setCookie, value: "one=1"),
                        Field(name: .setCookie, value: "both=1; Domain=example.com"),
                    ])
            case "two.example.com":
                MockResponse(status: 302, header: [Field(name: .location, value: "https://three.example.org/")])
            default: .ok("")
            }
        }
        let store = Self.store()
        store.withJar { jar in
            jar.store("two=2", from: Self.target("https://two.example.com/"), at: Self.now)
            jar.store("three=3", from: Self.target("https://three.example.org/"), at: Self.now)
        }
        let api = AnonymousRequestProvider("https://one.example.com")
        let client = Client(api, executor: server.keepingCookies(in: store))
        _ = try await client.perform(
            api.get(.data, from: "/").setting(cookie: "own", to: "planted"))
        #expect(
            server.recordedRequests.map { $0.header[.cookie] } == ["own=planted", "two=2; both=1", "three=3"])
    }

    private static func target(_ url: String) -> TargetURI {
        guard let target = try? TargetURI(url) else { preconditionFailure("the URL is invalid") }
        return target
    }

    @Test(
        "cookies of the request are first and replace stored ones of their name; without any there is no field",
        .rows("T-85"),
        arguments: [
            (nil, "n=v", "n=v"), ("t=a==", "n=v", "t=a==; n=v"), ("t=a==;", "n=v", "t=a==; n=v"),
            (" ; t=1 ;; u", "n=v", "t=1; u; n=v"), ("n=own", "n=v", "n=own"), ("N=own", "n=v", "N=own; n=v"),
            ("t=1", nil, "t=1"), (nil, nil, nil), ("t", "value", "t"),
            ("t=\u{301}1; n\u{301}=2", "n=v", "t=\u{301}1; n\u{301}=2; n=v"),
        ] as [(String?, String?, String?)])
    func merging(own: String?, stored: String?, expected: String?) async throws {
        let mock = MockExecutor { _ in .ok("") }
        let store = Self.store()
        if let stored {
            store.withJar { jar in
                jar.store(stored, from: Self.target("https://example.com/"), at: Self.now)
            }
        }
        var request = PreparedRequest(target: Self.target("https://example.com/"))
        if let own { request.header.set(Field(name: .cookie, value: own)) }
        _ = try await mock.keepingCookies(in: store).execute(request)
        #expect(mock.recordedRequests.map { $0.header[.cookie] } == [expected])
        #expect(mock.recordedRequests.allSatisfy { $0.header.values(of: .cookie).count <= 1 })
    }

    @Test("the field has at most 8,190 bytes unless the cookies of the request are longer", .rows("R-40"))
    func sizes() async throws {
        let mock = MockExecutor { _ in .ok("") }
        let store = Self.store()
        store.withJar { jar in
            for number in 0..<9 {
                jar.store(
                    "n\(number)=\(String(repeating: "v", count: 1_000))", from: Self.target("https://example.com/"),
                    at: Self.now)
            }
        }
        for (own, count) in [(0, 8), (1_000, 7), (9_000, 0)] {
            var request = PreparedRequest(target: Self.target("https://example.com/"))
            let field = "t=" + String(repeating: "o", count: own)
            if own > 0 { request.header.set(Field(name: .cookie, value: field)) }
            _ = try await mock.keepingCookies(in: store).execute(request)
            let sent = mock.recordedRequests.last?.header[.cookie] ?? ""
            #expect(sent.utf8.split(separator: 0x3B).count == count + (own > 0 ? 1 : 0))
            #expect(sent.utf8.count + 8 <= max(8_190, field.utf8.count + 8))
        }
    }

    @Test("a request can do without cookies, or have a jar of its own", .rows("HT-27", "HT-28"))
    func choices() async throws {
        let server = Self.server()
        let (store, own) = (Self.store(), Self.store())
        let api = AnonymousRequestProvider("https://example.com")
        // Twice, as when an app and a library both add it.
        let client = Client(api, executor: server).keepingCookies(in: store).keepingCookies(in: store)
        _ = try await client.perform(api.get(.text, from: "/set").withoutCookies())
        #expect(store.cookies.isEmpty)
        _ = try await client.perform(api.get(.text, from: "/set").keepingCookies(in: own))
        #expect(store.cookies.isEmpty && own.cookies.count == 1)
        _ = try await client.perform(api.get(.text, from: "/set"))
        _ = try await client.perform(api.get(.text, from: "/").withoutCookies())
        _ = try await client.perform(api.get(.text, from: "/").keepingCookies(in: Self.store()))
        _ = try await client.perform(api.get(.text, from: "/"))
        #expect(server.recordedRequests.map { $0.header[.cookie] } == [nil, nil, nil, nil, nil, "id=7"])
    }

    /// A provider and a store of an app.
    private final class OwnCookies: CookieProviding, CookieStoring {
        let targets = Lock<[String]>([])

        func cookies(for target: TargetURI) -> [CookieJar.StoredCookie] {
            targets.withLock { $0.append("for \(target.path)") }
            let cookie = CookieJar.StoredCookie(name: "n", value: "v", domain: target.host, created: now)
            return cookie.map { [$0] } ?? []
        }

        func store(_ response: ResponseHead) {
            targets.withLock { $0.append("from \(response.target.path)") }
        }
    }

    @Test("an app can provide cookies itself, store them itself, or both", .rows("HT-27", "HT-28"))
    func protocols() async throws {
        let server = Self.server()
        let own = OwnCookies()
        let api = AnonymousRequestProvider("https://example.com")
        _ = try await Client(api, executor: server.keepingCookies(in: own)).perform(api.get(.text, from: "/a"))
        #expect(own.targets.withLock { $0 } == ["for /a", "from /a", "for /b/c", "from /b/c"])
        let providing = server.intercepted(by: CookieHandling(from: own, storingIn: nil))
        _ = try await Client(api, executor: providing).perform(api.get(.text, from: "/x"))
        let storing = server.intercepted(by: CookieHandling(from: nil, storingIn: own))
        _ = try await Client(api, executor: storing).perform(api.get(.text, from: "/y"))
        #expect(own.targets.withLock { $0.suffix(2) } == ["for /x", "from /y"])
        #expect(server.recordedRequests.map { $0.header[.cookie] } == ["n=v", "n=v", "n=v", nil])
    }

    @Test("the cookies of a response whose body fails are stored too", .rows("HT-28"))
    func failures() async throws {
        let mock = MockExecutor { request in
            let head = ResponseHead(
                status: 200, header: [Field(name: .setCookie, value: "a=1")], target: request.target)
            throw RequestError(.connectionLost).adding(request: request, response: head)
        }
        let store = Self.store()
        await #expect(throws: RequestError.self) {
            _ = try await mock.keepingCookies(in: store).execute(
                PreparedRequest(target: Self.target("https://example.com/")))
        }
        #expect(store.cookies.map(\.name) == ["a"])
    }

    @Test("the cookies of every response are stored, even if it is retried, and the retry sends them", .rows("HT-28"))
    func retries() async throws {
        let count = Lock(0)
        let mock = MockExecutor { _ in
            let number = count.withLock { number in
                number += 1
                return number
            }
            var response = MockResponse.status(number == 1 ? 503 : 200, "")
            response.header.add(Field(name: .setCookie, value: "n=\(number)"))
            return response
        }
        let clock = ManualClock()
        let executor = mock.keepingCookies(in: Self.store()).retrying(clock: clock.clock())
        _ = try await executor.execute(PreparedRequest(target: Self.target("https://example.com/")))
        #expect(mock.recordedRequests.map { $0.header[.cookie] } == [nil, "n=1"])
    }

    @Test("no description of a request or an error shows a cookie", .rows("HT-27"))
    func redaction() async throws {
        let store = Self.store()
        store.withJar { jar in
            jar.store("n=planted", from: Self.target("https://example.com/"), at: Self.now)
        }
        let mock = MockExecutor { request in throw RequestError(.connectionLost).adding(request: request) }
        let executor = mock.keepingCookies(in: store)
        let error = await #expect(throws: RequestError.self) {
            _ = try await executor.execute(PreparedRequest(target: Self.target("https://example.com/")))
        }
        var texts = ["\(try #require(error))", "\(mock.recordedRequests)", mock.recordedRequests[0].curlCommand()]
        for value in [executor, error as Any, mock.recordedRequests[0], store] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        #expect(mock.recordedRequests[0].header[.cookie] == "n=planted")
        #expect(texts.allSatisfy { !$0.contains("planted") })
    }
}
