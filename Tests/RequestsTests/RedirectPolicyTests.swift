import Requests
import TestSupport
import Testing

private enum BodyKind: CaseIterable {
    case none, bytes, file, oneShot

    var body: RequestBody {
        switch self {
        case .none: .none
        case .bytes: .bytes(Data("x".utf8))
        case .file: .file(path: "/f")
        case .oneShot: .stream(length: nil, isReplayable: false) { throw RequestError(.other) }
        }
    }
}

/// Returns a request with a redirect policy, by default to a URL with a path, a query and a fragment.
func redirectable(
    _ method: HTTPMethod = .get, _ url: String = "https://a.com/x/y?q#f", header: Header = .empty,
    body: RequestBody = .none, policy: RedirectPolicy = .standard
) throws -> PreparedRequest {
    var request = PreparedRequest(method: method, target: try TargetURI(url), header: header, body: body)
    request.redirectPolicy = policy
    return request
}

extension PreparedRequest {
    /// Returns the request that follows a response with `status` and a Location field for each of `locations`.
    fileprivate func following(_ status: HTTPStatus, _ locations: String?...) throws(RequestError) -> PreparedRequest? {
        let header = Header(locations.compactMap { $0 }.map { Field(name: .location, value: $0) })
        return try redirectPolicy.request(
            following: self, after: ResponseHead(status: status, header: header, target: target))
    }
}

@Suite("Redirects")
struct RedirectPolicyTests {
    @Test("the default limits for the body of a redirect are 64 KiB and 1 s", .rows("R-25"))
    func drain() throws {
        #expect(RedirectPolicy.standard.drainLimit == 64 << 10)
        #expect(RedirectPolicy.standard.drainTimeout == .seconds(1))
        #expect(try redirectable().redirectPolicy.drainTimeout == .seconds(1))
    }

    @Test(
        "the status of a redirect decides the method and body of the next request", .rows("R-32", "R-33", "T-59"),
        arguments: [301, 302, 303, 307, 308] as [HTTPStatus],
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PURGE"] as [HTTPMethod])
    private func methods(status: HTTPStatus, method: HTTPMethod) throws {
        let becomesGet =
            switch status {
            case 303: method != .get && method != .head
            case 301, 302: method == .post
            default: false
            }
        for kind in BodyKind.allCases where kind == .none || (method != .get && method != .head) {
            let header: Header = [
                .contentType(.json), Field(name: "content-ENCODING", value: "gzip"),
                Field(name: .contentLanguage, value: "en"), .accept(.json),
            ]
            let original = try redirectable(method, header: header, body: kind.body)
            if !becomesGet, kind == .oneShot {
                let error = #expect(throws: RequestError.self) { try original.following(status, "/z") }
                #expect(error?.reason == .bodyNotReplayable)
                continue
            }
            let next = try #require(try original.following(status, "/z"))
            #expect(next.target.absoluteString == "https://a.com/z#f")
            #expect(next.redirectedFrom == original.target)
            #expect(next.method == (becomesGet ? .get : method))
            #expect(next.body.isNone == (becomesGet || kind == .none))
            #expect(next.header == (becomesGet ? [.accept(.json)] : header))
        }
    }

    @Test(
        "a policy that preserves the method repeats a POST after 301 and 302 and sends a GET after 303", .rows("R-32"),
        arguments: [301, 302, 303] as [HTTPStatus])
    private func keeping(status: HTTPStatus) throws {
        let original = try redirectable(
            .post, header: [.contentType(.json)], body: .bytes(Data("{}".utf8)),
            policy: RedirectPolicy(preservesMethod: true))
        let next = try original.following(status, "/z")
        #expect(next?.method == (status == 303 ? .get : .post))
        #expect(next?.header == (status == 303 ? .empty : [.contentType(.json)]))
        #expect(next?.body.isNone == (status == 303))
    }

    @Test("other statuses and redirects without Location are not followed (RFC 9110 §15.4)")
    func others() throws {
        for code in 100..<600 where ![301, 302, 303, 307, 308].contains(code) {
            #expect(try redirectable().following(HTTPStatus(code), "/z") == nil, "\(code)")
        }
        #expect(try redirectable().following(302, nil) == nil)
        #expect(try redirectable().following(302, "") == nil)
    }

    @Test(
        "secrets are removed only if the scheme, host or port changes", .rows("R-27", "T-59"),
        arguments: [
            ("https://a.com/z", true), ("https://A.COM/z", true), ("https://a.com:443/z", true), ("/z", true),
            ("//a.com/z", true), ("?z", true), ("https://u:p@a.com/z", true), ("https://b.com/z", false),
            ("//b.com/z", false), ("https://a.com:444/z", false), ("https://sub.a.com/z", false),
            ("https://com/z", false), ("https://a.com./z", false), ("https://a.com.b.com/z", false),
            ("https://a.com@b.com/z", false), ("http://a.com/z", false), ("http://a.com:443/z", false),
            ("https://xa.com/z", false), ("https://[::1]/z", false),
        ])
    func origins(location: String, keeps: Bool) throws {
        let secrets: [Field] = ["authorization", "Authorization", "PROXY-Authorization", "cookie", "x-KEY"].map {
            Field(name: Field.Name($0), value: "s")
        }
        let policy = RedirectPolicy(allowsDowngrade: true, sensitiveFields: ["X-Key"])
        let original = try redirectable(header: Header([.accept(.json)] + secrets), policy: policy)
        for status: HTTPStatus in [301, 302, 303, 307, 308] {
            let next = try #require(try original.following(status, location))
            #expect(next.header.count == (keeps ? 6 : 1))
            #expect(next.header[.accept] == "application/json")
            #expect(!next.wireText(secrets: .revealed).contains("u:p"))
        }
    }

    @Test(
        "secrets are removed if the zone of an IPv6 address changes", .rows("R-27"),
        arguments: [
            ("http://[fe80::1%25a]/z", true), ("/z", true), ("http://[fe80::1%a]:80/z", true),
            ("http://[fe80::1%25b]/z", false), ("http://[fe80::1]/z", false),
        ])
    func zones(location: String, keeps: Bool) throws {
        let original = try redirectable(
            .get, "http://[fe80::1%25a]/", header: [Field(name: .authorization, value: "s"), .accept(.json)])
        let next = try #require(try original.following(302, location))
        #expect(next.header == (keeps ? original.header : [.accept(.json)]))
    }

    @Test(
        "a Location is resolved as a reference, and its non-ASCII bytes are percent-encoded", .rows("R-2", "R-31"),
        arguments: [
            ("z", "https://a.com/x/z#f"), ("/z?a=b", "https://a.com/z?a=b#f"), ("z#g", "https://a.com/x/z#g"),
            ("?r", "https://a.com/x/y?r#f"), ("../z", "https://a.com/z#f"), ("/a b", "https://a.com/a%20b#f"),
            ("/é", "https://a.com/%C3%A9#f"), ("https://b.com", "https://b.com/#f"), ("/%zz", "https://a.com/%25zz#f"),
        ])
    func resolving(location: String, target: String) throws {
        #expect(try redirectable().following(302, location)?.target.absoluteString == target)
    }

    @Test("bytes of a Location that are not UTF-8 are percent-encoded as received", .rows("R-23", "R-31"))
    func latin1() throws {
        let original = try redirectable()
        let head = ResponseHead(
            status: 302, header: [Field(name: .location, valueBytes: [0x2F, 0xE9])], target: original.target)
        let next = try original.redirectPolicy.request(following: original, after: head)
        #expect(next?.target.path == "/%E9")
    }

    @Test(
        "a redirect to a malformed, unsupported or insecure target is rejected", .rows("R-29", "R-30", "R-31"),
        arguments: [
            "javascript:alert(1)", "file:///etc/passwd", "data:,x", "unix:/run/x", "ftp://a.com/", "gopher://a.com/",
            "mailto:a@b.c", "http://a.com/z", "https://", "https:///z", "https:z", "//", "https://b%2Fc.com/",
            "https://é.com/", "https://b.com:x/", "https://b.com:0/", "//a.com:0", "https://[::%31]/", "/a\u{0}",
            "https://0x7f.1/", "ws://a.com/",
        ])
    func refused(location: String) throws {
        let error = #expect(throws: RequestError.self) { try redirectable().following(302, location) }
        #expect(error?.reason == .unexpectedRedirect)
        #expect(error?.status == 302)
    }

    @Test("two Location fields must be equal", .rows("R-31"))
    func twoLocations() throws {
        #expect(try redirectable().following(302, "/z", "/z")?.target.path == "/z")
        let error = #expect(throws: RequestError.self) { try redirectable().following(302, "/z", "/w") }
        #expect(error?.reason == .unexpectedRedirect)
    }

    @Test("a redirect from https to http is followed only if allowed, from http to https always", .rows("R-29"))
    func downgrade() throws {
        let error = #expect(throws: RequestError.self) { try redirectable().following(302, "http://a.com/z") }
        #expect(error?.detail?.hasPrefix("https to http://a.com/z") == true)
        let allowing = RedirectPolicy(allowsDowngrade: true)
        #expect(try redirectable(policy: allowing).following(302, "http://a.com/")?.target.scheme == "http")
        #expect(try redirectable(.get, "http://a.com/").following(302, "https://a.com/")?.target.scheme == "https")
        #expect(try redirectable(.get, "http://a.com/").following(302, "http://b.com/")?.target.host == "b.com")
    }
}
