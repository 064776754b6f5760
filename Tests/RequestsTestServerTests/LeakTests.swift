import RequestsMock
import RequestsTestServer
import Testing

private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// Counts what /proc lists for the process under this suite's own names, as other suites run beside it.
@Suite("Test server: leaks", .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/task")))
struct LeakTests {
    @Test("when the scope has ended, its threads and descriptors are gone (R-73)", .timeLimit(.minutes(1)))
    func leaks() async throws {
        let faults: [Fault?] = [nil, .stallBeforeHead, .resetBeforeHead, .stallBody(atByte: 1), .closeBeforeHead]
        let address = TestServer.Address.temporarySocket()
        for fault in faults {
            try await withTestServer(serving: MockExecutor(.ok("abc")), on: address, behaving: .failing(fault)) {
                server in
                let clients = [try await RawClient(server), try await RawClient(server)]
                for client in clients { try await client.send(get) }
                try await server.waitUntil { $0.exchanges.count == 2 }
                // The table may be read while it changes, and then lacks a line.
                while Self.sockets(at: address) == 0 { await Task.yield() }
            }
            #expect(Self.sockets(at: address) == 0)
            #expect(!FileManager.default.fileExists(atPath: address.path))
        }
    }

    /// Unix sockets of the system bound to the path of `address`: the listener and each accepted connection.
    private static func sockets(at address: TestServer.Address) -> Int {
        let table = (try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").count { $0.hasSuffix(" \(address.path)") }
    }
}

extension TestServer.Address {
    fileprivate var path: String { if case .unix(let path) = self { path } else { "" } }
}
