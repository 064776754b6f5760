@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Invalidations of a cache", .timeLimit(.minutes(10)))
struct CacheInvalidationTests {
    @Test(
        "a method that can change something makes a stored response invalid, and one that only reads does not",
        .rows("R-41"),
        arguments: [
            (HTTPMethod.options, true), ("PROPFIND", true), ("REPORT", true), ("SEARCH", true), ("QUERY", true),
            (.put, false), (.post, false), ("PROPPATCH", false), ("LOCK", false), ("PURGE", false),
        ])
    func methods(method: HTTPMethod, keeps: Bool) async throws {
        let cache = CacheUnderTest(header: .caching("max-age=100"))
        _ = try await cache.send()
        _ = try await cache.send(method: method)
        #expect(try await cache.send().isHit == keeps)
    }

    @Test("a response that was requested before a change is not stored after it")
    func invalidationDuringRequest() async throws {
        let (started, finish) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let cache = CacheUnderTest { request in
            if request.method == .get, request.header.contains("X-Slow") {
                started.continuation.yield()
                for await _ in finish.stream { break }
            }
            return MockResponse(header: .caching("max-age=100"), body: [.bytes(Data("x".utf8))])
        }
        let task = Task { try await cache.send("/", ["X-Slow": "1"]) }
        for await _ in started.stream { break }
        _ = try await cache.send(method: .put)
        finish.continuation.yield()
        _ = try await task.value
        #expect(try await !cache.send().isHit)
        #expect(try await cache.send().isHit)
    }

    @Test(
        "a response that was requested before a change through another cache with the same store is not stored",
        arguments: [false, true])
    func invalidationInSharedStore(isOnDisk: Bool) async throws {
        let folder = TemporaryDirectory()
        let store: any CacheStore = isOnDisk ? Caching.DiskStore(folder: folder.path) : Caching.MemoryStore()
        let (started, finish) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let mock = MockExecutor { request in
            if request.method == .get, request.header.contains("X-Slow") {
                started.continuation.yield()
                for await _ in finish.stream { break }
            }
            return MockResponse(header: .caching("max-age=100"), body: [.bytes(Data("x".utf8))])
        }
        let (first, second) = (
            mock.caching(in: store, partition: .named("user")), mock.caching(in: store, partition: .named("user"))
        )
        var slow = try preparedRequest()
        slow.header["X-Slow"] = "1"
        let task = Task { [slow] in try await first.execute(slow) }
        for await _ in started.stream { break }
        _ = try await second.execute(preparedRequest(.put))
        finish.continuation.yield()
        _ = try await task.value
        #expect(try await !second.execute(preparedRequest()).isHit)
        #expect(try await first.execute(preparedRequest()).isHit)
    }
}
