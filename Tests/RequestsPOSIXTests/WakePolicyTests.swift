import Foundation
import Requests
import RequestsPOSIX
import Testing

@Suite("Wake policy of a reactor", .timeLimit(.minutes(10)))
struct WakePolicyTests {
    /// A policy, and the time of its turns in nanoseconds.
    private struct Turns {
        var policy = WakePolicy()
        var now: Int64 = 0

        /// Records `count` turns with `events` events each, and returns the numbers of those that changed the policy.
        mutating func record(
            _ count: Int, events: Int = 1, nanoseconds: Int64 = 1000, registrations: Int = 8
        ) -> [Int] {
            (1...count).filter { _ in
                now += nanoseconds
                let before = policy.isBatch
                policy.record(events: events, registrations: registrations, now: now)
                return policy.isBatch != before
            }
        }
    }

    @Test("a trial needs eight descriptors, and turns with events")
    func fewDescriptors() {
        var turns = Turns()
        #expect(turns.record(10_000, registrations: 7) == [])
        #expect(turns.record(10_000, events: 0) == [])
        #expect(!turns.policy.isBatch)
    }

    @Test("a trial with one event a turn ends after three turns, and the pauses double up to 4,096 turns")
    func singleEvents() {
        var turns = Turns()
        var pauses: [Int] = []
        for _ in 0..<9 {
            pauses.append((turns.record((64 << min(pauses.count, 6)) + 1).last ?? 0) - 1)
            #expect(turns.policy.isBatch)
            #expect(turns.record(3) == [3])
        }
        #expect(pauses == [64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096])
    }

    @Test("the thread waits as a batch thread while events arrive together and as fast as before")
    func eventsTogether() {
        var turns = Turns()
        for _ in 0..<2 {
            #expect(turns.record(65) == [65])
            #expect(turns.record(1024, events: 8, nanoseconds: 8000) == [])
            // The rate is compared every 64 turns.
            #expect(turns.record(64, events: 8, nanoseconds: 9000) == [64])
        }
    }

    @Test("single events after many end it within a few turns")
    func singleEventsAfterMany() {
        var turns = Turns()
        #expect(turns.record(65) == [65])
        #expect(turns.record(1000, events: 256, nanoseconds: 8000) == [])
        #expect(turns.record(10) == [6])
    }

    @Test("a trial in which events arrive together, but later, ends after eight turns")
    func delayedEvents() {
        var turns = Turns()
        #expect(turns.record(65) == [65])
        #expect(turns.record(8, events: 6, nanoseconds: 4_000_000) == [8])
        #expect(turns.record(129) == [129])
    }

    @Test("a system without batch threads has no further trials")
    func impossible() {
        var turns = Turns()
        #expect(turns.record(65) == [65])
        turns.policy.isPossible = false
        #expect(turns.record(10_000) == [])
    }

    @Test("a thread becomes a batch thread and an ordinary one again, where the system allows it")
    func thread() async throws {
        let seen = try await onThread {
            [true, true, false, false].map { "\(DetachedThread.setBatch($0)) \(schedulingPolicy() ?? "")" }
        }
        let isPossible = seen[0].hasPrefix("true")
        #expect(isPossible ? seen == ["true 3", "false 3", "true 0", "false 0"] : Set(seen).count == 1)
    }

    @Test("a reactor with many descriptors waits as a batch thread, and the pool's threads stay ordinary ones")
    func reactor() async throws {
        let reactor = try Reactor()
        let pairs = try (0..<16).map { _ in try ChannelPair(on: reactor) }
        let isPossible = try await onThread { DetachedThread.setBatch(true) }
        var exchanges = 0
        while exchanges < 400 || isPossible && reactor.batchWaits == 0 && exchanges < 100_000 {
            try await exchange(pairs)
            exchanges += 1
            // A thread of the pool that the reactor's thread has created has inherited the policy.
            #expect(schedulingPolicy() != "3")
        }
        #expect(reactor.batchWaits > 0 || !isPossible)
    }

    @Test("the thread of a task executor stays an ordinary one")
    func taskThread() async throws {
        let reactor = try Reactor(runsTasks: true)
        let pairs = try (0..<16).map { _ in try ChannelPair(on: reactor) }
        for _ in 0..<200 { try await exchange(pairs) }
        #expect(reactor.batchWaits == 0)
    }

    /// Sends a byte to each pair, and waits for it.
    private func exchange(_ pairs: [ChannelPair]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pair in pairs {
                group.addTask {
                    try await pair.near.wait(for: .reading)
                    _ = try pair.near.readOnce()
                }
            }
            for pair in pairs { try pair.far.writeOnce([1]) }
            try await group.waitForAll()
        }
    }
}

/// Returns the number of the scheduling policy of the calling thread.
private func schedulingPolicy() -> Substring? {
    let text = try? String(contentsOfFile: "/proc/thread-self/stat", encoding: .utf8)
    // The fields after the name, which is in parentheses, begin with the third one; the policy is the 41st.
    return text?.split(separator: ")").last?.split(separator: " ").dropFirst(38).first
}

/// Runs `body` on a separate thread and returns its result.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do throws(SystemError) {
            try DetachedThread.start(named: "test") { continuation.resume(returning: body()) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
