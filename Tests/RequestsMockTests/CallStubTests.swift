import RequestsMock
import TestSupport
import Testing

extension Call<StubbedLibrary, Void> {
    fileprivate static var ping: Self { Call { $0.get(.none, from: "/ping") } }
}

@Suite("Stubs and snapshots of calls")
struct CallStubTests {
    @Test("calls and functions are stubbed in the forms in which a client performs them", .rows("PM-120"))
    func stubs() async throws {
        let mock = MockExecutor()
        mock.on(.books(since: 1900), return: [orlando])
        mock.on(.ping, respond: .status(204))
        mock.on({ (api: StubbedLibrary) in api.get(.text, from: "/motd") }, return: "hello")
        mock.on({ (api: StubbedLibrary) in api.delete("/books") }, respond: .status(204))
        let client = library(mock)
        #expect(try await client.perform(.books(since: 1900)) == [orlando])
        try await client.perform(.ping)
        #expect(try await client.perform { $0.get(.text, from: "/motd") } == "hello")
        try await client.perform { $0.delete("/books") }
        await #expect(throws: RequestError.self) { try await client.perform(.books(since: 1901)) }
        #expect(mock.recordedCount == 5)
    }

    @Test("calls and functions are checked as wire text, in the source and in a file", .rows("PM-120"))
    func snapshots() throws {
        let client = library(MockExecutor())
        let folder = TemporaryDirectory()
        try client.assertWire(
            .books(since: 1900),
            matches: """
                GET /api/books?since=1900 HTTP/1.1
                Host: library.test
                Accept: application/json
                """)
        try client.assertWire({ $0.delete("/books") }, matches: "DELETE /api/books HTTP/1.1\nHost: library.test")
        let error = #expect(throws: WireSnapshotError.self) { try client.assertWire(.ping, matches: "GET /") }
        #expect(error?.description.contains("Call<StubbedLibrary, ()>: the wire text differs") == true)
        try folder.write("GET /api/ping HTTP/1.1\nHost: library.test\n".utf8, to: "ping.txt")
        let path = folder.path(of: "ping.txt")
        try client.assertWire(.ping, recordedIn: path)
        try client.assertWire({ $0.get(.none, from: "/ping") }, recordedIn: path)
        #expect(throws: WireSnapshotError.self) { try client.assertWire({ $0.delete("/ping") }, recordedIn: path) }
    }
}
