import Requests
import TestSupport
import Testing

/// Values that are long in one respect: reading eight times as much may take eight times as long, but not 64 times.
@Suite("Growth of field values", .timeLimit(.minutes(10)))
struct FieldGrowthTests {
    struct Shape: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Makes the work that is timed, on a text of about the given number of bytes.
        let work: @Sendable (Int) -> () -> Void

        init(
            _ description: String, make: @escaping @Sendable (Int) -> String, read: @escaping @Sendable (String) -> Void
        ) {
            testDescription = description
            work = { size in
                let text = make(size)
                return { read(text) }
            }
        }
    }

    private static func many(_ text: String, _ size: Int) -> String {
        String(repeating: text, count: size / text.utf8.count)
    }

    /// Returns different names, each followed by `suffix`.
    private static func names(_ suffix: String, _ size: Int) -> String {
        (0..<size / (6 + suffix.utf8.count)).map { "n\(10_000 + $0)\(suffix)" }.joined()
    }

    /// The elements that make a text long, and a function that returns such a text of about the given number of bytes.
    typealias Texts = [(String, @Sendable (Int) -> String)]

    private static func shapes(_ name: String, _ texts: Texts, read: @escaping @Sendable (String) -> Void) -> [Shape] {
        texts.map { Shape("\(name): \($0.0)", make: $0.1, read: read) }
    }

    /// Returns texts that repeat one element in the parameters of a field that begins with `start` and `separator`.
    private static func parameters(_ start: String, _ separator: String = ";") -> Texts {
        let head = start + separator
        return [
            ("quotes", { head + "a=" + many("\"", $0) }),
            ("escaped quotes without an end", { head + "a=\"" + many("\\\"", $0) }),
            ("an unclosed string in each parameter", { start + many(separator + "a=\"\\", $0) }),
            ("strings that a control ends", { start + many(separator + "a=\"b\u{1}", $0) }),
            ("strings", { start + many(separator + "a=\"b\"", $0) }),
            ("one long string", { head + "a=\"" + many("b", $0) + "\"" }),
            ("backslashes", { head + "a=\"" + many("\\", $0) }),
            ("parameters", { head + names("=b" + separator, $0) }),
            ("the same parameter", { start + many(separator + "a=b", $0) }),
            ("separators", { start + many(separator, $0) }),
            ("blanks", { head + "a" + many(" ", $0) + "=" + many(" ", $0) + "b" }),
            ("equals signs", { head + many("=", $0) }),
            ("marks", { head + "a=" + many("\"\u{301}", $0) }),
        ]
    }

    private static let dispositions: Texts = [
        ("separators of folders", { "a; filename=\"" + many("/\u{301}", $0) + "\"" }),
        ("marks", { "a; filename=\"a" + many("\u{301}", $0) + "\"" }),
        ("dots", { "a; filename=\"" + many(".", $0) + "\"" }),
        ("blanks at an end", { "a; filename=\"b" + many(" ", $0) + "\"" }),
        ("escapes", { "a; filename*=UTF-8''" + many("%41", $0) }),
        ("apostrophes", { "a; filename*=" + many("'", $0) }),
    ]

    private static let links: Texts = [
        ("links", { many("<a>;rel=b,", $0) }), ("commas", { many(",", $0) }),
        ("a reference", { "<" + many("a", $0) }), ("relations", { "<a>;rel=\"" + many("b ", $0) + "\"" }),
        ("links of quotes", { many("<a>;b=\",", $0) }), ("unquoted blanks", { "<a>;rel=" + many(" b", $0) }),
        ("relations unquoted", { "<a>" + many(";rel= ", $0) }),
    ]

    private static let challenges: Texts = [
        ("challenges", { many("A b=c,", $0) }), ("schemes", { many("A,", $0) }), ("tokens", { many("A b==,", $0) }),
        ("words", { many("A ", $0) }), ("a token", { "A " + many("b", $0) + many("=", $0) + "?" }),
    ]

    private static let directives: Texts = [
        ("names of fields", { "no-cache=\"" + many("a, ", $0) + "\"" }), ("digits", { "max-age=" + many("9", $0) }),
    ]

    private static let tags: Texts = [
        ("tags", { many("\"a\",", $0) }), ("quotes", { many("\"", $0) }), ("a tag", { "\"" + many("a", $0) }),
        ("commas", { many(",", $0) }), ("weak marks", { many("W/", $0) }),
    ]

    private static let ranges: Texts = [
        ("ranges", { "bytes=" + many("1-2,", $0) }), ("digits", { "bytes=" + many("9", $0) + "-" }),
        ("digits of a part", { "bytes 0-" + many("0", $0) + "1/*" }), ("delay", { many("0", $0) + "1" }),
        ("blanks", { many(" ", $0) + "1" + many(" ", $0) }),
    ]

    private static let dates: Texts = [
        ("letters", { many("a", $0) }), ("digits", { "Sun, 06 Nov " + many("1", $0) }),
        ("blanks", { many(" ", $0) + "Sun, 06 Nov 1994 08:49:37 GMT" + many(" ", $0) }),
    ]

    private static let urls: Texts = [
        ("segments", { "http://a" + many("/b", $0) }), ("dot segments", { "http://a" + many("/b/..", $0) }),
        ("escaped dots", { "http://a" + many("/%2e%2E", $0) }), ("a query", { "http://a/?" + many("b=c&", $0) }),
        ("secrets", { "http://a/?" + many("token=c&", $0) }), ("labels", { "http://" + many("a.", $0) + "1" }),
        ("userinfo", { "http://" + many("a@", $0) + "b/" }), ("colons", { "http://[" + many(":", $0) + "]/" }),
        ("groups", { "http://[" + many("1:", $0) + ":]/" }), ("marks", { "http://a/" + many("/\u{301}", $0) }),
        ("port", { "http://a:" + many("0", $0) + "80/" }), ("escapes", { "http://" + many("%41", $0) + "/" }),
        ("a relative path", { many("../", $0) }), ("hashes", { "http://a/" + many("#", $0) }),
    ]

    private static let words: Texts = [
        ("dashes", { many("-a", $0) }), ("dots", { many(".a", $0) }), ("slashes", { many("/\u{301}", $0) }),
        ("marks", { "a" + many("\u{301}", $0) }),
    ]

    private static let headers: Texts = [
        ("fields of many names", { names("\n", $0) }), ("fields of one name", { many("cookie\n", $0) }),
        ("links", { many("link\n", $0) }), ("challenges", { many("www-authenticate\n", $0) }),
    ]

    static let fields: [Shape] = [
        shapes("Content-Disposition", parameters("attachment") + dispositions) { text in
            let disposition = ContentDisposition(fieldValue: text)
            _ = (disposition?.safeFilename, disposition?.fieldValue, disposition.hashValue)
        },
        shapes("Link", parameters("<a>") + links) { text in
            let header = Header(Field(name: .link, value: text))
            _ = (header.link(relation: "next"), header.links.map(\.fieldValue), header.links.hashValue)
        },
        shapes("challenges", parameters("Basic x=y", ",") + challenges) { text in
            let header = Header(Field(name: .wwwAuthenticate, value: text))
            _ = (header.challenges.map(\.fieldValue), header.challenges.hashValue)
        },
        shapes("Cache-Control", parameters("a", ",") + directives) { text in
            let control = CacheControl(fieldValue: text)
            _ = (control.maxAge, control.noCache, control.fieldValue, control.hashValue)
        },
        shapes("Content-Type", parameters("a/b")) { text in
            let type = MediaType(text)
            _ = (type?.rawValue, type?.parameters.hashValue, type.map { [$0, .json].acceptValue })
        },
    ].flatMap { $0 }

    static let values: [Shape] = [
        shapes("entity tags", tags) {
            _ = (EntityTag.Condition(fieldValue: $0)?.fieldValue, EntityTag(fieldValue: $0))
        },
        shapes("ranges and delays", ranges) { text in
            _ = (ByteRange.ranges(in: text), ContentRange(fieldValue: text), RetryAfter(fieldValue: text))
        },
        shapes("dates", dates) { _ = HTTPDate($0) },
        shapes("URLs", urls) { text in
            let base = try? TargetURI("http://base.example/a/b/c")
            let target = try? TargetURI(text)
            _ = (target?.description, target?.absoluteString, target.hashValue)
            _ = try? base?.resolving(text).absoluteString
            _ = PercentEncoding.decode(text)
        },
        shapes("names", words) { text in
            _ = (Field.Name(text).usualSpelling, MediaType(filename: text), CaseInsensitiveString(text).hashValue)
            _ = UserAgent(name: text, version: text, device: text).afnetworkingFieldValue
        },
        shapes("headers", headers, read: readHeader),
    ].flatMap { $0 }

    @Sendable private static func readHeader(_ text: String) {
        let header = Header(
            text.utf8.split(separator: 0x0A).map { name in
                Field(name: Field.Name(String(decoding: name, as: UTF8.self)), value: "<a>;rel=b")
            })
        _ = (header.dictionaryValue, header.links, header.challenges, header[.cookie], header.hashValue)
        var copy = header
        copy.removeAll { $0.name == .link }
        copy.set(Field(name: .cookie, value: "a=b"))
    }

    @Test("the time to read and write a value is proportional to its length", .rows("R-71"), arguments: fields + values)
    func value(shape: Shape) async throws {
        #expect(try await Growth.ratio(shape.work) <= Growth.limit)
    }

    @Test("100 kB of quotation marks and 20,000 parameters are read in full", .rows("R-71"))
    func large() throws {
        let quotes = Self.many("\"", 100_000)
        #expect(WebLink.links(in: "<a>; title=\(quotes), <b>; rel=next").map(\.reference) == ["a", "b"])
        #expect(ContentDisposition(fieldValue: "a; filename=\(quotes)x; b=c")?.parameters["b"] == "c")
        #expect(AuthenticationChallenge.challenges(in: "A b=c, D e=\(quotes)").map(\.scheme) == ["A"])
        let many = (0..<20_000).map { ";n\($0 % 10_000)=\($0)" }.joined()
        #expect(ContentDisposition(fieldValue: "a" + many)?.parameters.count == 10_000)
        #expect(WebLink.links(in: "<a>" + many).first?.parameters["n9999"] == "9999")
        #expect(MediaType("a/b" + many)?.parameters.count == 10_000)
        let listed = "A " + (0..<20_000).map { "n\($0)=\($0)" }.joined(separator: ",")
        #expect(AuthenticationChallenge.challenges(in: listed).first?.parameters.count == 20_000)
        #expect(CacheControl(fieldValue: String(listed.dropFirst(2))).directives.count == 20_000)
    }
}
