import Requests
import TestCorpora
import Testing

@Suite("Typed fields")
struct TypedFieldTests {
    @Test(
        "Cache-Control directives are parsed in any case, quoted or not, and malformed ages are stale (RFC 9111 §5.2)")
    func cacheControl() {
        let control = CacheControl(
            fieldValue:
                "Max-Age=60, no-cache=\"Set-Cookie, X-A\",, private , s-maxage=\"5\", x=y=z, ext=\"a,b\",max-age=7")
        #expect(control.maxAge == 60 && control.sharedMaxAge == 5 && control.isPrivate)
        #expect(!control.noCache && control.fieldNames(of: "no-cache") == ["set-cookie", "x-a"])
        #expect(control.directives["ext"] == "a,b" && control.contains("X"))
        #expect(
            CacheControl(fieldValue: "no-store, max-age=5, e=\"a b\"").fieldValue == "no-store, max-age=5, e=\"a b\"")
        #expect(CacheControl.noStore.noStore && CacheControl.maxAge(-1).fieldValue == "max-age=0")
        #expect(
            CacheControl(fieldValue: "max-stale").maxStale == .max
                && CacheControl(fieldValue: "max-stale=3").maxStale == 3)
        for (text, seconds) in [("max-stale=", 0), ("max-stale=\"5", 0), ("max-stale=3, Max-Stale", .max)] {
            #expect(CacheControl(fieldValue: text).maxStale == seconds, "\(text)")
        }
        #expect(CacheControl(fieldValue: "a=, b, c=\"\"").fieldValue == "a=\"\", b, c=\"\"")
        for text in ["max-age=abc", "max-age=-1", "max-age=", "max-age", "max-age=1.5", "max-age=\"5"] {
            #expect(CacheControl(fieldValue: text).maxAge == 0, "\(text)")
        }
        #expect(CacheControl(fieldValue: "max-age=99999999999999999999").maxAge == 1 << 31)
        #expect(CacheControl(fieldValue: "").maxAge == nil && CacheControl(fieldValue: "").fieldValue.isEmpty)
        #expect(Header(.cacheControl(.onlyIfCached)).cacheControl?.onlyIfCached == true)
    }

    @Test("the description of a typed field is its field value")
    func printing() throws {
        let header: Header = [
            Field(name: .cacheControl, value: "max-age=5"), Field(name: .link, value: "</x?page=2>; rel=next"),
            Field(name: .etag, value: "W/\"v1\""), Field(name: .retryAfter, value: "7"),
            Field(name: .contentRange, value: "bytes 0-1/3"), Field(name: .contentDisposition, value: "inline"),
        ]
        #expect("\(try #require(header.cacheControl))" == "max-age=5")
        #expect("\(header.links)" == "[\(try #require(header.link(relation: "next")).fieldValue)]")
        #expect("\(try #require(header.entityTag))" == "W/\"v1\"")
        #expect("\(try #require(header.retryAfter))" == "7")
        #expect("\(try #require(header.contentRange))" == "bytes 0-1/3")
        #expect("\(try #require(header.contentDisposition))" == "inline")
        #expect("\(EntityTag.Condition.tags([EntityTag("a"), EntityTag("b")]))" == "\"a\", \"b\"")
    }

    @Test("Link has relations, titles in any encoding and relative targets (RFC 8288)")
    func links() throws {
        let header = Header(
            Field(
                name: .link,
                value: """
                    <https://a.example/x,y;z?page=2>; rel="Next last"; title="a, \\"b\\"", </b>; REL=prev;rel=next
                    """),
            Field(name: .link, value: "<c>; rel=next; anchor=\"#x\", <d>;rel=up;title*=UTF-8''%e2%82%ac%20x;title=y"),
            Field(name: .link, value: "broken, <e>; rel=next"))
        #expect(header.links.map(\.reference) == ["https://a.example/x,y;z?page=2", "/b", "c", "d"])
        let next = try #require(header.link(relation: "NEXT"))
        #expect(next.relations == ["next", "last"] && next.title == "a, \"b\"")
        #expect(header.links[1].relations == ["prev"] && header.links[3].title == "€ x")
        #expect(header.links.filter { $0.hasRelation("next") }.count == 1)
        let base = try TargetURI("https://h.example/v1/list?page=1")
        #expect(header.links[1].target(relativeTo: base)?.absoluteString == "https://h.example/b")
        #expect(header.links[3].target(relativeTo: base)?.absoluteString == "https://h.example/v1/d")
        #expect(WebLink("/x", relation: "next").fieldValue == "</x>; rel=\"next\"")
        #expect(WebLink.links(in: "<a>;;; rel=x;bad=;rel=y,<b").map(\.relations) == [["x"]])
    }

    @Test(
        "an unquoted value in Link is any text up to a semicolon or comma (RFC 8288 Appendix B.3)",
        arguments: [
            ("<a>; rel=http://x", ["rel", "http://x"]),
            ("<a>; rel=http://x/y?z ; type=text/html", ["rel", "http://x/y?z", "type", "text/html"]),
            ("<a>;type=text/html,<b>", ["type", "text/html"]), ("<a>; rel=next last", ["rel", "next last"]),
            ("<a>; title=\"x;y\"; rel=é", ["title", "x;y", "rel", "é"]), ("<a>; rel=;rel=next", ["rel", ""]),
            ("<a>; title=\"x\"y; rel=next", ["rel", "next"]), ("<a>; x; rel=a\"b", ["x", "", "rel", "a\"b"]),
        ])
    func unquotedLinkValues(value: String, parameters: [String]) {
        #expect(WebLink.links(in: value).first?.parameters.flatMap { [$0.name, $0.value] } == parameters)
    }

    @Test("Retry-After is in seconds or a date, and its delay is never negative (RFC 9110 §10.2.3)")
    func retryAfter() throws {
        let now = try #require(HTTPDate("Fri, 31 Dec 1999 23:59:00 GMT")).date
        func delay(_ text: String) -> Duration? { RetryAfter(fieldValue: text)?.delay(from: now) }
        #expect(delay("120") == .seconds(120) && delay(" 0 ") == .zero)
        #expect(delay("Fri, 31 Dec 1999 23:59:59 GMT") == .seconds(59))
        #expect(delay("Fri, 31 Dec 1999 23:58:59 GMT") == .zero)
        #expect(delay("99999999999999999999999") == .seconds(1_000_000_000))
        for text in ["", "-1", "1.5", "soon", "12 s"] { #expect(delay(text) == nil, "\(text)") }
        #expect(Header(Field(name: .retryAfter, value: "3")).retryAfter == .seconds(3))
    }

    @Test("Range and Content-Range are parsed and written (RFC 9110 §14)")
    func ranges() {
        #expect(ByteRange.ranges(in: "bytes=0-499, 500-, -5") == [.bytes(0...499), .from(500), .suffix(5)])
        #expect(Field.range(.from(10), .bytes(1...2)).value == "bytes=10-, 1-2")
        for text in ["", "bytes", "bytes=", "bytes=5-4", "bytes=-", "lines=1-2", "bytes=1-2x", "bytes=a-b"] {
            #expect(ByteRange.ranges(in: text) == nil, "\(text)")
        }
        #expect(ContentRange(fieldValue: "bytes 0-4/10") == ContentRange(bytes: 0...4, length: 10))
        #expect(ContentRange(fieldValue: "BYTES 0-4/*") == ContentRange(bytes: 0...4, length: nil))
        #expect(ContentRange(fieldValue: "bytes */10") == ContentRange(bytes: nil, length: 10))
        #expect(ContentRange(bytes: 0...4, length: 10).fieldValue == "bytes 0-4/10")
        for text in ["", "bytes 4-0/10", "bytes 0-10/10", "bytes */*", "items 0-1/2", "bytes 0-4", "bytes=0-4/10"] {
            #expect(ContentRange(fieldValue: text) == nil, "\(text)")
        }
        #expect(ByteRange.ranges(in: "bytes=99999999999999999999-") == nil)
    }

    @Test("entity tags and lists of them are parsed and compared, strongly and weakly (RFC 9110 §8.8.3)")
    func entityTags() throws {
        let strong = try #require(EntityTag(fieldValue: "\"a,b\""))
        let weak = try #require(EntityTag(fieldValue: " W/\"a,b\" "))
        #expect(strong.matchesStrongly(strong) && !strong.matchesStrongly(weak) && !weak.matchesStrongly(weak))
        #expect(strong.matchesWeakly(weak) && weak.fieldValue == "W/\"a,b\"")
        for text in ["", "a", "\"a", "w/\"a\"", "W\"a\"", "\"a b\"", "\"a\"x"] {
            #expect(EntityTag(fieldValue: text) == nil, "\(text)")
        }
        let tags = EntityTag.Condition(fieldValue: "\"a\", W/\"b\" ,,\"\"")
        #expect(tags == .tags([EntityTag("a"), EntityTag("b", isWeak: true), EntityTag("")]))
        #expect(EntityTag.Condition(fieldValue: " * ") == .any && EntityTag.Condition(fieldValue: "*, \"a\"") == nil)
        #expect(EntityTag.Condition(fieldValue: "\"a\" \"b\"") == nil && EntityTag.Condition(fieldValue: "") == nil)
        #expect(Field.ifNoneMatch(.tags([EntityTag("a"), EntityTag("b")])).value == "\"a\", \"b\"")
        #expect(Header(.ifMatch(.any)).ifMatch == .any)
    }

    @Test(
        "an RFC 8187 filename in Content-Disposition takes precedence, and a safe name is derived from it (RFC 6266)",
        arguments: [
            ("attachment; filename=\"a.txt\"", "a.txt", "a.txt"), ("ATTACHMENT;FILENAME=a", "a", "a"),
            ("attachment; filename=\"x\"; filename*=UTF-8''%e2%82%ac.txt", "€.txt", "€.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3; filename=x", "£", "£"),
            ("attachment; filename*=koi8-r''%A3; filename=x", "x", "x"),
            ("attachment; filename*=UTF-8''%ff; filename=x", "x", "x"),
            ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd", "passwd"),
            ("attachment; filename=\"C:\\\\a\\\\b.txt\"", "C:\\a\\b.txt", "b.txt"),
            ("attachment; filename=\"..\"", "..", nil), ("attachment; filename=\"a/\"", "a/", nil),
            ("inline", nil, nil),
            // The field is not a list, so an unquoted comma is malformed.
            ("attachment; filename=foo,bar.html", nil, nil),
            ("attachment; filename=foo,bar.html; filename*=UTF-8''x", "x", "x"),
            ("attachment; a=b,c; filename=\"foo,bar.html\"", "foo,bar.html", "foo,bar.html"),
        ] as [(String, String?, String?)])
    func dispositions(value: String, name: String?, safe: String?) throws {
        let disposition = try #require(ContentDisposition(fieldValue: value))
        #expect(disposition.filename == name && disposition.safeFilename == safe)
    }

    @Test("Content-Disposition is written for recipients with and without RFC 8187 (RFC 6266 §4.3, RFC 8187)")
    func writingDispositions() {
        let quoted = ContentDisposition.attachment(filename: "a \"b\".txt")
        #expect(quoted.fieldValue == #"attachment; filename="a \"b\".txt""#)
        #expect(
            ContentDisposition.attachment(filename: "50% €\r\n").fieldValue
                == "attachment; filename=\"50_ ___\"; filename*=UTF-8''50%25%20%E2%82%AC%0D%0A")
        #expect(ContentDisposition(fieldValue: "") == nil && ContentDisposition(fieldValue: "a b") == nil)
    }

    @Test("challenges in several fields are parsed up to the first malformed one (RFC 9110 §11.6.1)")
    func challenges() throws {
        let header = Header(
            Field(name: .wwwAuthenticate, value: "Negotiate, Bearer realm=\"a\", error=x"),
            Field(name: .wwwAuthenticate, value: "Basic realm=\"b\", Other a=1, a=2, Digest b=3, Bad c=\"4, Digest"))
        #expect(header.challenges.map(\.scheme) == ["Negotiate", "Bearer", "Basic", "Other", "Digest"])
        #expect(header.challenges[3].parameters.map(\.value) == ["1", "2"])
        #expect(header.challenges[1].realm == "a" && header.challenges[1].parameters["ERROR"] == "x")
        #expect(header.challenges[1].usesScheme("bearer"))
        #expect(header.challenges[1].fieldValue == "Bearer realm=\"a\", error=\"x\"")
        #expect("\(header.challenges[1])" == "Bearer (realm, error)")
        #expect(AuthenticationChallenge.challenges(in: "NTLM TlRMTVNTUAAB=").first?.token68 == "TlRMTVNTUAAB=")
        #expect(AuthenticationChallenge.challenges(in: "a@b").isEmpty)
    }

    @Test(
        "the collected challenges are parsed as expected",
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func challengeCorpus() throws {
        for item in try #require(Corpora.challenges).challenges {
            let challenges = item.headers.flatMap(AuthenticationChallenge.challenges)
            #expect(challenges.map(\.scheme) == item.challenges.map(\.scheme), "\(item.name)")
            for (challenge, expected) in zip(challenges, item.challenges) {
                var parameters = challenge.parameters.reduce(into: [String: String]()) { parameters, parameter in
                    parameters[parameter.name.lowercased()] = parameter.value
                }
                parameters["(token68)"] = challenge.token68
                #expect(parameters == expected.params, "\(item.name)")
            }
        }
    }

    @Test("no text from a peer makes a reader trap")
    func hostile() {
        var generator = SplitMix64(state: 8288)
        let alphabet = Array("ab\"\\<>;,=*/- \t9W'%\u{0}é:".unicodeScalars)
        for _ in 0..<5_000 {
            let scalars = (0..<Int.random(in: 0...24, using: &generator)).compactMap { _ in
                alphabet.randomElement(using: &generator)
            }
            let text = String(String.UnicodeScalarView(scalars))
            _ = (CacheControl(fieldValue: text), WebLink.links(in: text), RetryAfter(fieldValue: text), HTTPDate(text))
            _ = (ByteRange.ranges(in: text), ContentRange(fieldValue: text), EntityTag.Condition(fieldValue: text))
            _ = (ContentDisposition(fieldValue: text)?.safeFilename, FieldParameters.ExtendedValue(text))
            _ = AuthenticationChallenge.challenges(in: text)
            _ = CacheControl(fieldValue: text).maxAge
        }
    }

    @Test("Content-Range is nil if several fields differ")
    func conflictingRanges() {
        func range(_ values: String...) -> String? {
            Header(values.map { Field(name: .contentRange, value: $0) }).contentRange.map { "\($0)" }
        }
        #expect(range("bytes 0-1/3", "bytes 0-1/3") == "bytes 0-1/3")
        #expect(range("bytes 0-1/3", "bytes 0-1/4") == nil)
        #expect(range("bytes 0-1/3", "x") == nil)
        #expect(range("x", "bytes 0-1/3") == nil)
        #expect(range() == nil)
    }

}
