import Requests
import RequestsBench
import RequestsMock
import RequestsTestServer
import RequestsURLSession

/// A comparison of the test server with a server in C: one loop in C sends the same small requests to each.
///
/// The servers have a core to themselves if one is given, because the loop is not pinned.
struct ServedRequests: Sendable {
    let folder: String
    let rounds: Int
    let core: Int?
    let scale: Double

    /// Runs the test server in this process, with HTTP/1.1 or HTTP/2: prints its port and serves until the input ends.
    static func serve(overHTTP2: Bool = false) async throws {
        let response = MockResponse.data(ReferenceServer.body, contentType: .json)
        let mock = MockExecutor(response).recording(.none)
        try await withTestServer(serving: mock, using: overHTTP2 ? .http2 : .http1) { server in
            guard case .loopback(let port) = server.address else { return }
            print(port)
            fflush(nil)
            let (ends, end) = AsyncStream.makeStream(of: Never.self)
            Thread.detachNewThread {
                while readLine() != nil {}
                end.finish()
            }
            for await _ in ends {}
        }
    }

    func figures() throws -> [Figure] {
        let pinning = core.map { ["taskset", "-c", "\($0)"] } ?? []
        let path = FileManager.default.temporaryDirectory.appending(path: "requests-bench-\(UUID()).sock").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let port = "\(Int.random(in: 20000..<30000))"
        let peer = try Program(pinning + ["\(folder)/server", port, path])
        defer { peer.end() }
        try peer.waitUntilListening(at: path)
        let own = try ChildProcess(["serve-test"], before: pinning)
        guard let ownPort = own.firstLine else { throw BenchmarkError("the server printed no port") }
        return try [1, 64].map { connections in
            var samples: [String: [Double]] = [:]
            for round in 0..<rounds {
                for port in round.isMultiple(of: 2) ? [port, ownPort] : [ownPort, port] {
                    let count = max(64, Int(24_000 * scale))
                    let loop = ["\(folder)/limit_client", "small", "\(count)", "\(connections)", port]
                    samples[port, default: []].append(try Program.measurement(loop)["us_req"] ?? .nan)
                }
            }
            return .of(
                "test server, \(connections == 1 ? "1 connection" : "\(connections) connections")", "µs",
                samples[ownPort] ?? [], to: samples[port], "C server", goal: "≤ 1.67")
        }
    }
}
