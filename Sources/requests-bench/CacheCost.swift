import Requests
import RequestsBench
import RequestsMiddleware

/// A measurement of the time that a response from a cache takes.
struct CacheCost: Sendable {
    let rounds: Int
    let scale: Double

    /// An executor that returns the same response at once, with fields as a server sends them.
    private struct Server: RequestExecutor {
        let size: Int

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            let fields = [
                Field(name: .cacheControl, value: "max-age=86400"), Field(name: .contentType, value: "text/plain"),
                Field(name: .date, value: "\(HTTPDate(Date()))"), Field(name: .etag, value: "\"benchmark\""),
                Field(name: .contentLength, value: "\(size)"), Field(name: .server, value: "benchmark"),
            ]
            return RawResponse(
                head: ResponseHead(status: 200, header: Header(fields), target: request.target),
                body: .bytes(Data(repeating: 0x61, count: size)))
        }
    }

    @concurrent
    func figures() async throws -> [Figure] {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "requests-bench-\(UInt64.random(in: .min ... .max))")
        let path = folder.path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var request = try PreparedRequest(url: URL("https://api.example.com/v1/items/7"))
        request.header = [.accept(.json), .userAgent("benchmark")]
        var authorized = request
        authorized.header.add(.authorization(bearerToken: "benchmark"))
        let memory = Server(size: 1_000).caching()
        let disk = Server(size: 64 << 10).caching(in: Caching.DiskStore(folder: path))
        let cases: [(any RequestExecutor, PreparedRequest, Int)] = [
            (memory, request, count), (memory, authorized, count), (disk, request, max(1, count / 100)),
        ]
        var samples: [[Double]] = Array(repeating: [], count: cases.count)
        for (executor, request, _) in cases { _ = try await executor.execute(request) }
        for _ in 0..<rounds {
            for (index, (executor, request, count)) in cases.enumerated() {
                samples[index].append(try await Self.microseconds(of: executor, request, count))
            }
        }
        return [
            .of("cached response from memory", "µs", samples[0], goal: "≤ 3 µs"),
            .of("cached responses from memory", "per s", samples[0].map { 1e6 / $0 }, goal: "≥ 400000 per s"),
            .of("cached response of an authorized request", "µs", samples[1]),
            .of("cached response of 64 KiB from a file", "µs", samples[2], goal: "≤ 60 µs"),
        ]
    }

    private var count: Int { max(1, Int(100_000 * scale)) }

    // Not inlined, so that the optimizer keeps the measured loop apart from its caller.
    @inline(never)
    private static func microseconds(
        of executor: any RequestExecutor, _ request: PreparedRequest, _ count: Int
    ) async throws -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count {
            let response = try await executor.execute(request)
            guard response.metrics.cacheStatus?.isHit == true else {
                throw BenchmarkError("the response is not from the cache")
            }
        }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }
}
