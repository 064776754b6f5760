import Foundation
import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

/// A program of the system, if it is installed.
private struct Program {
    let path: String

    /// The program `name`, or the one at the path in an environment variable.
    init?(_ name: String, orAt variable: String? = nil) {
        if let path = variable.flatMap({ ProcessInfo.processInfo.environment[$0] }) {
            self.path = path
            return
        }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
            return nil
        }
        self.path = path
    }

    /// Runs the program, and returns its output and its status.
    func run(_ arguments: [String]) async throws -> (output: String, status: Int32) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (String(decoding: data, as: UTF8.self), process.terminationStatus)
    }
}

private let curl = Program("curl")
private let h2load = Program("h2load")
private let nghttp = Program("nghttp")
private let python = Program("python3", orAt: "REQUESTS_PYTHON")

@Suite("Test server: other HTTP/2 clients", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HTTP2InteropTests {
    private static func serve(
        on address: TestServer.Address = .loopback(), tls: TestServer.TLS? = nil,
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let mock = MockExecutor { request in
            guard case .bytes(let body) = request.body else {
                return .ok(request.target.path).with(trailers: ["X-Sum": "1"])
            }
            return .data(body)
        }
        try await withTestServer(serving: mock, on: address, using: .http2, tls: tls, body)
    }

    @Test(
        "curl sends requests with and without bodies over TCP and over a unix socket", .rows("H-36"),
        .enabled(if: curl != nil, "curl is not installed"), arguments: ServerAddress.allCases)
    func curlClient(on address: ServerAddress) async throws {
        let program = try #require(curl)
        let folder = TemporaryDirectory()
        let body = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        try folder.write(body, to: "body")
        try await Self.serve(on: address.address) { server in
            let socket = server.socketPath.map { ["--unix-socket", $0] } ?? []
            let options = socket + ["--http2-prior-knowledge", "-s", "-w", "%{http_version} %{http_code}", "-o"]
            let url = server.baseURL.absoluteString
            let get = try await program.run(options + ["\(folder.path)/get", "\(url)/a"])
            #expect(get.output == "2 200" && get.status == 0)
            #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/get")) == Data("/a".utf8))
            for extra in [[], ["-H", "Expect: 100-continue"], ["-H", "Transfer-Encoding: chunked"]] {
                let arguments = ["\(folder.path)/put", "-T", "\(folder.path)/body", "\(url)/b"]
                let put = try await program.run(options + arguments + extra)
                #expect(put.output == "2 200" && put.status == 0, "\(extra)")
                #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/put")) == body, "\(extra)")
            }
            let head = try await program.run(options + ["/dev/null", "-I", "\(url)/c"])
            #expect(head.output == "2 200" && head.status == 0)
            #expect(server.exchanges.map(\.method) == [.get, .put, .put, .put, .head])
            #expect(server.exchanges.allSatisfy { $0.status == 200 })
        }
    }

    @Test(
        "over TLS, clients that offer h2 are served with HTTP/2, and others with HTTP/1.1", .rows("H-36", "PM-130"),
        .enabled(if: curl != nil, "curl is not installed"),
        .enabled(if: TestServer.supportsTLS, "libssl is not installed"),
        arguments: [
            (["--http2"], nil, "2 200", "h2"), (["--http1.1"], nil, "1.1 200", "http/1.1"),
            (["--no-alpn"], nil, "1.1 200", nil), (["--http2"], ["h2"], "2 200", "h2"),
            (["--http2"], [], "1.1 200", nil),
        ] as [([String], [String]?, String, String?)])
    func securedClient(
        options: [String], serverProtocols: [String]?, output: String, selected: String?
    ) async throws {
        let program = try #require(curl)
        var tls = TestServer.TLS()
        if let serverProtocols { tls.applicationProtocols = serverProtocols }
        let folder = TemporaryDirectory()
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        try folder.write(body, to: "body")
        try await Self.serve(tls: tls) { server in
            let format = ["-k", "-s", "-w", "%{http_version} %{http_code}", "-o", "\(folder.path)/put"]
            let arguments = format + options + ["-T", "\(folder.path)/body", "\(server.baseURL.absoluteString)/a"]
            let put = try await program.run(arguments)
            #expect(put.output == output && put.status == 0)
            #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/put")) == body)
            #expect(server.exchanges.map { $0.tls?.applicationProtocol } == [selected])
        }
    }

    @Test(
        "h2load performs 1,000 requests over TLS, 50 at a time", .rows("H-36"),
        .enabled(if: h2load != nil, "h2load is not installed"),
        .enabled(if: TestServer.supportsTLS, "libssl is not installed"))
    func securedLoad() async throws {
        let program = try #require(h2load)
        try await Self.serve(tls: .init()) { server in
            let result = try await program.run(["-n1000", "-c1", "-m50", "\(server.baseURL.absoluteString)/a"])
            #expect(result.output.contains("1000 succeeded, 0 failed, 0 errored"), "\(result.output)")
            #expect(server.record.acceptedConnections == 1)
        }
    }

    @Test(
        "h2load performs 2,000 requests, 100 at a time on each of two connections", .rows("H-36"),
        .enabled(if: h2load != nil, "h2load is not installed"))
    func h2loadClient() async throws {
        let program = try #require(h2load)
        try await Self.serve { server in
            let url = server.baseURL.absoluteString
            let result = try await program.run(["-n2000", "-c2", "-m100", "\(url)/a"])
            #expect(result.output.contains("2000 succeeded, 0 failed, 0 errored"), "\(result.output)")
            #expect(server.record.requestCount == 2_000 && server.record.acceptedConnections == 2)
        }
    }

    @Test(
        "the package h2 of Python sends 80 requests at once, if it is installed", .rows("H-36"),
        .enabled(if: python != nil, "python3 is not installed"))
    func pythonClient() async throws {
        let program = try #require(python)
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        try await Self.serve { server in
            let script = "/\(root)/Tests/Fixtures/Interop/http2-client"
            let result = try await program.run([script, "\(server.port ?? 0)", "80"])
            let expected = ["h2: 80 responses\n", "h2: skipped, because it is not installed\n"]
            #expect(result.status == 0 && expected.contains(result.output), "\(result.output)")
            print(result.output, terminator: "")
        }
    }

    @Test(
        "nghttp receives a response with trailers", .rows("H-36"),
        .enabled(if: nghttp != nil, "nghttp is not installed"))
    func nghttpClient() async throws {
        let program = try #require(nghttp)
        try await Self.serve { server in
            let result = try await program.run(["-v", "\(server.baseURL.absoluteString)/a"])
            #expect(result.status == 0 && result.output.contains("x-sum: 1"), "\(result.output)")
        }
    }
}
