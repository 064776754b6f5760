import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("The rules of a cache")
struct CacheRulesTests {
    static let withDirective: [Field] = [
        Field(name: .expires, value: "0"), Field(name: .cacheControl, value: "max-age=0"),
        Field(name: .cacheControl, value: "s-maxage=5"), Field(name: .cacheControl, value: "no-cache"),
        Field(name: .cacheControl, value: "NO-STORE"), Field(name: .cacheControl, value: "public, Max-Age=1"),
    ]

    static let withoutDirective: [Field?] = [
        nil, Field(name: .cacheControl, value: "public"), Field(name: .cacheControl, value: "private"),
        Field(name: .cacheControl, value: "must-revalidate"), Field(name: .lastModified, value: "0"),
    ]

    @Test("a limit applies only to responses without caching directives", .rows("PM-110", "T-63"))
    func storage() {
        let all: [Caching.Storage] = [.never, .memory, .anywhere]
        for proposal in all {
            for limit in all {
                for field in Self.withDirective {
                    #expect(proposal.limited(to: limit, unlessIn: [field]) == proposal, "\(field)")
                }
                for field in Self.withoutDirective {
                    let result = proposal.limited(to: limit, unlessIn: Header(field.map { [$0] } ?? []))
                    #expect(result == min(proposal, limit), "\(String(describing: field))")
                }
            }
        }
    }

    struct Item: Codable, Sendable {
        var id = 1
    }

    @Test(
        "JSON without caching directives is not stored, other bodies are, and a request can change it",
        .rows("PF-6", "PM-110"))
    func json() async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let modified = Field(name: .lastModified, value: "Wed, 01 Jan 2020 00:00:00 GMT")
        func contacts(_ request: Request<AnonymousRequestProvider, Item>, _ fields: [Field]) async throws -> Int {
            let mock = MockExecutor { _ in
                var response = try MockResponse.json(Item())
                response.header.add(fields)
                return response
            }
            let executor = mock.caching()
            for _ in 0..<2 { _ = try await executor.perform(request) }
            return mock.recordedCount
        }
        #expect(try await contacts(api.get(.json(), from: "/"), [modified]) == 2)
        #expect(try await contacts(api.get(.json(), from: "/"), [modified, .cacheControl(.maxAge(9))]) == 1)
        #expect(try await contacts(api.get(.json(), from: "/").cacheStorage(.memory), [modified]) == 1)
        let parsed = ResponseDecoder<Item> { _, data in try JSONDecoder().decode(Item.self, from: data) }
        #expect(try await contacts(api.get(parsed, from: "/"), [modified]) == 1)
        #expect(try await contacts(api.get(parsed, from: "/").cacheStorage(.never), [modified]) == 2)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let control: String
        let request: String
        let age: Double
        let use: Freshness.Use
        var testDescription: String { "\(control) for \(request) at \(age)" }
    }

    @Test(
        "the use of a stored response follows from its age and both Cache-Control fields",
        arguments: [
            Row(control: "max-age=10", request: "", age: 9, use: .respond),
            Row(control: "max-age=10", request: "", age: 10, use: .validate(.stale)),
            Row(control: "max-age=10", request: "max-age=5", age: 5, use: .respond),
            Row(control: "max-age=10", request: "max-age=5", age: 6, use: .validate(.request)),
            Row(control: "max-age=10", request: "min-fresh=5", age: 5, use: .respond),
            Row(control: "max-age=10", request: "min-fresh=5", age: 6, use: .validate(.request)),
            Row(control: "max-age=10", request: "max-stale", age: 1_000_000, use: .respond),
            Row(control: "max-age=10", request: "max-stale=5", age: 15, use: .respond),
            Row(control: "max-age=10", request: "max-stale=5", age: 16, use: .validate(.stale)),
            Row(control: "max-age=10, must-revalidate", request: "max-stale", age: 11, use: .validate(.stale)),
            Row(control: "max-age=10, no-cache", request: "", age: 0, use: .validate(.stale)),
            Row(control: "max-age=10, no-cache=\"Set-Cookie\"", request: "", age: 0, use: .respond),
            Row(control: "max-age=10", request: "no-cache", age: 0, use: .validate(.request)),
            Row(control: "max-age=1, max-age=100", request: "", age: 2, use: .validate(.stale)),
            Row(control: "max-age=\"10\"", request: "", age: 9, use: .respond),
            Row(control: "max-age=ten", request: "", age: 0, use: .validate(.stale)),
            Row(control: "max-age=-1", request: "", age: 0, use: .validate(.stale)),
            Row(control: "max-age=99999999999999999999", request: "", age: 2_000_000_000, use: .respond),
            Row(control: "max-age=99999999999999999999", request: "", age: 3_000_000_000, use: .validate(.stale)),
            Row(control: "unknown=\"max-age=10\"", request: "", age: 0, use: .validate(.stale)),
            Row(control: "max-age=10, stale-while-revalidate=5", request: "", age: 15, use: .respondAndValidate),
            Row(control: "max-age=10, stale-while-revalidate=5", request: "", age: 16, use: .validate(.stale)),
            Row(
                control: "max-age=10, stale-while-revalidate=5, must-revalidate", request: "", age: 12,
                use: .validate(.stale)),
            Row(control: "s-maxage=10", request: "", age: 0, use: .validate(.stale)),
        ])
    func uses(row: Row) {
        let freshness = Freshness(status: 200, header: .caching(row.control), requestTime: 100, responseTime: 100)
        let header = row.request.isEmpty ? [] : Header.caching(row.request)
        #expect(freshness.use(for: CacheConditions(header: header), at: 100 + row.age) == row.use)
    }

    @Test("the age includes the time on the way, and a clock that was set back makes a response stale")
    func ages() {
        let date = HTTPDate(secondsSince1970: 1_800_000_000)
        let header: Header = [
            Field(name: .date, value: "\(date)"), Field(name: .age, value: "7"), .cacheControl(.maxAge(100)),
        ]
        let freshness = Freshness(
            status: 200, header: header, requestTime: 1_800_000_001, responseTime: 1_800_000_003)
        #expect(freshness.initialAge == 9)
        #expect(freshness.age(at: 1_800_000_013) == 19)
        #expect(freshness.use(for: CacheConditions(header: []), at: 1_700_000_000) == .validate(.stale))
        let late = Freshness(status: 200, header: header, requestTime: 1_800_000_050, responseTime: 1_800_000_050)
        #expect(late.initialAge == 50)
    }

    @Test(
        "an Age that is not a whole number is ignored, and so are the members after the first",
        arguments: [
            ("7200", 7_200), (" 7200 ", 7_200), ("7200, 1", 7_200), ("7200 ,x", 7_200), ("0", 0), ("007", 7),
            ("99999999999999999999", 2_147_483_648), ("7200.0", 0), ("7200.", 0), ("7200s", 0), ("7200 s", 0),
            ("7.2e3", 0), ("-7200", 0), ("+7200", 0), ("\"7200\"", 0), ("x", 0), ("", 0), (",7200", 0), ("7200;a=b", 0),
            ("0x10", 0), ("7200\u{301}", 0),
        ] as [(String, Double)])
    func ages(value: String, seconds: Double) {
        let header: Header = [Field(name: .age, value: value), .cacheControl(.maxAge(100))]
        let freshness = Freshness(status: 200, header: header, requestTime: 100, responseTime: 100)
        #expect(freshness.initialAge == seconds)
    }

    @Test(
        "a time in a request that is not a number of seconds is ignored",
        arguments: ["abc", "", "\"\"", "-1", "1.5", "1s", "0x1", "\"1 \""])
    func malformedConditions(value: String) {
        let header: Header = .caching("max-age=100")
        let freshness = Freshness(status: 200, header: header, requestTime: 100, responseTime: 100)
        for name in ["max-age", "min-fresh", "stale-if-error"] {
            let conditions = CacheConditions(header: .caching("\(name)=\(value)"))
            #expect(freshness.use(for: conditions, at: 150) == .respond, "\(name)=\(value)")
            #expect(freshness.use(for: conditions, at: 201) == .validate(.stale), "\(name)=\(value)")
        }
        #expect(CacheConditions(header: .caching("max-stale=\(value)")) == CacheConditions(header: []))
        #expect(CacheConditions(header: .caching("max-age")) == CacheConditions(header: []))
        #expect(CacheConditions(header: .caching("max-stale")).maxStale == .max)
        // In a response such a time makes it stale (RFC 9111 §4.2.1).
        let stale = Freshness(
            status: 200, header: .caching("max-age=\(value)"), requestTime: 100, responseTime: 100)
        #expect(stale.use(for: CacheConditions(header: []), at: 100) == .validate(.stale))
    }

    @Test("an immutable response is not validated when the user reloads, while it is fresh")
    func immutable() {
        let freshness = Freshness(
            status: 200, header: .caching("max-age=10, immutable"), requestTime: 0, responseTime: 0)
        let reload = CacheConditions(policy: .reloadRevalidatingCacheData, header: [])
        #expect(freshness.use(for: reload, at: 5) == .respond)
        #expect(freshness.use(for: reload, at: 10) == .validate(.request))
        #expect(freshness.use(for: CacheConditions(header: .caching("no-cache")), at: 5) == .validate(.request))
    }

    @Test("an estimated lifetime is a tenth of the time since the last change, for statuses that allow it")
    func heuristics() {
        let header: Header = [
            Field(name: .date, value: "\(HTTPDate(secondsSince1970: 1_000_000))"),
            Field(name: .lastModified, value: "\(HTTPDate(secondsSince1970: 999_000))"),
        ]
        for (status, lifetime) in [(200, 100.0), (404, 100), (302, 0), (500, 0)] {
            let freshness = Freshness(
                status: HTTPStatus(status), header: header, requestTime: 1_000_000, responseTime: 1_000_000)
            #expect(freshness.lifetime == lifetime)
        }
        let limited = Freshness(
            status: 200, header: header, requestTime: 1_000_000, responseTime: 1_000_000, heuristicLimit: 30)
        #expect(limited.lifetime == 30)
    }
}
