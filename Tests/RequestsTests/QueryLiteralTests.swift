import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Query literals")
struct QueryLiteralTests {
    private struct Search: Encodable, Sendable {
        var q: String?
        var page: Int?
    }

    private static let request = api.get(.none, from: "/x")

    private static func query(_ request: Request<AnonymousRequestProvider, Void>) throws -> String? {
        try request.prepared().target.query
    }

    @Test("arrays, dates and variables can be mixed with literals", .rows("RQ-14", "RQ-34"))
    func values() throws {
        let (page, tags, since): (Int?, [String], Date) = (2, ["a", "b c"], Date(timeIntervalSince1970: 1_800_000_000))
        let request = Self.request.with(query: ["q": "x", "page": page, "tag": tags, "since": since, "id": [1, 2]])
        #expect(
            try Self.query(request)
                == "q=x&page=2&tag=a&tag=b%20c&since=2027-01-15T08%3A00%3A00Z&id=1&id=2")
        #expect(try Self.query(Self.request.adding(queryItem: ("tag", tags))) == "tag=a&tag=b%20c")
        #expect(try Self.query(Self.request.with(query: ["tag": [] as [String]])) == nil)
        #expect(["a", "b"].queryText == "a,b")
    }

    @Test("a literal of mixed and nested values is written like parameters", .rows("RQ-34"))
    func mixed() throws {
        let request = Self.request.with(query: ["tag": ["a", 1, true], "size": ["width": 3], "flag": nil])
        #expect(try Self.query(request) == "tag=a&tag=1&tag=true&size%5Bwidth%5D=3&flag")
        let dropped = Self.request.with(query: ["tag": ["a", 1, nil], "flag": nil], nulls: .dropped)
        #expect(try Self.query(dropped) == "tag=a&tag=1")
    }

    @Test("a date that RFC 3339 cannot express is written as its seconds since 1970", .rows("RQ-34"))
    func dates() {
        #expect(Date(timeIntervalSince1970: 1e12).queryText == "1000000000000.0")
        #expect(Date(timeIntervalSince1970: 253_402_300_799).queryText == "9999-12-31T23:59:59Z")
        #expect(Date(timeIntervalSince1970: -.infinity).queryText == "-inf")
    }

    @Test("nil is a bare name in literals and dictionaries, and left out of an Encodable value", .rows("RQ-34", "C6"))
    func nothing() throws {
        let page: Int? = nil
        #expect(try Self.query(Self.request.with(query: ["q": "x", "page": page])) == "q=x&page")
        #expect(try Self.query(Self.request.adding(queryItem: ("page", page))) == "page")
        #expect(try Self.query(Self.request.adding(queryItem: ("page", nil))) == "page")
        let dictionary: [String: String?] = ["q": "x", "page": nil]
        #expect(try Self.query(Self.request.with(query: dictionary)) == "page&q=x")
        #expect(try Self.query(Self.request.with(query: Search(q: "x"))) == "q=x")
    }

    @Test("one style leaves out nil in every kind of query and form", .rows("RQ-34", "C6"))
    func dropped() throws {
        let page: Int? = nil
        #expect(try Self.query(Self.request.with(query: ["q": "x", "page": page], nulls: .dropped)) == "q=x")
        #expect(try Self.query(Self.request.with(query: ["q": "x", "page": page], nulls: .emptyValue)) == "q=x&page=")
        #expect(try Self.query(Self.request.adding(queryItem: ("page", page), nulls: .dropped)) == nil)
        #expect(try Self.query(Self.request.adding(queryItems: ["a": 1, "page": page], nulls: .dropped)) == "a=1")
        let dictionary: [String: String?] = ["q": "x", "page": nil]
        #expect(try Self.query(Self.request.with(query: dictionary, nulls: .dropped)) == "q=x")
        let parameters = Self.request.adding(parameters: ["a": 1, "b": nil], in: .query(.init(nulls: .dropped)))
        #expect(try Self.query(parameters) == "a=1")
        for (style, text) in [(RequestParameters.Format.NullStyle.bareName, "a=1&b"), (.dropped, "a=1")] {
            let prepared = try api.post(.form(["a": 1, "b": page], nulls: style), to: "/x").prepared()
            guard case .bytes(let body) = prepared.body else { throw RequestError(.other) }
            #expect(String(decoding: body, as: UTF8.self) == text)
        }
    }
}
