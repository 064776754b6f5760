import Foundation
import Requests
import RequestsPOSIX
import Testing

@Suite("Wake policy of a reactor", .timeLimit(.minutes(10)))
struct WakePolicyTests {
    /// Records `turns` turns with `events` events each, and returns the numbers of those that changed the policy.
    private func changes(
        of policy: inout WakePolicy, in turns: Int, events: Int = 1, registrations: Int = 8
    ) -> [Int] {
        (1...turns).filter { _ in policy.record(events: events, registrations: registrations) }
    }

    @Test("a trial needs eight descriptors, and turns with events")
    func fewDescriptors() {
        var policy = WakePolicy()
        #expect(changes(of: &policy, in: 10_000, registrations: 7) == [])
        #expect(changes(of: &policy, in: 10_000, events: 0) == [])
        #expect(!policy.isBatch)
    }

    @Test("a trial with one event a turn ends after four turns, and the pauses double up to 4,096 turns")
    func trialsThatDoNotHelp() {
        var policy = WakePolicy()
        var pauses: [Int] = []
        for _ in 0..<9 {
            pauses.append(changes(of: &policy, in: 64 << min(pauses.count, 6)).last ?? 0)
            #expect(policy.isBatch)
            #expect(changes(of: &policy, in: 4) == [4])
            #expect(!policy.isBatch)
        }
        #expect(pauses == [64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096])
    }

    @Test("the thread is a batch thread as long as at least two events arrive together")
    func eventsTogether() {
        var policy = WakePolicy()
        for _ in 0..<2 {
            #expect(changes(of: &policy, in: 64) == [64])
            #expect(changes(of: &policy, in: 1000, events: 2) == [])
            #expect(policy.isBatch)
            // The mean of 9 falls below 2 after eight single events.
            #expect(changes(of: &policy, in: 1, events: 30) == [])
            #expect(changes(of: &policy, in: 8) == [8])
        }
    }

    @Test("a system without batch threads has no further trials")
    func impossible() {
        var policy = WakePolicy()
        #expect(changes(of: &policy, in: 64) == [64])
        policy.isPossible = false
        #expect(changes(of: &policy, in: 10_000) == [])
    }

    @Test("a thread becomes a batch thread and an ordinary one again, where the system allows it")
    func thread() async throws {
        let seen = try await onThread {
            [true, true, false, false].map { "\(DetachedThread.setBatch($0)) \(schedulingPolicy() ?? "")" }
        }
        let isPossible = seen[0].hasPrefix("true")
        #expect(isPossible ? seen == ["true 3", "true 3", "true 0", "true 0"] : Set(seen).count <= 2)
    }

    @Test("events that arrive together make a reactor's thread a batch thread, and single ones an ordinary one again")
    func reactor() async throws {
        let reactor = try Reactor()
        let pairs = try (0..<16).map { _ in try ChannelPair(on: reactor) }
        guard try await onThread({ DetachedThread.setBatch(true) }) else {
            for _ in 0..<200 { try await exchange(pairs) }
            #expect(!reactor.isBatch)
            return
        }
        while !reactor.isBatch { try await exchange(pairs) }
        while reactor.isBatch { try await exchange([pairs[0]]) }
    }

    @Test("the thread of a task executor stays an ordinary one")
    func taskThread() async throws {
        let reactor = try Reactor(runsTasks: true)
        let pairs = try (0..<16).map { _ in try ChannelPair(on: reactor) }
        for _ in 0..<200 { try await exchange(pairs) }
        #expect(!reactor.isBatch)
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
