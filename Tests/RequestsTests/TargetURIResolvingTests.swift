import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("Resolving references")
struct TargetURIResolvingTests {
    private static let base = "http://a/b/c/d;p?q"

    @Test(
        "references resolve as in the examples of RFC 3986 §5.4", .rows("R-31"),
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
            ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ])
    func rfc(reference: String, result: String) throws {
        #expect(try TargetURI(Self.base).resolving(reference).absoluteString == result)
    }

    @Test(
        "escaped dots resolve like dots, and characters that are not allowed are percent-encoded", .rows("R-2", "R-31"),
        arguments: [
            ("/a/%2e%2E/b", "http://a/b"), ("/a/.%2e", "http://a/"), ("/a/%2e/b", "http://a/a/b"),
            ("/a b", "http://a/a%20b"), ("é?ü#ö", "http://a/b/c/%C3%A9?%C3%BC#%C3%B6"), ("/a\\b", "http://a/a%5Cb"),
            ("//G:80", "http://g/"), ("HTTPS://G:443/%zz", "https://g/%25zz"), ("//u:p@g/x", "http://g/x"),
            ("1:2", "http://a/b/c/1:2"), ("/x:y", "http://a/x:y"), ("http://g", "http://g/"), ("//g/..", "http://g/"),
        ])
    func hostile(reference: String, result: String) throws {
        #expect(try TargetURI(Self.base).resolving(reference).absoluteString == result)
    }

    @Test(
        "a reference without a valid host, or with control characters, is rejected", .rows("R-2", "R-30"),
        arguments: [
            "http:", "http:g", "https:/g", "http://", "http:///g", "//", "///g", "//é", "//a%2Fb", "/\r\nX: y", "\u{0}",
            "//a:b", "http://[::", "/a\u{7F}",
        ])
    func refused(reference: String) {
        #expect(throws: RequestError.InvalidRequest.self) { try TargetURI(Self.base).resolving(reference) }
    }

    @Test(
        "a reference with another scheme keeps the scheme and can be rejected", .rows("R-30"),
        arguments: ["g:h", "mailto:a", "javascript:x", "data:,x", "file:///etc", "urn:a:b"])
    func otherSchemes(reference: String) throws {
        let target = try TargetURI(Self.base).resolving(reference)
        #expect(reference.hasPrefix(target.scheme + ":"))
        #expect(target.host.isEmpty)
        _ = target.url
    }

    @Test("a fragment is inherited unless the reference has one", .rows("R-31"))
    func fragment() throws {
        let base = try TargetURI("http://a/b#f")
        #expect(try base.resolving("c").absoluteString == "http://a/c#f")
        #expect(try base.resolving("//g/c").absoluteString == "http://g/c#f")
        #expect(try base.resolving("c#g").absoluteString == "http://a/c#g")
        #expect(try base.resolving("").absoluteString == "http://a/b#f")
    }

    @Test(
        "references resolve as in the collected examples of RFC 3986",
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func rfcCorpus() throws {
        let cases = try #require(Corpora.url).rfc3986Resolution
        let base = try TargetURI(cases.base)
        // A reference without an authority cannot be requested: `g:h` keeps only its scheme, `http:g` is rejected.
        for item in cases.cases where item.reference != "g:h" && item.reference != "http:g" {
            let expected = try TargetURI(item.result).absoluteString
            #expect(try base.resolving(item.reference).absoluteString == expected, "\(item.reference)")
        }
    }

    @Test(
        "references resolve as in browsers that agree with RFC 3986, and are rejected if browsers reject them",
        .rows("R-31"),
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func browserCorpus() throws {
        for item in try #require(Corpora.url).wptResolution {
            let result = Result { () throws in
                if let base = item.base { return try TargetURI(base).resolving(item.input) }
                return try TargetURI(item.input)
            }
            let target = try? result.get()
            if let written = target?.absoluteString, let target {
                #expect(written.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "\(item.input)")
                #expect(target.url.absoluteString == written, "\(item.input)")
            }
            if item.failure == true {
                if target != nil { Issue.record("accepted: \(item.input.debugDescription) as \(result)") }
            } else if case .same = item.rfc3986, let href = item.href {
                #expect(target?.absoluteString == Self.withoutUserinfo(href), "\(item.input.debugDescription)")
            } else if let host = item.host, let target, !Self.readDifferently.contains(item.input) {
                #expect(target.host == host, "another host: \(item.input.debugDescription)")
            }
        }
    }

    /// References that browsers read as another host; in RFC 3986 a backslash is not a slash.
    private static let readDifferently: Set<String> = [#"\\x\hello"#]

    private static func withoutUserinfo(_ href: String) -> String {
        guard let at = href.firstIndex(of: "@"), let start = href.firstRange(of: "//") else { return href }
        let slash = href[start.upperBound...].firstIndex(of: "/") ?? href.endIndex
        return at < slash ? String(href[..<start.upperBound] + href[href.index(after: at)...]) : href
    }
}
