import RequestsMock
import RequestsTestServer
import Synchronization
import TestSupport
import Testing

private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

/// The way in which a client leaves.
enum Departure: CaseIterable, Sendable {
    case close, endSending, reset
}

/// A suspension of the executor that only cancellation ends, which it counts.
private func suspend(_ cancellations: borrowing Mutex<Int>) async throws {
    do {
        try await Task.sleep(for: .seconds(3600))
    } catch {
        cancellations.withLock { $0 += 1 }
        throw error
    }
}

@Suite("Test server: clients that leave", .timeLimit(.minutes(10)))
struct DepartureTests {
    /// Makes `client` leave, and releases it unless its connection is to stay half-open.
    private func leave(_ client: inout RawClient?, _ departure: Departure) throws {
        switch departure {
        case .close: client = nil
        case .endSending: client?.endSending()
        case .reset:
            try client?.setResetOnClose()
            client = nil
        }
    }

    @Test(
        "a handler that suspends is cancelled when its client leaves, also behind a request that waits",
        .rows("R-73", "R-67"), arguments: Departure.allCases, [get, get + get])
    func handlers(departure: Departure, sent text: String) async throws {
        let cancellations = Counted()
        let handler = MockExecutor { _ in
            try await suspend(cancellations.count)
            return .ok()
        }
        try await withTestServer(serving: handler) { server in
            var client: RawClient? = try await RawClient(server)
            try await client?.send(text)
            try await server.waitUntil { $0.exchanges.first?.isComplete == true && $0.receivedBytes >= get.utf8.count }
            try leave(&client, departure)
            try await server.waitUntil { $0.openConnections == 0 }
            withExtendedLifetime(client) {}
            #expect(cancellations.count.withLock { $0 } == 1)
            #expect(server.exchanges.map(\.status) == [nil])
        }
    }

    @Test(
        "a body that suspends is cancelled when its client leaves", .rows("R-73", "R-67"), arguments: Departure.allCases
    )
    func bodies(departure: Departure) async throws {
        let mock = MockExecutor(MockResponse(body: [.bytes(Data("first".utf8)), .pause(.endless), .bytes(Data([0]))]))
        try await withTestServer(serving: mock) { server in
            var client: RawClient? = try await RawClient(server)
            try await client?.send(get)
            var received = ""
            while !received.contains("first") { received += try await client?.receive(1) ?? "first" }
            try leave(&client, departure)
            try await server.waitUntil { $0.openConnections == 0 }
            withExtendedLifetime(client) {}
            #expect(server.exchanges.map(\.status) == [nil])
        }
    }

    @Test("a handler that suspends for long responds to a client that stays", .rows("R-73"))
    func staying() async throws {
        let mock = MockExecutor(.ok("late").delayed(by: .milliseconds(200)))
        try await withTestServer(serving: mock) { server in
            let client = try await RawClient(server)
            try await client.send(get + get)
            #expect(try RawClient.statuses(in: try await client.receiveBytes(220), to: [.get, .get]).first == 200)
        }
    }

    @Test("a wait whose limit passes is an error with the state of the server", .rows("PM-132"))
    func limits() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let client = try await RawClient(server)
            try await client.send(get)
            try await server.waitUntil { $0.requestCount == 1 }
            let error = await #expect(throws: TestServer.WaitExpired.self) {
                try await server.waitUntil(within: .milliseconds(20)) { $0.requestCount == 2 }
            }
            #expect(error?.limit == .milliseconds(20))
            #expect(
                error?.description
                    == "the condition was not satisfied within 0.02 seconds; requests received: 1, "
                    + "open connections: 1")
            await #expect(throws: TestServer.WaitExpired.self) {
                try await server.expectRequest(to: "/other", within: .zero)
            }
            // A condition that is satisfied already needs no time, even if checking it takes long.
            for _ in 0..<20 {
                try await server.waitUntil(within: .zero) { record in
                    let end = ContinuousClock.now + .milliseconds(5)
                    while ContinuousClock.now < end {}
                    return record.requestCount == 1
                }
            }
        }
    }
}

/// A counter that closures share.
private final class Counted: Sendable {
    let count = Mutex(0)
}
