import Requests
import TestCorpora
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private enum Kind: String, Sendable { case user = "us/er" }
private enum Level: Int, Sendable { case top = -3 }
private enum Own: String, PathValue, Sendable {
    case x
    var pathText: String { "own" }
}

// `"/users/\(name)"` with an optional name does not compile: Optional is neither a PathValue nor raw-representable.
@Suite("RequestPath")
struct RequestPathTests {
    @Test(
        "a literal is trusted, and keeps valid escapes and the path characters of RFC 3986",
        arguments: [
            ("/users", "/users"), ("users/", "users/"), ("/a b", "/a%20b"), ("/é", "/%C3%A9"), ("/a%2Fb", "/a%2Fb"),
            ("/a%2fb%zz%", "/a%2fb%25zz%25"), ("/a:b@c;d=e,f", "/a:b@c;d=e,f"), ("/-._~!$&'()*+", "/-._~!$&'()*+"),
            ("/[\"<>\\^`{|}]", "/%5B%22%3C%3E%5C%5E%60%7B%7C%7D%5D"), ("//a//", "//a//"), ("/../a/.", "/../a/."),
            ("", ""), ("/%4", "/%254"),
        ])
    func literal(text: String, encoded: String) throws {
        let path = RequestPath(text)
        #expect(path.encoded == encoded)
        #expect(path.template == text)
        #expect(RequestPath(path.encoded).encoded == encoded)
        _ = try api.get(.none, from: path).prepared()
    }

    @Test("an interpolated value stays within its segment")
    func interpolated() {
        let cases: [(RequestPath, String)] = [
            ("/users/\("a/b")", "/users/a%2Fb"), ("/users/\("a?b#c")/x", "/users/a%3Fb%23c/x"),
            ("/\("a b+%2F")", "/a%20b%2B%252F"), ("/\("é\u{0}\r\n")", "/%C3%A9%00%0D%0A"),
            ("/\("..".dropLast() + "x")", "/.x"), ("/\("..;")", "/..%3B"), ("/v\("1")-\("2")", "/v1-2"),
            ("/\(42)/\(-1)/\(UInt8.max)/\(Int64.min)", "/42/-1/255/-9223372036854775808"),
            ("/\(Kind.user)", "/us%2Fer"), ("/\(Level.top)", "/-3"), ("/\(Own.x)", "/own"),
            ("\("a")", "a"), ("/a%20b/\("c d")", "/a%20b/c%20d"), ("/\("a\\b")", "/a%5Cb"),
            ("/%\("2e")", "/%252e"), ("/%2\("f")", "/%252f"),
            ("/\("👩‍👩‍👧")", "/%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"),
        ]
        for (path, encoded) in cases { #expect(path.encoded == encoded) }
    }

    @Test("a UUID is written in its canonical form")
    func identifier() throws {
        let id = try #require(UUID(uuidString: "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"))
        let path: RequestPath = "/things/\(id)"
        #expect(path.encoded == "/things/E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    }

    @Test("raw text is trusted like a literal")
    func raw() {
        let path: RequestPath = "/a/\(raw: "b/c%20d/../é")/e"
        #expect(path.encoded == "/a/b/c%20d/../%C3%A9/e")
        #expect(path.template == "/a/{}/e")
        expectInvalid(.queryInPath) { try api.get(.none, from: "/\(raw: "a?b")").prepared() }
    }

    @Test(
        "a value of several segments keeps its slashes, and everything else in it is encoded", .rows("RQ-8"),
        arguments: [
            ("a", "a"), ("a/b", "a/b"), ("a b/c+d", "a%20b/c%2Bd"), ("%2F/%2e%2e", "%252F/%252e%252e"),
            ("é/e\u{301}", "%C3%A9/e%CC%81"), ("a/\u{301}b", "a/%CC%81b"), ("a?b#c/&=;", "a%3Fb%23c/%26%3D%3B"),
            (".../.a/a.", ".../.a/a."), ("..\\..", "..%5C.."), ("a\r\n\u{0}", "a%0D%0A%00"), ("..;/x", "..%3B/x"),
            (String(repeating: "a b/", count: 90) + "c", String(repeating: "a%20b/", count: 90) + "c"),
        ])
    func segments(value: String, encoded: String) throws {
        let path: RequestPath = "/files/\(segments: value)/x"
        #expect(path.encoded == "/files/\(encoded)/x" && path.template == "/files/{}/x")
        #expect(try api.get(.none, from: "\(segments: value[...])").prepared().target.path == "/api/\(encoded)")
    }

    @Test(
        "a value of several segments with an empty or a dot segment is an error that names the value", .rows("RQ-8"),
        arguments: [
            ("", .emptySegment), ("/", .emptySegment), ("/a", .emptySegment), ("a/", .emptySegment),
            ("a//b", .emptySegment), (".", .dotSegment), ("..", .dotSegment), ("../a", .dotSegment),
            ("a/../b", .dotSegment), ("a/..", .dotSegment), ("a/./b", .dotSegment), ("../../admin", .dotSegment),
        ] as [(String, RequestError.InvalidRequest)])
    func invalidSegments(value: String, problem: RequestError.InvalidRequest) {
        for path in ["/files/\(segments: value)", "/files/\(segments: value)/b", "/x-\(segments: value).txt"]
            as [RequestPath]
        {
            expectInvalid(problem) { try api.get(.none, from: path).prepared() }
            let error = #expect(throws: RequestError.self) { try api.get(.none, from: path).prepared() }
            #expect("\(error.map { "\($0)" } ?? "")".contains("value “\(value)”"))
        }
    }

    @Test("segments that a value completes together with the text around it are checked too", .rows("RQ-8"))
    func completedSegments() {
        let paths: [RequestPath] = [
            "/.\(segments: "a/b")/.\(".")", "/a/\(raw: ".")./b", "/a/\(raw: ".")\(raw: ".")", "/a/.\(raw: "%2E")/b",
        ]
        for path in paths {
            expectInvalid(.dotSegment, "\(path)") { try api.get(.none, from: path).prepared() }
        }
    }

    @Test(
        "raw text cannot leave the directory of the literal", .rows("RQ-8"),
        arguments: [
            ("../../admin", false), ("..", false), ("../", false), ("a/../../b", false), ("a/..", true),
            ("a/../b", true),
            ("./a", true), (".", true), ("a/b/../../c", true), ("a/b/../../../files/c", false), ("%2e%2E/x", false),
            (".%2e", false), ("a//../../b", false), ("/../x", false), ("..a", true), ("...", true),
            ("a/./../../b", false),
            ("", true), ("%252e%252e", true), ("..%2Fx", false), ("a%2F%2e%2E", false), ("..%5cx", false),
            ("a\\..\\b", false), ("..;v=1/x", false), ("a%2Fb", true), ("a..%2Fb;c..d", true), ("%2F..", false),
        ])
    func rawDirectory(text: String, isAllowed: Bool) throws {
        let paths: [RequestPath] = ["/files/\(raw: text)", "/files/\(raw: text)/x", "\(raw: text)"]
        for path in paths {
            if isAllowed {
                _ = try api.get(.none, from: path).prepared()
            } else {
                expectInvalid(.dotSegment, "\(path)") { try api.get(.none, from: path).prepared() }
                let error = #expect(throws: RequestError.self) { try api.get(.none, from: path).prepared() }
                #expect("\(error.map { "\($0)" } ?? "")".contains("value “\(text)”"))
            }
        }
    }

    @Test("the directory of raw text begins at the last slash of the literal before it", .rows("RQ-8"))
    func rawDirectories() throws {
        let (up, down) = ("../b", "a/c")
        expectInvalid(.dotSegment) { try api.get(.none, from: "/\(raw: down)/\(raw: up)").prepared() }
        let allowed: [RequestPath] = [
            "/\(raw: down)\(raw: "/" + up)", "/\("v")\(raw: "/" + up)", "/pre-\(raw: up)", "/..\(raw: "x")",
            "/../\(raw: down)",
        ]
        for path in allowed { _ = try api.get(.none, from: path).prepared() }
    }

    @Test("the template has a placeholder for each value")
    func template() {
        let path: RequestPath = "/users/\("x")/repos/\(7)"
        #expect(path.template == "/users/{}/repos/{}")
        #expect("\(path)" == "/users/x/repos/7")
    }

    @Test("the template is correct for many values, for long values and for escaped text")
    func longTemplates() {
        let (long, spaced) = (String(repeating: "x", count: 300), String(repeating: "a b/", count: 90))
        let escaped = String(repeating: "a%20b%2F", count: 90)
        let many: RequestPath = "/\(1)/\(2)/\(3)/\(4)/\(5)/é/\(6)"
        #expect(many.encoded == "/1/2/3/4/5/%C3%A9/6")
        #expect(many.template == "/{}/{}/{}/{}/{}/é/{}")
        let spaces: RequestPath = "/\(1)/a b/\(2)c d"
        #expect(spaces.encoded == "/1/a%20b/2c%20d")
        #expect(spaces.template == "/{}/a b/{}c d")
        let values: RequestPath = "/\(long)/\(spaced)/\(7)/\(raw: long)/z"
        #expect(values.encoded == "/\(long)/\(escaped)/7/\(long)/z")
        #expect(values.template == "/{}/{}/{}/{}/z")
        let far: RequestPath = "/\(1)\(raw: "/" + long)/\(2)\(3)"
        #expect(far.encoded == "/1/\(long)/23")
        #expect(far.template == "/{}{}/{}{}")
    }

    @Test("paths are equal only if both their encoded text and their template are equal")
    func equality() {
        let written: RequestPath = "/a/\(1)"
        #expect(written == "/a/\("1")")
        #expect(written != "/a/1")
        #expect(Set([written, "/a/\(1)", "/a/1"]).count == 2)
        let (one, other): (RequestPath, RequestPath) = ("/\(1)2", "/1\(2)")
        #expect(one.encoded == other.encoded)
        #expect(one != other)
    }

    @Test("a path made from random pieces is the concatenation of its encoded pieces")
    func pieces() {
        var random = SplitMix64(state: 1)
        let texts = [
            "", "/", "a", "/a b/", "é", "%2e", "%", "x/y", "longer than a word in all of its places", ".", "~*",
        ]
        for _ in 0..<2000 {
            var interpolation = RequestPath.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
            var (encoded, template) = ("", "")
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                let text = texts.randomElement(using: &random) ?? ""
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    interpolation.appendLiteral(text)
                    encoded += RequestPath(text).encoded
                    template += text
                case 1:
                    interpolation.appendInterpolation(text)
                    encoded += PercentEncoding.rfc3986.encode(text)
                    template += "{}"
                default:
                    interpolation.appendInterpolation(raw: text)
                    encoded += RequestPath(text).encoded
                    template += "{}"
                }
            }
            let path = RequestPath(stringInterpolation: interpolation)
            #expect(path.encoded == encoded)
            #expect(path.template == template)
        }
    }

    @Test("a path that cannot be sent is an error when the request is prepared")
    func problems() {
        let empty = ""
        let cases: [(RequestPath, RequestError.InvalidRequest)] = [
            ("/a?b", .queryInPath), ("/a#b", .fragmentInPath), ("/a\u{0}", .controlCharacterInPath),
            ("/a\r\nHost: b", .controlCharacterInPath), ("/a\u{7F}", .controlCharacterInPath),
            ("/a\tb", .controlCharacterInPath),
            ("/\(empty)", .emptySegment), ("/a/\(empty)/b", .emptySegment), ("\(empty)", .emptySegment),
            ("/\(empty)\(empty)/a", .emptySegment), ("/\(".")", .dotSegment), ("/\("..")/a", .dotSegment),
            ("/.\(".")", .dotSegment), ("/\(".")\(".")/b", .dotSegment), ("/%2e\(".")/b", .dotSegment),
            ("/%2E\(empty)", .dotSegment), ("/\(".")%2e", .dotSegment), ("\("..")", .dotSegment),
            ("/\(raw: "%2E")\(".")", .dotSegment), ("/a/\("..")", .dotSegment),
        ]
        for (path, problem) in cases {
            expectInvalid(problem, "\(path)") { try api.get(.none, from: path).prepared() }
        }
    }

    @Test("segments that only resemble empty or dot segments are sent")
    func harmless() throws {
        let empty = ""
        let paths: [RequestPath] = ["/a\(empty)", "/\("...")", "/.\("a")", "//a", "/\("%2e")", "/\("a.")", "/x\("..")"]
        for path in paths { #expect(throws: Never.self) { try api.get(.none, from: path).prepared() } }
    }
}
