import RequestsMiddleware
import TestSupport
import Testing

@Suite("Cookie jar", .serialized, .timeLimit(.minutes(10)))
struct CookieJarTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)
    private var now: Date { Self.now }

    private func target(_ text: String) throws -> TargetURI { try TargetURI(text) }

    /// Returns the text of the Cookie field for a request to `url`.
    private func sent(_ jar: inout CookieJar, to url: String, after seconds: Double = 1) throws -> String {
        jar.cookies(for: try target(url), at: now + seconds).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    private func jar(_ values: String..., from url: String) throws -> CookieJar {
        var jar = CookieJar(publicSuffixes: .conservative)
        for value in values { jar.store(value, from: try target(url), at: now) }
        return jar
    }

    @Test(
        "a cookie is sent to the hosts, paths and schemes that it belongs to, and to no others", .rows("R-39"),
        arguments: [
            ("a=1", "https://example.com/x/y", "https://example.com/x/z", true),
            ("a=1", "https://example.com/x/y", "https://www.example.com/x/z", false),
            ("a=1", "https://www.example.com/", "https://example.com/", false),
            ("a=1; Domain=example.com", "https://www.example.com/", "https://example.com/", true),
            ("a=1; Domain=.EXAMPLE.com", "https://www.example.com/", "https://a.b.example.com/", true),
            ("a=1; Domain=example.com", "https://example.com/", "https://badexample.com/", false),
            ("a=1; Domain=ample.com", "https://example.com/", "https://ample.com/", false),
            ("a=1; Domain=www.example.com", "https://example.com/", "https://www.example.com/", false),
            ("a=1; Domain=com", "https://example.com/", "https://example.com/", false),
            ("a=1; Domain=.com", "https://example.com/", "https://other.com/", false),
            ("a=1; Domain=.", "https://example.com/", "https://example.com/", false),
            ("a=1; Domain=..", "https://example.com/", "https://example.com/", false),
            ("a=1; Domain=co.uk", "https://example.co.uk/", "https://other.co.uk/", false),
            ("a=1; Domain=com.", "https://example.com./", "https://other.com./", false),
            ("a=1; Domain=example.com.", "https://example.com/", "https://example.com/", false),
            ("a=1", "https://example.com./", "https://example.com/", false),
            ("a=1; Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1:81/", true),
            ("a=1; Domain=0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", false),
            ("a=1; Domain=[::1]", "http://[::1]/", "http://[::1]/", true),
            ("a=1; Domain=exämple.com", "https://example.com/", "https://example.com/", false),
            ("a=1; Path=/x", "https://example.com/", "https://example.com/x", true),
            ("a=1; Path=/x", "https://example.com/", "https://example.com/x/y?q", true),
            ("a=1; Path=/x", "https://example.com/", "https://example.com/xy", false),
            ("a=1; Path=/x/", "https://example.com/", "https://example.com/x", false),
            ("a=1; Path=x", "https://example.com/y/z", "https://example.com/y/", true),
            ("a=1; Path=\"/\"", "https://example.com/y/z", "https://example.com/", false),
            ("a=1; Path=/X", "https://example.com/", "https://example.com/x", false),
            ("a=1; Secure", "https://example.com/", "https://example.com/", true),
            ("a=1; Secure", "https://example.com/", "http://example.com/", false),
            ("a=1; Secure", "http://example.com/", "https://example.com/", false),
            ("a=1; Secure", "http://localhost:8080/", "http://localhost/", true),
            ("a=1; Secure", "http://127.9.0.1/", "http://127.9.0.1/", true),
            ("a=1; Secure", "http://128.0.0.1/", "https://128.0.0.1/", false),
            ("a=1; HttpOnly; SameSite=Strict", "https://example.com/", "https://example.com/", true),
            ("a=1", "http://example.com:81/", "https://example.com:82/", true),
        ])
    func scope(value: String, from: String, to: String, isSent: Bool) throws {
        var jar = try jar(value, from: from)
        #expect(try sent(&jar, to: to) == (isSent ? "a=1" : ""))
    }

    @Test("longer paths come first, then older cookies, and a changed cookie keeps its place", .rows("R-39"))
    func order() throws {
        var jar = CookieJar()
        let url = "https://example.com/a/b/c"
        for (index, value) in ["1=1; Path=/", "2=1; Path=/a/b", "3=1; Path=/a", "4=1; Path=/", "1=2; Path=/"]
            .enumerated()
        {
            jar.store(value, from: try target(url), at: now + Double(index))
        }
        #expect(try sent(&jar, to: url, after: 9) == "2=1; 3=1; 1=2; 4=1")
        #expect(jar.cookies.map(\.name) == ["1", "2", "3", "4"])
    }

    @Test("name, domain, path and whether it is for the host only identify a cookie", .rows("R-39"))
    func identity() throws {
        var jar = try jar(
            "a=1", "a=2; Domain=www.example.com", "a=3; Path=/x", "A=4", "a=5", from: "https://www.example.com/")
        #expect(try sent(&jar, to: "https://www.example.com/x") == "a=3; a=5; a=2; A=4")
    }

    @Test(
        "a lifetime ends at the date of Max-Age, else of Expires, else with the session; 400 days at most",
        .rows("R-39"),
        arguments: [
            ("a=1", nil), ("a=1; Max-Age=60", 60.0), ("a=1; max-age=60; Max-Age=90", 90),
            ("a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60), ("a=1; Max-Age=+60", nil),
            ("a=1; Max-Age=6.5", nil), ("a=1; Max-Age=", nil), ("a=1; Max-Age=60; Max-Age=x", 60),
            ("a=1; Max-Age=9223372036854775807", 34_560_000),
            ("a=1; Max-Age=\(String(repeating: "9", count: 400))", 34_560_000),
            ("a=1; Expires=Sun, 09 Sep 2001 01:47:40 GMT", 60),
            ("a=1; Expires=Sun, 09 Sep 9999 01:47:40 GMT", 34_560_000),
            ("a=1; Expires=Sun, 09 Sep 99999 01:47:40 GMT", nil), ("a=1; Expires=30 Feb 2002 01:00:00", nil),
            ("a=1; Expires=31 Dec 1600 01:00:00", nil), ("a=1; Expires=9 Sep 2001 24:00:00", nil),
            ("a=1; Expires=0 Sep 2001 01:00:00", nil), ("a=1; Expires=now", nil),
        ])
    func lifetime(value: String, seconds: Double?) throws {
        let jar = try jar(value, from: "https://example.com/")
        #expect(jar.count == 1)
        #expect(jar.cookies.first?.expires == seconds.map { now + $0 })
    }

    @Test(
        "a cookie whose date has passed removes the stored one", .rows("R-39"),
        arguments: [
            "a=; Max-Age=0", "a=; Max-Age=-1", "a=; Max-Age=-99999999999999999999",
            "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=x; Expires=Mon, 01-Jan-1601 00:00:00 GMT",
        ])
    func removal(value: String) throws {
        var jar = try jar("a=1", "b=2", value, from: "https://example.com/")
        #expect(jar.count == 1)
        #expect(try sent(&jar, to: "https://example.com/") == "b=2")
    }

    @Test("an expired cookie is no longer sent, from its date on", .rows("R-39"))
    func expiry() throws {
        var jar = try jar("a=1; Max-Age=60", "b=1", from: "https://example.com/")
        #expect(try sent(&jar, to: "https://example.com/", after: 59.9) == "a=1; b=1")
        #expect(try sent(&jar, to: "https://example.com/", after: 60) == "b=1")
        jar.removeExpired(at: now + 60)
        #expect(jar.cookies.map(\.name) == ["b"])
        jar.removeSessionCookies()
        #expect(jar.count == 0)
    }

    @Test("no other connection replaces or shadows a secure cookie", .rows("R-39"))
    func secureCookies() throws {
        let cases: [(secure: String, from: String, value: String, host: String, isStored: Bool)] = [
            ("a=1; Secure", "https://example.com/", "a=2", "http://example.com/", false),
            ("a=1; Secure; Domain=example.com", "https://example.com/", "a=2", "http://www.example.com/", false),
            ("a=1; Secure", "https://www.example.com/", "a=2; Domain=example.com", "http://example.com/", false),
            ("a=1; Secure; Path=/x", "https://example.com/", "a=2; Path=/x/y", "http://example.com/", false),
            ("a=1; Secure; Path=/x", "https://example.com/", "a=2; Path=/", "http://example.com/", true),
            ("a=1; Secure", "https://example.com/", "A=2", "http://example.com/", true),
            ("a=1; Secure", "https://example.com/", "a=2", "http://other.com/", true),
            ("a=1", "https://example.com/", "a=2", "http://example.com/", true),
            ("a=1; Secure", "https://example.com/", "a=2", "https://example.com/", true),
        ]
        for test in cases {
            var jar = try jar(test.secure, from: test.from)
            let isStored = jar.store(test.value, from: try target(test.host), at: now)
            #expect(isStored == test.isStored, "\(test)")
        }
        // Once it is removed or replaced by one that is not secure, it is no obstacle.
        var jar = try jar("a=1; Secure", "a=2", from: "https://example.com/")
        let isStored = jar.store("a=3", from: try target("http://example.com/"), at: now)
        #expect(isStored)
    }

    @Test("a cookie without a name does not pass for a secure one", .rows("R-39"))
    func namelessCookies() throws {
        let (secure, open) = (try target("https://example.com/"), try target("http://example.com/"))
        // The value, and whether it is stored beside the secure cookie.
        let values = [
            ("=a=2", false), ("==a=2", false), ("a", false), ("=a", false), ("=a=", false), ("=a=2; Path=/x", false),
            ("=b=2", true), ("=A=2", true), ("b", true), ("=ab=2", true),
        ]
        for (value, isStored) in values {
            var jar = try jar("a=1; Secure", from: "https://example.com/")
            let results = [open, secure].map { jar.store(value, from: $0, at: now) }
            #expect(results == [isStored, true], "\(value)")
        }
        // If the nameless cookie was there first, the secure one replaces it like a cookie of its own name.
        for (value, remaining) in [("=a=2", ["1"]), ("=a=2; Path=/x", ["a=2", "1"]), ("=b=2", ["b=2", "1"])] {
            var jar = try jar(value, from: "http://example.com/")
            jar.store("a=1; Secure", from: secure, at: now)
            let found = jar.cookies(for: try target("https://example.com/x/y"), at: now)
            #expect(found.map(\.value) == remaining)
        }
        // As with a name, a cookie without Secure replaces no other.
        var jar = try jar("=a=2", "a=1", from: "https://example.com/")
        let found = jar.cookies(for: secure, at: now)
        #expect(found.map(\.value) == ["a=2", "1"])
    }

    @Test(
        "a name with a prefix has the attributes that it promises, in any case", .rows("R-39"),
        arguments: [
            ("__Secure-a=1; Secure", true), ("__Secure-a=1", false), ("__SECURE-a=1", false),
            ("__Host-a=1; Secure; Path=/", true), ("__host-a=1; Secure", false), ("__Host-a=1; Path=/", false),
            ("__Host-a=1; Secure; Path=/x", false), ("__Host-a=1; Secure; Path=/; Domain=example.com", false),
            ("=__Host-a=1; Secure; Path=/", false), ("__secure-a; Secure", false), ("__Hos-a=1", true),
        ])
    func prefixes(value: String, isStored: Bool) throws {
        #expect(try jar(value, from: "https://example.com/").count == (isStored ? 1 : 0))
    }

    @Test(
        "a cookie from another source must have the attributes that the prefix of its name requires", .rows("R-39"),
        arguments: [
            ("__Secure-a", "1", true, true, "/x", true), ("__Secure-a", "1", false, true, "/", false),
            ("__SECURE-a", "1", false, true, "/", false), ("__Secure-a", "1", true, false, "/", true),
            ("__Host-a", "1", true, true, "/", true), ("__Host-a", "1", false, true, "/", false),
            ("__host-a", "1", true, true, "/x", false), ("__Host-a", "1", true, false, "/", false),
            ("", "__Host-a=1", true, true, "/", false), ("", "__secure-a=1", true, true, "/", false),
            ("__Secur-a", "1", false, false, "/x", true),
        ])
    func insertedPrefixes(
        name: String, value: String, isSecure: Bool, isHostOnly: Bool, path: String, isAccepted: Bool
    ) throws {
        var jar = CookieJar(publicSuffixes: .conservative)
        let cookie = try #require(
            CookieJar.StoredCookie(
                name: name, value: value, domain: "example.com", isHostOnly: isHostOnly, path: path,
                isSecure: isSecure, created: now))
        #expect(jar.insert(cookie, at: now) == isAccepted && jar.count == (isAccepted ? 1 : 0))
    }

    @Test("a target whose scheme is not http or https neither sets nor receives cookies", .rows("R-39"))
    func schemes() throws {
        var jar = try jar("a=1", from: "https://example.com/")
        for scheme in ["ftp", "ws", "wss", "file", "httpx", "gopher"] {
            let other = try target("\(scheme)://example.com/")
            #expect(jar.cookies(for: other, at: now).isEmpty, "\(scheme)")
            #expect(!jar.store("a=2", from: other, at: now) && jar.cookies.map(\.value) == ["1"], "\(scheme)")
        }
        for scheme in ["http", "https", "HTTP"] {
            #expect(try sent(&jar, to: "\(scheme)://example.com/") == "a=1")
        }
    }

    @Test("a cookie that replaces another keeps its time of creation, unless the other has expired", .rows("R-39"))
    func creation() throws {
        var jar = CookieJar(publicSuffixes: .conservative)
        let url = try target("https://example.com/")
        jar.store("a=1; Max-Age=10", from: url, at: now)
        jar.store("b=1; Max-Age=100", from: url, at: now + 1)
        jar.store("a=2; Max-Age=10", from: url, at: now + 2)
        #expect(jar.cookies.first { $0.name == "a" }?.created == now)
        // At its expiry, a cookie has expired.
        jar.store("a=3; Max-Age=100", from: url, at: now + 12)
        #expect(jar.cookies.first { $0.name == "a" }?.created == now + 12)
        #expect(try sent(&jar, to: "https://example.com/", after: 13) == "b=1; a=3")
        let inserted = try #require(
            CookieJar.StoredCookie(name: "b", value: "2", domain: "example.com", created: now + 150))
        jar.insert(inserted, at: now + 150)
        #expect(jar.cookies.first { $0.name == "b" }?.created == now + 150)
    }

    @Test("the attribute SameSite is kept, and has no effect", .rows("R-39"))
    func sameSite() throws {
        for (text, value) in [
            ("Strict", CookieJar.SameSite.strict), ("lax", .lax), ("NONE", .unrestricted), ("other", nil), ("", nil),
        ] as [(String, CookieJar.SameSite?)] {
            let jar = try jar("a=1; SameSite=\(text)", from: "https://example.com/")
            #expect(jar.cookies.first.map(\.sameSite) == .some(value), "\(text)")
        }
    }

    @Test("the list of public suffixes has names, wildcards, exceptions and names outside ASCII", .rows("R-39"))
    func suffixes() {
        let suffixes = CookieJar.PublicSuffixes(
            list: """
                // a comment
                com
                co.uk  and a note
                *.ck
                !www.ck
                公司.cn
                bücher.example
                """)
        for (domain, isSuffix) in [
            ("com", true), ("COM.", true), ("example.com", false), ("co.uk", true), ("uk", true), ("x.co.uk", false),
            ("other.ck", true), ("www.ck", false), ("a.b.ck", false), ("unlisted", true), ("xn--55qx5d.cn", true),
            ("xn--bcher-kva.example", true), ("buecher.example", false),
        ] {
            #expect(suffixes.contains(domain) == isSuffix, "\(domain)")
        }
    }

    @Test("without a list, too many domains are public suffixes rather than too few", .rows("R-39"))
    func conservativeSuffixes() {
        for (domain, isSuffix) in [
            ("com", true), ("", true), ("example.com", false), ("co.uk", true), ("com.au", true), ("gouv.fr", true),
            ("bbc.uk", true), ("example.uk", false), ("www.bbc.uk", false), ("localhost", true),
        ] {
            #expect(CookieJar.PublicSuffixes.conservative.contains(domain) == isSuffix, "\(domain)")
        }
    }

    @Test(
        "the system's list comes from libpsl, which knows more than the rule without a list", .rows("R-39"),
        .enabled(if: CookieJar.PublicSuffixes.system.contains("github.io"), "libpsl is not installed"))
    func systemSuffixes() {
        // Both show that the list is used: the rule without a list gives the opposite results.
        #expect(!CookieJar.PublicSuffixes.conservative.contains("github.io"))
        #expect(CookieJar.PublicSuffixes.conservative.contains("bbc.uk"))
        for (domain, isSuffix) in [("bbc.uk", false), ("co.uk", true), ("com", true), ("example.com", false)] {
            #expect(CookieJar.PublicSuffixes.system.contains(domain) == isSuffix, "\(domain)")
        }
    }

    @Test("imported cookies pass the same rules", .rows("R-39", "R-40"))
    func importing() throws {
        func cookie(_ name: String, _ value: String, _ domain: String, _ path: String = "/", _ isHostOnly: Bool = true)
            -> CookieJar.StoredCookie?
        {
            CookieJar.StoredCookie(
                name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, created: now)
        }
        for invalid in [
            cookie("", "", "e.com"), cookie("a=", "b", "e.com"), cookie("a", "b;c", "e.com"),
            cookie("a", "b\n", "e.com"),
            cookie("a\0", "b", "e.com"), cookie(" a", "b", "e.com"), cookie("a", "b\t", "e.com"), cookie("a", "b", ""),
            cookie("a", "b", "é.com"), cookie("a", "b", "e.com", "x"), cookie("a", "b", "e.com", "/;"),
            cookie("a", "b", String(repeating: "e", count: 256)),
        ] { #expect(invalid == nil) }
        var jar = CookieJar(publicSuffixes: .conservative)
        let domain = try #require(cookie("a", "b", ".Example.com", "/", false))
        let suffix = try #require(cookie("a", "b", "com", "/", false))
        let large = try #require(cookie("a", String(repeating: "b", count: 4_096), "e.com"))
        let isAccepted = [domain, suffix, large].map { jar.insert($0, at: now) }
        #expect(isAccepted == [true, false, false] && domain.domain == "example.com")
        #expect(try sent(&jar, to: "http://www.example.com/") == "a=b")
        #expect(try #require(cookie("a", "b", "127.0.0.1", "/", false)).isHostOnly)
    }

    @Test("neither a description nor a dump shows the value of a cookie")
    func redaction() throws {
        let jar = try jar("name=planted", from: "https://example.com/")
        let cookie = try #require(jar.cookies.first)
        var texts = ["\(jar)", "\(cookie)", "\(jar.cookies)"]
        for value in [jar, cookie, jar.cookies, CookieStore(jar)] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        #expect(texts.allSatisfy { !$0.contains("planted") } && texts[1].contains("name"))
    }

    @Test("a description of a cookie has no characters that control a terminal or the order of text", .rows("R-40"))
    func controls() throws {
        let path = "/a\u{9B}31m\u{202E}\u{301}"
        let cookie = try #require(
            CookieJar.StoredCookie(name: "n", value: "v", domain: "example.com", path: path, created: .distantPast))
        #expect("\(cookie)" == "“n”=<redacted> for example.com/a\\u{9B}31m\\u{202E}\\u{301}")
    }
}
