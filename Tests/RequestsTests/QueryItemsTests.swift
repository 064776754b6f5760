import Requests
import TestCorpora
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("QueryItems")
struct QueryItemsTests {
    @Test("a literal keeps order and duplicates, and nil gives a bare name", .rows("RQ-14", "RQ-34", "C6", "T-10"))
    func literal() throws {
        let items: QueryItems = ["b": 1, "a": "x", "b": 2, "flag": nil, "empty": "", "on": true, "pi": 2.5]
        #expect(items.encoded() == "b=1&a=x&b=2&flag&empty=&on=true&pi=2.5")
        #expect(items.count == 7 && items[1].name == "a")
        let request = api.get(.none, from: "/users/search").with(query: ["query": "alex", "limit": "30"])
        #expect(try request.preparedURL() == "https://e.com/api/users/search?query=alex&limit=30")
        #expect(try request.with(query: [:] as QueryItems).preparedURL() == "https://e.com/api/users/search")
    }

    @Test("Foundation's query items can be added", .rows("RQ-14", "RQ-34"))
    func foundationItems() throws {
        let request = api.get(.none, from: "/x")
            .adding(queryItem: URLQueryItem(name: "a", value: "1"))
            .adding(queryItems: URLQueryItem(name: "b", value: nil), URLQueryItem(name: "c", value: "&"))
            .adding(queryItems: [URLQueryItem(name: "d", value: "")])
        #expect(try request.preparedURL() == "https://e.com/api/x?a=1&b&c=%26&d=")
    }

    @Test("typed items are added one by one", .rows("RQ-14"))
    func adding() throws {
        enum Order: String, QueryValue { case up = "↑" }
        let none: Int? = nil
        let request = api.get(.none, from: "/x").adding(queryItem: ("n", 1)).adding(queryItem: ("o", Order.up))
            .adding(queryItem: ("none", none)).adding(queryItem: ("n", "2"))
        #expect(try request.preparedURL() == "https://e.com/api/x?n=1&o=%E2%86%91&none&n=2")
    }

    @Test(
        "all characters but letters, digits and *-._ are encoded",
        .rows("C3", "C4", "T-20", "T-26", "T-28", "PM-43", "PF-8", "D-6", "D-12", "L12"),
        arguments: [
            ("value + space", "value%20%2B%20space"), (" +&=", "%20%2B%26%3D"), ("*-.azAZ09_", "*-.azAZ09_"),
            ("!@?;~", "%21%40%3F%3B%7E"), ("%", "%25"), ("%20", "%2520"), ("é", "%C3%A9"), ("\r\n\u{0}", "%0D%0A%00"),
            ("!👍🏽", "%21%F0%9F%91%8D%F0%9F%8F%BD"), ("#/'\"<>[]", "%23%2F%27%22%3C%3E%5B%5D"),
        ])
    func encoding(text: String, encoded: String) {
        #expect(PercentEncoding.strict.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded) == text)
        #expect(QueryItems([QueryItems.Item(name: text, value: text)]).encoded() == "\(encoded)=\(encoded)")
    }

    @Test(
        "encoded text is encoded again, and a long run of emoji is encoded without loss",
        .rows("T-26", "T-28", "AF-16"),
        arguments: [PercentEncoding.strict, .rfc3986, .afnetworking])
    func guessesNothing(encoding: PercentEncoding) {
        #expect(encoding.encode("%20%21%22%23%2f") == "%2520%2521%2522%2523%252f")
        let run = "!" + String(repeating: "👍🏽👩‍👩‍👧‍👦🏳️‍🌈", count: 60)
        let expected = run.utf8.dropFirst().reduce(into: "%21") { $0 += "%" + String($1, radix: 16, uppercase: true) }
        #expect(encoding.encode(run) == expected)
        #expect(QueryItems([QueryItems.Item(name: "q", value: run)]).encoded(with: encoding) == "q=" + expected)
        #expect(PercentEncoding.decode(expected) == run)
    }

    @Test("the other encodings keep their allowed characters", .rows("C3", "T-25", "AF-16"))
    func presets() {
        let reserved = ":#[]@!$&'()*+,;=?/~"
        #expect(PercentEncoding.afnetworking.encode(reserved) == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/~")
        #expect(PercentEncoding.rfc3986.encode("~?/") == "~%3F%2F")
        #expect(PercentEncoding(allowing: "é/").encode("é/?") == "%C3%A9/%3F")
    }

    @Test("the predefined encodings equal encodings made from their allowed characters", .rows("AF-16"))
    func sets() {
        #expect(PercentEncoding.strict == PercentEncoding(allowing: "*-._"))
        #expect(PercentEncoding.rfc3986 == PercentEncoding(allowing: "-._~"))
        #expect(PercentEncoding.afnetworking == PercentEncoding(allowing: "-._~/?"))
        #expect(PercentEncoding.path == PercentEncoding(allowing: "-._~!$&'()*+,;=:@/"))
        #expect(PercentEncoding.query == PercentEncoding(allowing: "-._~!$&'()*+,;=:@/?"))
    }

    @Test(
        "decoding keeps text that is not an escape",
        arguments: [("%", "%"), ("%4", "%4"), ("%zz%41", "%zzA"), ("%e9", "\u{FFFD}")])
    func decoding(text: String, decoded: String) {
        #expect(PercentEncoding.decode(text) == decoded)
    }

    @Test(
        "a query of a browser's characters is encoded as in browsers, and every encoding is decoded as the text",
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func corpus() throws {
        // The characters that browsers leave in the query of an http URL (WHATWG URL, special-query percent-encode
        // set).
        let browsers = PercentEncoding(allowing: "!$%&()*+,-./:;=?@[\\]^_`{|}~")
        let items = try #require(Corpora.url).percentEncodingQuery
        #expect(!items.isEmpty)
        for item in items {
            #expect(browsers.encode(item.input) == item.queryUtf8)
            let text = PercentEncoding.decode(item.queryUtf8)
            #expect(text == item.input)
            #expect(PercentEncoding.decode(PercentEncoding.strict.encode(text)) == text)
        }
    }
}
