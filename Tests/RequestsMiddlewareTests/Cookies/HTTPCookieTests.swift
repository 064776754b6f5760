import RequestsFoundation
import RequestsMiddleware
import TestSupport
import Testing

@Suite("Stored cookies and HTTPCookie")
struct HTTPCookieTests {
    private let now = Date(timeIntervalSince1970: 2_000_000_000)

    @Test(
        "a stored cookie converts to HTTPCookie and back", .rows("L13"),
        arguments: [
            "a=b=c", "a=b; Domain=example.com; Path=/x; Secure; HttpOnly", "a=b; Max-Age=60",
        ])
    func roundTrip(value: String) throws {
        var jar = CookieJar(publicSuffixes: .conservative)
        jar.store(value, from: try TargetURI("https://example.com/"), at: now)
        let stored = try #require(jar.cookies.first)
        let cookie = try #require(stored.settingHead?.cookies.first)
        #expect(cookie.name == "a" && cookie.value == stored.value && cookie.path == stored.path)
        #expect(cookie.isSecure == stored.isSecure && cookie.expiresDate == stored.expires)
        var copy = CookieJar(publicSuffixes: .conservative)
        copy.store(try #require(ResponseHead(setting: cookie)), at: now)
        #expect(copy.cookies == jar.cookies)
    }

    @Test("a cookie for a domain that is not a host converts to no head", .rows("L13"))
    func invalid() throws {
        let properties: [HTTPCookiePropertyKey: Any] = [.name: "a", .value: "b", .domain: "a b", .path: "/"]
        guard let cookie = HTTPCookie(properties: properties) else { return }
        #expect(ResponseHead(setting: cookie) == nil)
    }
}
