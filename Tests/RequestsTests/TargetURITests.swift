import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("TargetURI")
struct TargetURITests {
    @Test(
        "a URI is parsed and written in its canonical form (RFC 3986 §3)", .rows("R-4", "C32"),
        arguments: [
            ("http://e.com", "http://e.com/"), ("HTTP://E.Com:80/A", "http://e.com/A"),
            ("https://e.com:443", "https://e.com/"), ("https://e.com:80/", "https://e.com:80/"),
            ("http://e.com:", "http://e.com/"), ("http://e.com:0080/", "http://e.com/"),
            ("http://u:p@e.com/", "http://e.com/"), ("http://u@p@e.com/", "http://e.com/"),
            ("http://e.com?a", "http://e.com/?a"), ("http://e.com#f", "http://e.com/#f"),
            ("http://e.com/a?b#c?d#e", "http://e.com/a?b#c?d%23e"), ("http://e.com/a b", "http://e.com/a%20b"),
            ("http://e.com/é?é", "http://e.com/%C3%A9?%C3%A9"), ("http://e.com/%7e%zz", "http://e.com/%7e%25zz"),
            ("http://e.com/a|b^c", "http://e.com/a%7Cb%5Ec"), ("http://e.com//a//", "http://e.com//a//"),
            ("http://[::1]", "http://[::1]/"), ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
            ("http://[fe80::1%25lo]:8080/", "http://[fe80::1]:8080/"), ("http://[fe80::1%eth0]/", "http://[fe80::1]/"),
            ("http://[::ffff:192.0.2.1]/", "http://[::ffff:192.0.2.1]/"), ("http://192.0.2.1/", "http://192.0.2.1/"),
            ("http://a_b.e.com./", "http://a_b.e.com./"), ("ftp://e.com:21/a", "ftp://e.com:21/a"),
            ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
            ("http://e.com/a\\b", "http://e.com/a%5Cb"),
            ("http://e.com/a/../b/./c/%2E%2e/d", "http://e.com/b/d"), ("http://e.com/..", "http://e.com/"),
            ("http://1.e.com/", "http://1.e.com/"), ("http://0xa.e.com/", "http://0xa.e.com/"),
        ])
    func parsing(text: String, canonical: String) throws {
        let target = try TargetURI(text)
        #expect(target.absoluteString == canonical)
        #expect(try TargetURI(canonical).absoluteString == canonical)
        #expect(target.url.absoluteString == canonical)
    }

    @Test(
        "text that is not an absolute URI with a host is rejected", .rows("R-2", "R-4"),
        arguments: [
            ("", RequestError.InvalidRequest.malformedURL), ("e.com", .malformedURL), ("//e.com", .malformedURL),
            ("http:e.com", .malformedURL), ("http:/e.com", .malformedURL), ("1http://e.com", .malformedURL),
            ("ht tp://e.com", .malformedURL), ("http://e.com:x", .malformedURL), ("http://e.com:-1", .malformedURL),
            ("http://e.com:+1", .malformedURL), ("http://e.com:65536", .malformedURL), ("http://[::1]x", .malformedURL),
            ("http://", .invalidHost), ("http:///a", .invalidHost), ("http://:80", .invalidHost),
            ("http://u@/", .invalidHost), ("http://e%2Fcom/", .invalidHost), ("http://e%2fcom", .invalidHost),
            ("http://e.com%00/", .invalidHost), ("http://e com/", .invalidHost),
            ("http://e.com\\@f.com/", .invalidHost),
            ("http://e.com\r\n/", .invalidHost), ("http://e\u{0}.com/", .invalidHost), ("http://e<>/", .invalidHost),
            ("http://[", .invalidHost), ("http://[]", .invalidHost), ("http://[e.com]", .invalidHost),
            ("http://[1:2]", .invalidHost), ("http://[:::]", .invalidHost),
            ("http://[1:2:3:4:5:6:7:8:9]", .invalidHost),
            ("http://[::1%25]", .invalidHost), ("http://[::1%25a/b]", .invalidHost), ("http://[v1.x]", .invalidHost),
            ("http://0x7f.1", .invalidHost), ("http://2130706433", .invalidHost), ("http://0177.0.0.1", .invalidHost),
            ("http://256.0.0.1", .invalidHost), ("http://1.2.3.4.", .invalidHost), ("http://a.0x", .invalidHost),
            ("http://bücher.example", .nonASCIIHost), ("http://b%C3%BCcher.example", .nonASCIIHost),
            ("http://e.com/\r\nX: y", .controlCharacterInPath), ("http://e.com/\u{0}", .controlCharacterInPath),
            ("http://e.com/?\u{7F}", .controlCharacterInPath), ("http://e.com/#\n", .controlCharacterInPath),
            ("http://e.com/\t", .controlCharacterInPath),
        ])
    func refused(text: String, problem: RequestError.InvalidRequest) {
        #expect(throws: problem) { try TargetURI(text) }
    }

    @Test(
        "IPv6 addresses are parsed as in RFC 4291 §2.2 and written as in RFC 5952 §4",
        arguments: [
            ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
            ("0:0:0:0:0:0:0:1", "::1"), ("2001:0DB8:0::0001", "2001:db8::1"), ("1:0:0:4:0:0:0:8", "1:0:0:4::8"),
            ("1:0:0:4:5:0:0:8", "1::4:5:0:0:8"), ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"), ("0:2::", "0:2::"),
            ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("::1.2.3.4", "::102:304"),
            ("0:0:0:0:0:FFFF:c000:201", "::ffff:192.0.2.1"), ("1::3:4:5:6:7:8", "1:0:3:4:5:6:7:8"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("fFfF::", "ffff::"),
            ("", nil), (":", nil), (":::", nil), ("1::2::3", nil), ("12345::", nil), ("g::", nil),
            ("1:2:3:4:5:6:7", nil), ("1:2:3:4:5:6:7:8::", nil), ("1::2:3:4:5:6:7:8", nil), ("1:", nil), (":1", nil),
            ("1.2.3.4", nil), ("::1.2.3", nil), ("::1.2.3.256", nil), ("::01.2.3.4", nil), ("1.2.3.4::", nil),
            ("::1.2.3.4:5", nil), ("::+1", nil), ("::-1", nil),
        ] as [(String, String?)])
    func ipv6(text: String, canonical: String?) {
        #expect(IPAddressText.canonicalIPv6(Substring(text)) == canonical)
    }

    @Test("a target has the parts that an executor needs", .rows("R-4"))
    func parts() throws {
        let target = try TargetURI("https://u:p@[FE80::1%25lo]:8443/a/b?c#d")
        #expect(target.scheme == "https")
        #expect(target.host == "[fe80::1]")
        #expect(target.zone == "lo")
        #expect(target.port == 8443 && target.effectivePort == 8443)
        #expect(target.authority == "[fe80::1]:8443")
        #expect(target.requestTarget == "/a/b?c")
        #expect(target.origin == "https://[fe80::1]:8443")
        #expect(target.absoluteForm == "https://[fe80::1]:8443/a/b?c")
        #expect(target.fragment == "d")
        #expect(try TargetURI("http://e.com").effectivePort == 80)
        #expect(try TargetURI("ftp://e.com").effectivePort == nil)
    }

    @Test(
        "a zone is accepted only if no part of it could be percent-encoded", .rows("R-4", "R-27"),
        arguments: [
            ("fe80::1%25eth0", "eth0"), ("fe80::1%eth0", "eth0"), ("fe80::1%en0", "en0"), ("fe80::1%2531", "31"),
            ("fe80::1%2525", "25"), ("fe80::1%1", "1"), ("fe80::1%lo", "lo"), ("::%31", nil), ("fe80::1%41b", nil),
            ("fe80::1%e0", nil), ("fe80::1%FF", nil), ("fe80::1%25", nil), ("fe80::1%25%31", nil), ("fe80::1%", nil),
            ("fe80::1%a%31", nil), ("fe80::1%25a%62", nil), ("fe80::1%25a%", nil), ("fe80::1%%31", nil),
        ] as [(String, String?)])
    func zones(address: String, zone: String?) {
        let target = try? TargetURI("http://[\(address)]/")
        #expect(target?.zone == zone)
        #expect((target == nil) == (zone == nil))
    }

    @Test("an origin consists of a scheme, a host, a port and a zone", .rows("R-27", "R-51"))
    func origins() throws {
        let target = try TargetURI("http://[fe80::1%25a]/x")
        for (text, isSame) in [
            ("http://[FE80::1%25a]:80/y?z", true), ("http://u:p@[fe80::1%25a]/", true),
            ("http://[fe80::1%25b]/", false),
            ("http://[fe80::1]/", false), ("https://[fe80::1%25a]/", false), ("http://[fe80::1%25a]:81/", false),
            ("http://[fe80::2%25a]/", false),
        ] {
            #expect(try target.hasSameOrigin(as: TargetURI(text)) == isSame, "\(text)")
            #expect(try TargetURI(text).hasSameOrigin(as: target) == isSame, "\(text)")
        }
    }

    @Test("Foundation accepts every target parsed from random text, and no target contains a forbidden byte")
    func fuzz() throws {
        let pieces = [
            "http", "https", "ftp", "a+b.c-d", ":", "//", "/", "?", "#", "@", "[", "]", "::", "::1", "fe80::1", "%25",
            "%", "%41", "%zz", "e.com", "a", ".", "..", "-", "_", "~", "!", "$", "&", "'", "(", ")", "*", "+", ",", ";",
            "=", " ", "\t", "\r\n", "\u{0}", "\u{7F}", "\"", "<", ">", "\\", "^", "`", "{", "|", "}", "é", "👍", "80",
            "65535", "99999", "1.2.3.4", "0x7f", "xn--a", "..a", "1",
        ]
        var generator = SplitMix64(state: 20)
        var accepted = 0
        for round in 0..<100_000 {
            var text = ["", "http://", "http://e.com/", "https://[::1]"][round % 4]
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                text += pieces.randomElement(using: &generator) ?? ""
            }
            guard let target = try? TargetURI(text) else { continue }
            accepted += 1
            let url = target.url
            let written = target.absoluteString
            if !written.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { Issue.record("\(text) gives \(written)") }
            if url.absoluteString != written { Issue.record("\(text): Foundation reads \(written) as \(url)") }
            if (try? TargetURI(written)) != target, target.zone == nil, !text.contains("@") {
                Issue.record("\(text): \(written) is read differently")
            }
            if let next = try? target.resolving(pieces.randomElement(using: &generator) ?? "") { _ = next.url }
        }
        #expect(accepted > 20_000)
    }

    @Test("every prepared request has a Foundation URL, whatever its path and query contain")
    func fuzzRequests() throws {
        var generator = SplitMix64(state: 21)
        let pieces = [
            "/", "..", ".", "%2e", "%", "%zz", "?", "#", "é", "\u{0}", "\r\n", " ", "a", "[", "\\", "//", "&", "+",
        ]
        func text() -> String {
            (0..<Int.random(in: 0...6, using: &generator)).compactMap { _ in pieces.randomElement(using: &generator) }
                .joined()
        }
        var prepared = 0
        for _ in 0..<20_000 {
            let (path, value) = (text(), text())
            let request = AnonymousRequestProvider.example.head("/\(raw: path)/\(value)").adding(
                queryItem: (value, path))
            guard let target = try? request.prepared().target else { continue }
            prepared += 1
            if target.url.absoluteString != target.absoluteString { Issue.record("\(path) \(value): \(target)") }
            if !target.absoluteString.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { Issue.record("\(target)") }
        }
        #expect(prepared > 2_000)
    }
    @Test(
        "another request to the same server has the target of its whole URI", .rows("R-4"),
        arguments: [
            "/", "/a", "/a/", "//a", "/a?b=c", "/a?", "/?a/../b", "/a/../b", "/a/.", "/a/..", "/a/.b/..c", "/%2e%2E/a",
            "/a/%2e", "/a%2fb", "/a%", "/a%zz", "/a b", "/a|b", "/é", "/a;b=c,d", "/:@!$&'()*+,;=-._~", "/a\\b",
        ])
    func replacing(requestTarget: String) throws {
        let other = try TargetURI("http://e.com:8080/x?y")
        let target = try other.replacing(requestTarget: requestTarget)
        let whole = try TargetURI("http://e.com:8080\(requestTarget)")
        #expect(target == whole && target.path == whole.path && target.query == whole.query)
    }
}
