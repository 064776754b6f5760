import Requests
import Synchronization
import TestSupport
import Testing

@Suite("Shared client", .tags(.concurrent))
struct SharedClientTests {
    private static func client(_ text: String) -> Client<AnonymousRequestProvider> {
        Client(.example, executor: StubExecutor(200, text))
    }

    private static func text(_ client: Client<AnonymousRequestProvider>) async throws -> String {
        try await client.perform { $0.get(.text, from: "/x") }
    }

    @Test(
        "a shared client is made once, on first use by any task, and other clients can exist beside it", .rows("PM-1"))
    func madeOnce() async throws {
        let count = Mutex(0)
        let shared = SharedClient {
            count.withLock { $0 += 1 }
            return Self.client("usual")
        }
        #expect(count.withLock { $0 } == 0)
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { _ = shared.client } }
        }
        #expect(try await Self.text(shared.client) == "usual")
        #expect(count.withLock { $0 } == 1)
        #expect(try await Self.text(Self.client("other")) == "other")
    }

    @Test(
        "a bootstrap before first use makes the client, and a second one returns false and has no effect", .rows("PM-2")
    )
    func bootstrapped() async throws {
        let shared = SharedClient { Self.client("usual") }
        #expect(shared.bootstrap { Self.client("first") })
        #expect(!shared.bootstrap { Self.client("second") })
        #expect(try await Self.text(shared.client) == "first")
    }

    @Test("a bootstrap after first use returns false and has no effect", .rows("PM-2"))
    func late() async throws {
        let shared = SharedClient { Self.client("usual") }
        #expect(try await Self.text(shared.client) == "usual")
        #expect(!shared.bootstrap { Self.client("late") })
        #expect(try await Self.text(shared.client) == "usual")
    }
}
