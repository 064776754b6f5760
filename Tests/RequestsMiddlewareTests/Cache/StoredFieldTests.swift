@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("The fields of stored responses", .serialized, .timeLimit(.minutes(10)))
struct StoredFieldTests {
    /// A server whose responses have a cookie, two other fields, and the Cache-Control fields `controls`.
    private static func response(_ controls: [String]) -> MockResponse {
        let fields = [
            Field(name: .setCookie, value: "planted-id=1"), Field(name: "X-Secret", value: "planted"),
            Field(name: "X-Open", value: "open"), Field(name: .etag, value: "\"1\""),
        ]
        let header = Header(controls.map { Field(name: .cacheControl, value: $0) } + fields)
        return MockResponse(header: header, body: [.bytes(Data("body".utf8))])
    }

    @Test(
        "fields that no-cache names are returned to the first caller only, and the others are stored (RFC 9111 §5.2.2.4)",
        arguments: [
            "no-cache=\"Set-Cookie, X-Secret\"", "no-cache=\"set-cookie\t,, x-SECRET ,\"",
            "No-Cache=\"Set-\\Cookie,X-Secret\"",
        ], [false, true])
    func named(directive: String, isOnDisk: Bool) async throws {
        let folder = TemporaryDirectory()
        let store: any CacheStore = isOnDisk ? Caching.DiskStore(folder: folder.path) : Caching.MemoryStore()
        let cache = CacheUnderTest(in: store, partition: .named("test")) { request in
            if request.header.contains(.ifNoneMatch) {
                var response = Self.response(["max-age=10, \(directive)"])
                (response.status, response.body) = (304, [])
                return response
            }
            return Self.response(["max-age=10", directive])
        }
        let first = try await cache.send()
        #expect(first.header[.setCookie] == "planted-id=1" && first.header["X-Secret"] == "planted")
        for _ in 0..<2 {
            let hit = try await cache.send()
            #expect(hit.isHit && hit.header["X-Open"] == "open" && hit.text == "body")
            #expect(!hit.header.contains(.setCookie) && !hit.header.contains("X-Secret"))
            // The fields of a confirmation are not stored either.
            cache.advance(11)
            #expect(try await cache.send().text == "body")
        }
        #expect(cache.contacts == 3)
    }

    @Test(
        "a response whose no-cache names no field, or is repeated, is validated before each use",
        arguments: [
            ["max-age=10, no-cache"], ["max-age=10, no-cache=\"\""], ["max-age=10, no-cache=\" , \""],
            ["max-age=10, no-cache=\"X-Secret\", no-cache"], ["max-age=10, no-cache=\"X-Secret"],
            ["max-age=10, no-cache=\"Set-Cookie\", no-cache=\"X-Secret\""],
            ["max-age=10, no-cache=X-Secret", "NO-CACHE=\"Set-Cookie\""], ["max-age=10, no-cache=\"X-Open\"x"],
        ])
    func whole(controls: [String]) async throws {
        let cache = CacheUnderTest { request in
            guard request.header.contains(.ifNoneMatch) else { return Self.response(controls) }
            return MockResponse(status: 304, header: Header(controls.map { Field(name: .cacheControl, value: $0) }))
        }
        for number in 1...3 {
            #expect(try await cache.send().isHit == false)
            #expect(cache.contacts == number)
        }
    }

    @Test("fields of the connection, and fields that Connection names, are not stored (RFC 9111 §3.1)")
    func connection() async throws {
        var header = Header.caching("max-age=10")
        header.add([
            Field(name: .connection, value: "close, X-Hop"), Field(name: "X-Hop", value: "1"),
            Field(name: .keepAlive, value: "timeout=5"), Field(name: .upgrade, value: "h2c"),
            Field(name: .proxyAuthenticate, value: "Basic"), Field(name: "X-Open", value: "1"),
        ])
        let cache = CacheUnderTest(header: header)
        _ = try await cache.send()
        let hit = try await cache.send()
        #expect(hit.isHit && hit.header["X-Open"] == "1")
        for name in [Field.Name.connection, "X-Hop", .keepAlive, .upgrade, .proxyAuthenticate] {
            #expect(!hit.header.contains(name), "\(name)")
        }
    }

    @Test(
        "a response whose Vary is malformed or excessive is not stored (RFC 9111 §4.1)",
        arguments: [
            "*", "a, *", "X-A:1", "X A", "X-\u{301}", "\"Accept\"", "(", "a;q=1",
            (0...64).map { "x-\($0)" }.joined(separator: ","),
        ])
    func malformedVary(vary: String) async throws {
        let cache = CacheUnderTest(header: [
            Field(name: .cacheControl, value: "max-age=100"), Field(name: .vary, value: vary),
        ])
        for number in 1...2 { #expect(try await cache.send("/", ["X-A": "1"]).text == "\(number)") }
        #expect(cache.contacts == 2)
    }

    @Test("the names in Vary are compared without their case, order and repetitions, over all of its fields")
    func repeatedVary() async throws {
        let count = Lock(0)
        let cache = CacheUnderTest { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let lists = [["X-A, X-B"], ["x-b", "X-a"], ["X-B,x-A,,", "x-a"]]
            return MockResponse(
                header: Header(
                    [Field(name: .cacheControl, value: "max-age=100")]
                        + lists[number % 3].map { Field(name: .vary, value: $0) }),
                body: [.bytes(Data("\(number)".utf8))])
        }
        for (header, text) in [
            (["X-A": "1", "X-B": "2"] as Header, "1"), (["X-A": "2", "X-B": "1"], "2"), (["X-A": "1"], "3"),
            (["X-B": "2", "X-A": "1"], "1"), (["x-a": "2", "x-b": "1", "X-C": "3"], "2"), (["X-A": "1"], "3"),
            (["X-A": "1", "X-B": ""], "4"), ([Field(name: "X-A", value: "1"), Field(name: "X-A", value: "1")], "5"),
        ] {
            #expect(try await cache.send("/", header).text == text, "\(header)")
        }
    }
}
