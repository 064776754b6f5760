import RequestsMock
import RequestsPOSIX
import RequestsTestServer
import TestSupport
import Testing

private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// Counts only the sockets at the path of this suite, because other suites run at the same time.
@Suite("Test server: leaks", .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/task")))
struct LeakTests {
    @Test("no socket and no path remain after the scope", .rows("R-73"), .timeLimit(.minutes(10)))
    func leaks() async throws {
        let faults: [TestServer.Fault?] = [
            nil, .stallBeforeHead, .resetBeforeHead, .stallBody(atByte: 1), .closeBeforeHead,
        ]
        let address = TestServer.Address.temporarySocket()
        for fault in faults {
            try await withTestServer(serving: MockExecutor(.ok("abc")), on: address, behaving: .failing(fault)) {
                server in
                let clients = [try await RawClient(server), try await RawClient(server)]
                for client in clients { try await client.send(get) }
                try await server.waitUntil { $0.exchanges.count == 2 }
                // A table that is read while it changes can lack a line.
                while try Self.sockets(at: address) == 0 {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
            #expect(try Self.sockets(at: address) == 0)
            #expect(!FileManager.default.fileExists(atPath: address.path))
        }
    }

    @Test("no socket and no path remain after exchanges over HTTP/2", .rows("R-73"), .timeLimit(.minutes(10)))
    func leaksOfHTTP2() async throws {
        let faults: [TestServer.Fault?] = [
            nil, .stallBeforeHead, .resetBeforeHead, .stallBody(atByte: 1), .resetStream(code: 8),
        ]
        let address = TestServer.Address.temporarySocket()
        for fault in faults {
            let behavior = TestServer.Behavior.failing(fault)
            try await withTestServer(serving: MockExecutor(.ok("abc")), on: address, using: .http2, behaving: behavior)
            {
                server in
                var client = try await HTTP2Client(server)
                for method in ["GET", "PUT"] { _ = client.open(method, "/", body: method == "PUT" ? [1] : nil) }
                // The server ends while a stream is open whose request has not arrived to its end.
                client.sendsBodies = false
                try await client.flush()
                try await server.waitUntil { $0.requestCount >= (fault == .resetBeforeHead ? 1 : 2) }
            }
            #expect(try Self.sockets(at: address) == 0)
        }
    }

    /// Returns how many unix sockets this process has at the path of `address`: the listener and each accepted
    /// connection.
    ///
    /// A child that another suite forks has copies of them until it executes its program.
    private static func sockets(at address: TestServer.Address) throws -> Int {
        let table = String(decoding: try content(of: "/proc/net/unix"), as: UTF8.self)
        let lines = table.split(separator: "\n").filter { $0.hasSuffix(" \(address.path)") }
        // The last but one column is the number of the inode.
        let bound = Set(lines.compactMap { $0.split(separator: " ").dropLast().last.map { "socket:[\($0)]" } })
        let folder = "/proc/self/fd/"
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: folder)
        // Those that were closed meanwhile have no target.
        return descriptors.count { descriptor in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + descriptor)).map(bound.contains)
                ?? false
        }
    }

    /// Returns the content of a file of unknown size; Foundation reads only the first page of a file in /proc.
    private static func content(of path: String) throws -> [UInt8] {
        let file = try FileReader(path: path)
        var content: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try part.withUnsafeMutableBytes { try file.read(into: $0, at: Int64(content.count)) }
            guard count > 0 else { return content }
            content += part[..<count]
        }
    }
}

extension TestServer.Address {
    fileprivate var path: String { if case .unix(let path) = self { path } else { "" } }
}
