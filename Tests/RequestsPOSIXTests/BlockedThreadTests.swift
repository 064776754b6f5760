import Requests
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Events that a thread waits for", .timeLimit(.minutes(10)))
struct BlockedThreadTests {
    let reactor: Reactor

    init() throws {
        reactor = try Reactor()
    }

    /// Returns the error with which a wait of a thread of its own ends.
    private func waited(
        for event: WakeEvent, by deadline: Deadline? = nil
    ) async throws -> WaitError? {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try DetachedThread.start(named: "blocked") {
                    do throws(WaitError) {
                        try event.waitInPlace(by: deadline)
                        continuation.resume(returning: nil)
                    } catch {
                        continuation.resume(returning: error)
                    }
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test("a signal ends the wait, before it or during it, and only once")
    func signals() async throws {
        let event = WakeEvent(on: reactor)
        event.signal()
        event.signal()
        #expect(try await waited(for: event) == nil)
        #expect(try await waited(for: event, by: .now) == .timedOut)
        async let blocked = waited(for: event)
        await eventually { reactor.pendingWaits == 1 }
        event.signal()
        #expect(try await blocked == nil)
        #expect(reactor.pendingWaits == 0)
        #expect(try await waited(for: event, by: .now) == .timedOut)
    }

    @Test("a deadline ends the wait, and not early (R-48)", arguments: [1, 7, 30])
    func deadline(milliseconds: Int) async throws {
        let event = WakeEvent(on: reactor)
        let start = ContinuousClock.now
        #expect(try await waited(for: event, by: .after(.milliseconds(milliseconds))) == .timedOut)
        #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
        #expect(reactor.pendingWaits == 0)
        // The next signal is for the next wait.
        event.signal()
        #expect(try await waited(for: event) == nil)
    }

    @Test("the cancellation of a task whose thread is blocked ends the wait (R-67)")
    func cancellation() async throws {
        let event = WakeEvent(on: reactor)
        let task = Task { () -> WaitError? in
            do throws(WaitError) {
                try event.waitInPlace(by: nil)
                return nil
            } catch {
                return error
            }
        }
        await eventually { reactor.pendingWaits == 1 }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(reactor.pendingWaits == 0)
    }

    @Test("a second wait for one event is an error")
    func occupied() async throws {
        let event = WakeEvent(on: reactor)
        async let first = waited(for: event)
        await eventually { reactor.pendingWaits == 1 }
        guard case .failed? = try await waited(for: event) else {
            Issue.record("the second wait did not fail")
            return
        }
        event.signal()
        #expect(try await first == nil)
    }

    @Test("signals and deadlines at the same time end each wait once (R-48, R-68)")
    func races() async throws {
        let event = WakeEvent(on: reactor)
        let outcomes = SharedCounter()
        for round in 0..<300 {
            let signaller = Task.detached {
                for _ in 0..<(round % 50) { await Task.yield() }
                event.signal()
            }
            let error = try await waited(for: event, by: .after(.microseconds(round % 100)))
            if error == nil { outcomes.add(1) }
            await signaller.value
            // A signal that came too late is kept, exactly once.
            if error == .timedOut { #expect(try await waited(for: event) == nil) }
            #expect(error == nil || error == .timedOut)
            #expect(reactor.pendingWaits == 0)
        }
        print("\(outcomes.value) of 300 waits ended with the signal")
    }
}
