import Requests
import TestSupport
import Testing

@Suite("Cookies of a request")
struct CookieTests {
    private struct Site: RequestProviding {
        let baseURL = URL("http://example.com")
    }

    private let request = Site().get(.text, from: "/")

    @Test("a cookie is added to the others and replaces the one with its name", .rows("HT-10"))
    func joining() throws {
        let prepared =
            try request
            .setting(cookie: Cookie(name: "a", value: "1"))
            .setting(cookies: [Cookie(name: "b", value: "2"), Cookie(name: "A", value: "3")])
            .setting(cookie: Cookie(name: "a", value: "4"))
            .prepared()
        #expect(prepared.header == [Field(name: .cookie, value: "a=4; b=2; A=3")])
    }

    @Test("setting a cookie keeps the other pairs of the field and drops empty ones", .rows("HT-10", "T-85"))
    func merging() throws {
        for (old, new) in [
            ("t=a==", "t=a==; n=v"), ("t=a==;", "t=a==; n=v"), (" ; t=1 ;; u", "t=1; u; n=v"),
            ("n=1; t=2; n=3", "n=v; t=2"),
        ] {
            var header: Header = [Field(name: .cookie, value: old)]
            header.set(cookie: try Cookie(name: "n", value: "v"))
            #expect(header == [Field(name: .cookie, value: new)], "\(old)")
        }
        var twice: Header = [Field(name: "cookie", value: "a=1"), Field(name: .cookie, value: "b=2")]
        twice.set(cookie: try Cookie(name: "n", value: "v"))
        #expect(twice.values(of: .cookie) == ["a=1; b=2; n=v"])
    }

    @Test("an empty list of cookies adds no field", .rows("T-85"))
    func none() throws {
        #expect(try request.setting(cookies: []).prepared().header.isEmpty)
    }

    @Test(
        "a name or value that would be ambiguous in the field is rejected", .rows("HT-10", "R-1"),
        arguments: [
            ("", "v"), ("a b", "v"), ("a=b", "v"), ("a;b", "v"), ("é", "v"), ("a", "v;b=1"), ("a", "v\r\nX: 1"),
            ("a", "\0"),
            ("a", " v"), ("a", "v\t"),
        ])
    func refused(name: String, value: String) {
        #expect(throws: RequestError.InvalidRequest.invalidCookie) { try Cookie(name: name, value: value) }
    }

    @Test("the value of a cookie is never printed", arguments: ["secret"])
    func redacted(value: String) throws {
        let cookie = try Cookie(name: "a", value: value)
        var dumped = ""
        dump(cookie, to: &dumped)
        #expect(!"\(cookie)".contains(value) && !dumped.contains(value) && "\(cookie)".hasPrefix("a="))
    }
}
