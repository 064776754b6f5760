import Requests
import RequestsMiddleware
import RequestsMock
import Testing

@Suite("The limits of stored bodies", .serialized, .timeLimit(.minutes(10)))
struct CacheLimitTests {
    private static let piece = Data(repeating: 0x61, count: 1 << 20)

    /// A cache whose server sends the number of bytes in the path, in pieces of at most 1 MiB; below `/known/`, the
    /// responses have a Content-Length.
    private func cache(maximumBodySize: Int) -> CacheUnderTest {
        var rules = Caching.Rules()
        rules.maximumBodySize = maximumBodySize
        return CacheUnderTest(in: Caching.MemoryStore(capacity: 256 << 20), rules: rules) { request in
            let parts = request.target.path.split(separator: "/")
            let length = Int(parts.last ?? "") ?? 0
            let pieces = stride(from: 0, to: length, by: Self.piece.count).map { start in
                Self.piece.prefix(length - start)
            }
            var response = MockResponse(header: .caching("max-age=100"), body: pieces.map { .bytes(Data($0)) })
            // A body with trailers has no Content-Length.
            if parts.first != "known" { response.trailers = [Field(name: "X-End", value: "1")] }
            return response
        }
    }

    private func stream(_ cache: CacheUnderTest, _ path: String) async throws -> (ResponseStream, RawResponse) {
        let response = try await cache.send(path, delivery: .streamed)
        guard case .stream(let stream) = response.body else { throw RequestError(.other, detail: "no stream") }
        return (stream, response)
    }

    private func isStored(_ cache: CacheUnderTest, _ path: String) async throws -> Bool {
        try await cache.send(path, policy: .returnCacheDataDontLoad, delivery: .collected(limit: .max)).isHit
    }

    @Test(
        "a body of the maximum size is stored, and a body with one more byte is delivered and not stored",
        arguments: [1_000, 1, 0, -5, Int.min])
    func size(limit: Int) async throws {
        let cache = cache(maximumBodySize: limit)
        let (allowed, excess) = (max(0, limit), max(0, limit) + 1)
        let collected = try await cache.send("/known/\(allowed)")
        #expect(collected.data?.count == allowed && collected.metrics.cacheStatus?.isStored == true)
        let refused = try await cache.send("/known/\(excess)")
        #expect(refused.data?.count == excess && refused.metrics.cacheStatus?.isStored == false)
        #expect(try await isStored(cache, "/known/\(allowed)"))
        #expect(try await !isStored(cache, "/known/\(excess)"))
        for (number, kind) in ["known", "unknown"].enumerated() {
            for count in [allowed, excess] {
                let path = "/\(kind)/\(number)/\(count)"
                let (stream, response) = try await stream(cache, path)
                // A body with a known length is refused before its first byte is kept.
                let isRefused = kind == "known" && count == excess
                #expect(response.metrics.cacheStatus?.isStored == !isRefused)
                #expect(try await stream.collect().count == count)
                #expect(try await isStored(cache, path) == (count == allowed), "\(path)")
            }
        }
    }

    @Test("bodies that are recorded at the same time share 64 MiB, and each is delivered whole")
    func recordings() async throws {
        let cache = cache(maximumBodySize: 100 << 20)
        let (first, second, third, alone) = (30 << 20, 40 << 20, 60 << 20, 65 << 20)
        do {
            // The first body keeps 20 MiB while the second one is read.
            let (open, _) = try await stream(cache, "/known/\(first)")
            for _ in 0..<20 { #expect(try await open.next()?.count == Self.piece.count) }
            let (other, _) = try await stream(cache, "/known/\(second)")
            #expect(try await other.collect().count == second)
            #expect(try await isStored(cache, "/known/\(second)"))
            let (late, _) = try await stream(cache, "/unknown/\(third)")
            #expect(try await late.collect().count == third)
            #expect(try await !isStored(cache, "/unknown/\(third)"))
            #expect(try await open.collect().count == first - (20 << 20))
            #expect(try await isStored(cache, "/known/\(first)"))
        }
        do {
            let (released, _) = try await stream(cache, "/released/\(first)")
            for _ in 0..<20 { _ = try await released.next() }
        }
        // A body that ends, or is released, frees the memory that it used.
        let (whole, _) = try await stream(cache, "/unknown/\(third)")
        #expect(try await whole.collect().count == third)
        #expect(try await isStored(cache, "/unknown/\(third)"))
        let (large, _) = try await stream(cache, "/known/\(alone)")
        #expect(try await large.collect(limit: alone).count == alone)
        #expect(try await !isStored(cache, "/known/\(alone)"))
    }
}
