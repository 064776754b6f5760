import Requests
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Reactor", .timeLimit(.minutes(10)))
struct ReactorTests {
    let reactor: Reactor

    init() throws {
        reactor = try Reactor()
    }

    @Test("a wait ends when bytes arrive")
    func wakes() async throws {
        let pair = try ChannelPair(on: reactor)
        async let text = pair.near.readAll(upTo: 5)
        await eventually { reactor.pendingWaits == 1 }
        try await pair.far.writeAll(Array("hello".utf8))
        #expect(try await text == Array("hello".utf8))
    }

    @Test("readiness without a wait is kept for the next wait, once")
    func stickyReadiness() async throws {
        let event = WakeEvent(on: reactor)
        event.signal()
        event.signal()
        #expect(await outcome { () throws(WaitError) in try await event.wait(by: nil) } == nil)
        let second = await outcome { () throws(WaitError) in try await event.wait(by: .now) }
        #expect(second == .timedOut)
    }

    @Test("bytes that arrived before registration end the first wait")
    func readyBeforeRegistration() async throws {
        let pair = try ChannelPair(on: reactor)
        try pair.far.writeOnce([1])
        try await pair.near.waitUntilReadable()
        #expect(try pair.near.readOnce() == .bytes(1))
        #expect(try pair.near.readOnce() == .wouldBlock)
    }

    @Test(
        "a wait in either direction ends when the peer closes or resets the connection", .rows("R-54"),
        arguments: [false, true])
    func peerGone(writing: Bool) async throws {
        var far: Channel?
        let near = try {
            let pair = try ChannelPair(on: reactor)
            far = pair.far
            return pair.near
        }()
        if writing {
            while case .bytes = try near.writeOnce([UInt8](repeating: 7, count: 65536)) {}
        }
        async let waited = outcome { () throws(WaitError) in
            if writing { try await near.waitUntilWritable() } else { try await near.waitUntilReadable() }
        }
        await eventually { reactor.pendingWaits == 1 }
        #expect(far != nil)
        far = nil
        #expect(await waited == nil)
        if writing {
            #expect(throws: SystemError.self) { try near.writeOnce([1]) }
        } else {
            #expect(try near.readOnce() == .end)
        }
    }

    @Test("a deadline ends a wait, and not early", .rows("R-48"), arguments: [0, 1, 7, 30])
    func deadline(milliseconds: Int) async throws {
        let pair = try ChannelPair(on: reactor)
        let start = ContinuousClock.now
        let deadline = Deadline(start.advanced(by: .milliseconds(milliseconds)))
        let error = await outcome { () throws(WaitError) in try await pair.near.waitUntilReadable(by: deadline) }
        #expect(error == .timedOut)
        #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
    }

    @Test("a wait whose deadline has passed still returns existing readiness")
    func pastDeadline() async throws {
        let event = WakeEvent(on: reactor)
        event.signal()
        let past = Deadline.now.advanced(by: .seconds(-1))
        #expect(await outcome { () throws(WaitError) in try await event.wait(by: past) } == nil)
    }

    @Test("a wait with an earlier deadline than a running wait ends in time")
    func earlierDeadline() async throws {
        let late = WakeEvent(on: reactor)
        let early = WakeEvent(on: reactor)
        async let lateError = outcome { () throws(WaitError) in try await late.wait(by: .after(.seconds(3600))) }
        await eventually { reactor.nextWake != .distantFuture }
        let error = await outcome { () throws(WaitError) in try await early.wait(by: .after(.milliseconds(5))) }
        #expect(error == .timedOut)
        late.signal()
        #expect(await lateError == nil)
    }

    @Test("a later deadline does not wake the thread")
    func laterDeadline() async throws {
        let event = WakeEvent(on: reactor)
        let first = Task { await outcome { () throws(WaitError) in try await event.wait(by: .after(.seconds(1000))) } }
        await eventually { reactor.pendingWaits == 1 && reactor.nextWake != .distantFuture }
        let wake = reactor.nextWake
        let other = WakeEvent(on: reactor)
        let second = Task { await outcome { () throws(WaitError) in try await other.wait(by: .after(.seconds(2000))) } }
        await eventually { reactor.pendingWaits == 2 }
        event.signal()
        other.signal()
        #expect(await first.value == nil)
        #expect(await second.value == nil)
        #expect(reactor.nextWake == wake)
    }

    @Test("a cancelled wait ends, and later readiness ends the next wait", .rows("R-67"))
    func cancellation() async throws {
        let pair = try ChannelPair(on: reactor)
        let first = Task { await outcome { () throws(WaitError) in try await pair.near.waitUntilReadable() } }
        await eventually { reactor.pendingWaits == 1 }
        first.cancel()
        #expect(await first.value == .cancelled)
        let second = Task { await outcome { () throws(WaitError) in try await pair.near.waitUntilReadable() } }
        await eventually { reactor.pendingWaits == 1 }
        first.cancel()
        #expect(reactor.pendingWaits == 1)
        try pair.far.writeOnce([1])
        #expect(await second.value == nil)
    }

    @Test("a task that was cancelled before it waits does not consume readiness")
    func cancelledBefore() async throws {
        let event = WakeEvent(on: reactor)
        event.signal()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await outcome { () throws(WaitError) in try await event.wait(by: nil) }
        }
        #expect(await task.value == .cancelled)
        #expect(await outcome { () throws(WaitError) in try await event.wait(by: .now) } == nil)
    }

    @Test("the deadline of an earlier wait does not end a later one")
    func staleDeadline() async throws {
        let event = WakeEvent(on: reactor)
        let soon = Deadline.after(.milliseconds(20))
        event.signal()
        try await event.wait(by: soon)
        let second = Task { await outcome { () throws(WaitError) in try await event.wait(by: nil) } }
        try await reactor.sleep(until: soon.advanced(by: .milliseconds(5)))
        #expect(reactor.pendingWaits == 1)
        event.signal()
        #expect(await second.value == nil)
    }

    @Test("a second wait in one direction is an error, and the first continues")
    func occupied() async throws {
        let event = WakeEvent(on: reactor)
        let first = Task { await outcome { () throws(WaitError) in try await event.wait(by: nil) } }
        await eventually { reactor.pendingWaits == 1 }
        let error = await outcome { () throws(WaitError) in try await event.wait(by: nil) }
        guard case .failed = error else {
            Issue.record("expected an error, got \(String(describing: error))")
            return
        }
        event.signal()
        #expect(await first.value == nil)
    }

    @Test("a wait in a child that was forked without exec is an error and does not hang")
    func forked() async throws {
        let reactor = try Reactor(forks: -1)
        let pair = try ChannelPair(on: reactor)
        let error = await outcome { () throws(WaitError) in try await pair.near.waitUntilReadable() }
        guard case .failed(let system) = error else {
            Issue.record("expected an error")
            return
        }
        #expect(system.description.contains("fork"))
        #expect(throws: SystemError.self) { try reactor.checkProcess() }
    }

    @Test("1,000 waits cancelled at varying times each end once, and no registration remains", .rows("R-67"))
    func cancellationStorm() async throws {
        let ended = SharedCounter()
        // Eight tasks share the waits, because each wait of a single task would queue behind all other tests.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 0..<8 {
                group.addTask { try await cancelWaits(part * 125..<(part + 1) * 125, counting: ended) }
            }
            try await group.waitForAll()
        }
        #expect(ended.value == 1000)
        #expect(reactor.pendingWaits == 0)
        #expect(reactor.registrations == 0)
    }

    private func cancelWaits(_ rounds: Range<Int>, counting ended: SharedCounter) async throws {
        let pair = try ChannelPair(on: reactor)
        for round in rounds {
            let wait = Task {
                let error = await outcome { () throws(WaitError) in
                    try await pair.near.waitUntilReadable(by: .after(.microseconds(round % 7 == 0 ? 50 : 5000)))
                }
                ended.add()
                return error
            }
            if round % 3 == 0 { await Task.yield() }
            if round % 5 == 0 { try pair.far.writeOnce([1]) }
            for _ in 0..<(round % 11) { _ = reactor.registrations }
            wait.cancel()
            let error = await wait.value
            #expect(error == nil || error == .cancelled || error == .timedOut)
            _ = try pair.near.readOnce(4096)
        }
        // The channel still works: no late cancellation or deadline ends a later wait.
        _ = try pair.near.readOnce(4096)
        let last = Task { try await pair.near.readAll(upTo: 1) }
        try pair.far.writeOnce([42])
        #expect(try await last.value == [42])
    }

    @Test("the counters return to zero when the channels are released", .rows("R-49", "R-53"))
    func counters() async throws {
        do {
            let pairs = try (0..<50).map { _ in try ChannelPair(on: reactor) }
            await withTaskGroup(of: Void.self) { group in
                for pair in pairs {
                    group.addTask {
                        _ = await outcome { () throws(WaitError) in try await pair.near.waitUntilReadable() }
                    }
                }
                await eventually { reactor.pendingWaits == 50 }
                #expect(reactor.registrations == 50)
                for pair in pairs { _ = try? pair.far.writeOnce([1]) }
            }
        }
        #expect(reactor.pendingWaits == 0)
        #expect(reactor.registrations == 0)
    }

    @Test("reading and writing wait independently")
    func bothDirections() async throws {
        let pair = try ChannelPair(on: reactor)
        let all = [UInt8](repeating: 3, count: 4 << 20)
        async let back = pair.near.readAll(upTo: 3)
        async let forth: Void = pair.near.writeAll(all)
        #expect(try await pair.far.readAll(upTo: all.count).count == all.count)
        try await forth
        try await pair.far.writeAll([1, 2, 3])
        #expect(try await back == [1, 2, 3])
    }

    @Test("the end of a wait does not affect the wait in the other direction")
    func otherDirectionStays() async throws {
        let pair = try ChannelPair(on: reactor)
        while case .bytes = try pair.near.writeOnce([UInt8](repeating: 7, count: 65536)) {}
        let writer = Task { await outcome { () throws(WaitError) in try await pair.near.waitUntilWritable() } }
        await eventually { reactor.pendingWaits == 1 }
        for _ in 0..<3 {
            let reader = Task { await outcome { () throws(WaitError) in try await pair.near.waitUntilReadable() } }
            await eventually { reactor.pendingWaits == 2 }
            try pair.far.writeOnce([1])
            #expect(await reader.value == nil)
            #expect(try pair.near.readOnce() == .bytes(1))
            let late = await outcome { () throws(WaitError) in
                try await pair.near.waitUntilReadable(by: .after(.milliseconds(1)))
            }
            #expect(late == .timedOut)
        }
        #expect(reactor.pendingWaits == 1)
        while case .bytes = try pair.far.readOnce(65536) {}
        #expect(await writer.value == nil)
    }

    @Test("the thread is not woken for a descriptor without a wait")
    func idleIsQuiet() async throws {
        let pair = try ChannelPair(on: reactor)
        try pair.far.writeOnce([1])
        try await pair.near.waitUntilReadable()
        #expect(try pair.near.readOnce() == .bytes(1))
        try pair.far.writeOnce([2])
        #expect(try pair.near.readOnce() == .bytes(1))
        // A report of the second byte would end this wait at once.
        let error = await outcome { () throws(WaitError) in
            try await pair.near.waitUntilReadable(by: .after(.milliseconds(20)))
        }
        #expect(error == .timedOut)
    }

    @Test("a sleep ends at its time and not early")
    func sleep() async throws {
        let start = ContinuousClock.now
        try await reactor.sleep(until: .after(.milliseconds(10)))
        #expect(start.duration(to: .now) >= .milliseconds(10))
        #expect(reactor.registrations == 0)
    }
}

@Suite("Waiting for both directions", .timeLimit(.minutes(10)))
struct BothDirectionsTests {
    @Test("a blocked upload resumes when bytes can be read, or when it can write", .rows("R-45"))
    func both() async throws {
        let reactor = try Reactor()
        let pair = try ChannelPair(on: reactor)
        func fill() throws {
            while case .bytes = try pair.near.writeOnce([UInt8](repeating: 1, count: 64 << 10)) {}
        }
        try fill()
        let readable = Task {
            await outcome { () throws(WaitError) in try await pair.near.waitUntilWritableOrReadable() }
        }
        await eventually { reactor.pendingWaits == 1 }
        try pair.far.writeOnce([7])
        #expect(await readable.value == nil)
        #expect(try pair.near.readOnce() == .bytes(1))
        #expect(try pair.near.readOnce() == .wouldBlock)
        try fill()
        let writable = Task {
            await outcome { () throws(WaitError) in try await pair.near.waitUntilWritableOrReadable() }
        }
        await eventually { reactor.pendingWaits == 1 }
        while case .bytes = try pair.far.readOnce(1 << 20) {}
        #expect(await writable.value == nil)
        guard case .bytes = try pair.near.writeOnce([1]) else {
            Issue.record("expected that a byte can be written")
            return
        }
        let cancelled = Task {
            try fill()
            return await outcome { () throws(WaitError) in
                while true { try await pair.near.waitUntilWritableOrReadable() }
            }
        }
        await eventually { reactor.pendingWaits == 1 }
        cancelled.cancel()
        #expect(try await cancelled.value == .cancelled)
    }
}
