import RequestsMiddleware
import TestCorpora
import TestSupport
import Testing

/// The cases of other projects, and their unit tables.
private struct CookieCases: Decodable, Sendable {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        struct Step: Decodable, Sendable {
            var setFrom: String?
            var setCookie: [String]?
            var request: String?
            var expectCookies: [[String]]?
        }
        /// `"same"`, or the cookies of the last request.
        enum Reference: Decodable, Sendable {
            case same
            case cookies([[String]])

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                self = (try? container.decode([[String]].self)).map(Reference.cookies) ?? .same
            }
        }
        var id: String
        var now: String
        var steps: [Step]
        var needs: [String]?
        var reference6265Bis: Reference?
        var optionalUpstream: Bool?
        var disabledUpstream: Bool?
        var publicSuffixes: [String]?
        var continuesPrevious: Bool?

        var testDescription: String { id }
        var isBinding: Bool { optionalUpstream != true && disabledUpstream != true }
    }
    struct DomainRow: Decodable, Sendable {
        var host: String
        var domainAttribute: String
        var storedDomain: String?
        var hostOnly: Bool?
        var rejected: Bool
    }
    struct PathRow: Decodable, Sendable {
        var requestPath: String
        var defaultPath: String
    }
    struct DateRow: Decodable, Sendable {
        var input: String
        var expect: String?
    }
    var cases: [Case]
    var domainAttribute: [DomainRow]
    var defaultPath: [PathRow]
    var cookieDates: [DateRow]
}

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite(
    "Cookies of other projects", .timeLimit(.minutes(10)),
    .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct CookieCorpusTests {
    private static let corpus = Corpora.load("cookies.json", as: CookieCases.self)

    @Test("each request sends the cookies that RFC 6265bis selects, in its order", .rows("R-39"))
    func cases() throws {
        let corpus = try #require(Self.corpus)
        var jar = CookieJar()
        var (agreeing, binding) = (0, 0)
        for test in corpus.cases {
            if test.continuesPrevious != true {
                let suffixes = test.publicSuffixes
                jar = CookieJar(
                    publicSuffixes: suffixes.map { list in .init { list.contains($0) || !$0.utf8.contains(0x2E) } }
                        ?? .system)
            }
            let sent = try Self.run(test, &jar)
            let expected = Self.expectation(of: test)
            if test.isBinding { binding += 1 }
            if sent == expected, test.isBinding { agreeing += 1 }
            #expect(sent == expected || !test.isBinding, "\(test.id): \(sent) instead of \(expected)")
        }
        print("cookie cases: \(agreeing) of \(binding)")
        #expect(binding > 100)
    }

    /// Returns the cookies of each request.
    private static func run(_ test: CookieCases.Case, _ jar: inout CookieJar) throws -> [[[String]]] {
        var now = try Date(test.now, strategy: .iso8601)
        var sent: [[[String]]] = []
        for step in test.steps {
            now += 1
            if let from = step.setFrom {
                let head = ResponseHead(
                    status: 200,
                    header: Header((step.setCookie ?? []).map { Field(name: .setCookie, value: $0) }),
                    target: try TargetURI(from))
                jar.store(head, at: now)
            }
            if let request = step.request {
                sent.append(jar.cookies(for: try TargetURI(request), at: now).map { [$0.name, $0.value] })
            }
        }
        return sent
    }

    private static func expectation(of test: CookieCases.Case) -> [[[String]]] {
        var expected = test.steps.compactMap(\.expectCookies)
        // The reference result of a case about public suffixes comes from a client without a list of them.
        if case .cookies(let last) = test.reference6265Bis, test.needs == nil, !expected.isEmpty {
            expected[expected.count - 1] = last
        }
        return expected
    }

    @Test("a domain is accepted, stored or rejected with each source of public suffixes", .rows("R-39"))
    func domains() throws {
        let rows = try #require(Self.corpus).domainAttribute
        let sources: [(String, CookieJar.PublicSuffixes)] = [
            ("system", .system), ("conservative", .conservative), ("list", .init(list: "com\nuk\nco.uk\n")),
        ]
        for (name, source) in sources {
            for row in rows {
                var jar = CookieJar(publicSuffixes: source)
                let host = row.host.contains(":") ? "[\(row.host)]" : row.host
                // A host whose last label is a number is not a host of this library (decision 0004).
                guard let target = try? TargetURI("http://\(host)/") else {
                    #expect(row.rejected)
                    continue
                }
                let text = row.domainAttribute.isEmpty ? "a=b" : "a=b; Domain=\(row.domainAttribute)"
                #expect(
                    jar.store(text, from: target, at: Date(timeIntervalSince1970: 0)) == !row.rejected, "\(name) \(row)"
                )
                let stored = jar.cookies.first
                #expect(stored?.isHostOnly == row.hostOnly, "\(name) \(row)")
                let domain = row.storedDomain.map { $0.contains(":") ? "[\($0)]" : $0 }
                #expect(stored?.domain == domain, "\(name) \(row)")
            }
        }
    }

    @Test("a cookie that names no path has its request's path up to the last slash", .rows("R-39"))
    func paths() throws {
        for row in try #require(Self.corpus).defaultPath where row.requestPath.hasPrefix("/") {
            // The paths are taken as they are: a target removes dot segments.
            #expect(CookiePathProbe.defaultPath(of: row.requestPath) == row.defaultPath, "\(row)")
        }
    }

    @Test("a date is read in each of its forms, or ignored", .rows("R-39"))
    func dates() throws {
        let corpus = try #require(Self.corpus)
        let now = Date(timeIntervalSince1970: -11_000_000_000)
        var jar = CookieJar(limits: .init(lifetime: .seconds(1_000_000_000_000)))
        for row in corpus.cookieDates {
            // A semicolon would end the attribute.
            guard !row.input.contains(";") else { continue }
            let target = try TargetURI("http://example.com/")
            jar.removeAll()
            jar.store("a=b; Expires=\(row.input)", from: target, at: now)
            let expected = try row.expect.map { try #require(HTTPDate($0)).date }
            #expect(jar.cookies.first?.expires == expected, "\(row)")
        }
    }
}

/// Returns default paths as a jar determines them.
private enum CookiePathProbe {
    static func defaultPath(of path: String) -> String {
        var jar = CookieJar()
        guard let target = try? TargetURI("http://example.com" + path), target.path == path else {
            // Without dot segments, the rule is the same for any text.
            return path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        }
        jar.store("a=b", from: target, at: Date(timeIntervalSince1970: 0))
        return jar.cookies.first?.path ?? ""
    }
}
