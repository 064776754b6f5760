import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

private typealias Ledger = SharingRun.Ledger

extension SharedLink {
    fileprivate convenience init(to origin: Int, in slot: SlotNumber) {
        self.init(Attempt(origin: origin, slot: slot, isExtra: false))
    }
}

extension Ledger {
    /// Returns a call that waits; nil if it has received a grant at once.
    fileprivate mutating func wait(for origin: Int, mayShare: Bool = true) -> Waiter? {
        let waiter = Waiter(for: origin, occupiesTask: false, mayShare: mayShare, 0)
        if case .full = enter(waiter) { return waiter }
        return nil
    }

    /// Returns a call that waits; throws if it has received a grant at once.
    fileprivate mutating func waiting(for origin: Int) throws -> Waiter {
        guard let waiter = wait(for: origin) else { throw CancellationError() }
        return waiter
    }

    /// Returns a slot that is granted at once.
    fileprivate mutating func slot(for origin: Int, mayShare: Bool = true) throws -> SlotNumber {
        guard case .granted(.slot(let slot)) = claim(origin, mayShare: mayShare) else { throw CancellationError() }
        return slot
    }

    /// Takes up the slot that was granted to a call.
    fileprivate mutating func takeSlot(of waiter: Waiter) throws -> SlotNumber {
        guard case .slot(let slot)? = takeUp(waiter) else { throw CancellationError() }
        return slot
    }

    /// Returns a connection that a call uses, with the grants of waiting calls.
    fileprivate mutating func shared(
        _ origin: Int, places: Int, in slot: SlotNumber? = nil
    ) throws -> (link: SharedLink, grants: Grants) {
        let link = SharedLink(to: origin, in: try slot ?? self.slot(for: origin))
        return (link, share(link, places: places))
    }
}

extension PoolLedger.Return {
    fileprivate var text: String {
        switch self {
        case .granted: "granted"
        case .kept: "kept"
        case .used: "used"
        case .refused: "refused"
        }
    }
}

extension PoolLedger.Claim {
    fileprivate var text: String {
        switch self {
        case .granted(.connection), .granted(.place): "connection"
        case .granted(.slot): "slot"
        case .evicted: "evicted"
        case .full: "full"
        }
    }
}

extension PoolWaiter {
    /// Whether the call may establish a connection.
    fileprivate var hasSlot: Bool { if case .slot? = grant { true } else { false } }
    /// Whether the call has a place on a shared connection.
    fileprivate var hasPlace: Bool { if case .place? = grant { true } else { false } }
}

@Suite("Pool ledger with shared connections", .timeLimit(.minutes(10)))
struct PoolLedgerSharingTests {
    private static let seeds = ProcessInfo.processInfo.environment["REQUESTS_POOL_SEEDS"].flatMap(UInt64.init) ?? 6

    @Test(
        "in any order of events, no call waits beside a free place, and calls wait for one new connection at a time",
        .rows("H-30", "H-40", "H-46"), .notInstrumented("one thread compares values with a model"),
        arguments: PoolLedgerTests.limits.indices, [false, true])
    func model(index: Int, exceeds: Bool) throws {
        var served = 0
        var joined = 0
        for seed in 0..<Self.seeds {
            let limits = PoolLedgerTests.limits[index]
            var run = SharingRun(limits, origins: 1 + Int(seed % 5), seed: seed, exceeds: exceeds)
            do {
                for _ in 0..<1_000 { try run.step() }
                try run.finish()
            } catch {
                Issue.record("seed \(seed), step \(run.steps.count), last steps \(run.steps.suffix(12))")
                throw error
            }
            served += run.served
            joined += run.joined
        }
        // The random steps have covered these cases.
        #expect(served > 100 && joined > 100)
    }

    @Test("calls to a new origin wait for one connection, and share it", .rows("H-30", "H-46"))
    func gathering() throws {
        var ledger = Ledger(PoolLimits(total: 256, perOrigin: 64, idlePerOrigin: 8))
        let slot = try ledger.slot(for: 1)
        let waiting = (0..<150).compactMap { _ in ledger.wait(for: 1) }
        #expect(waiting.count == 150 && ledger.open == 1)
        let (link, grants) = try ledger.shared(1, places: 100, in: slot)
        // The connection is full, so one call establishes another one.
        #expect(grants.waiters.count == 100 && waiting.prefix(99).allSatisfy { $0.hasPlace } && waiting[99].hasSlot)
        #expect(ledger.open == 2 && ledger.idle == 0)
        // The peer allows fewer, then more.
        #expect(ledger.setPlaces(in: link.slotNumber, to: 50, change: 1).waiters.isEmpty)
        for _ in 0..<50 {
            #expect(ledger.putBack(link).text == "used")
        }
        #expect(waiting[100].isWaiting)
        #expect(ledger.setPlaces(in: link.slotNumber, to: 60, change: 3).waiters.count == 10)
        #expect(ledger.setPlaces(in: link.slotNumber, to: 70, change: 2).waiters.isEmpty)
        #expect(ledger.putBack(link).text == "granted" && waiting[110].hasPlace && waiting[111].isWaiting)
    }

    @Test("a shared connection beyond the limit receives no call while another has a place, and closes", .rows("H-46"))
    func surplus() throws {
        var ledger = Ledger(PoolLimits(total: 256, perOrigin: 1, idlePerOrigin: 8))
        let (first, _) = try ledger.shared(1, places: 2)
        guard case .place? = ledger.take(1) else { return #expect(Bool(false), "expected a place") }
        let blocked = try ledger.waiting(for: 1)
        _ = ledger.exceed(for: blocked)
        let (second, _) = try ledger.shared(1, places: 2, in: ledger.takeSlot(of: blocked))
        // Calls on the first connection end, and new ones begin, one after the other.
        for _ in 0..<10 {
            #expect(ledger.putBack(first).text == "used")
            guard case .place(let link)? = ledger.take(1) else { return #expect(Bool(false), "expected a place") }
            #expect(link === first)
        }
        #expect(ledger.putBack(second).text == "refused")
        #expect(ledger.end(second.slotNumber).waiters.isEmpty && ledger.open == 1)
    }

    @Test("if a server selects HTTP/1.1, all waiting calls establish connections at once", .rows("H-30"))
    func exclusive() throws {
        var ledger = Ledger(PoolLimits(total: 256, perOrigin: 8, idlePerOrigin: 8))
        let slot = try ledger.slot(for: 1)
        let waiting = (0..<20).compactMap { _ in ledger.wait(for: 1) }
        #expect(ledger.recordExclusive(SharedLink(to: 1, in: slot)).waiters.count == 7)
        #expect(waiting.prefix(7).allSatisfy { $0.hasSlot } && waiting[7].isWaiting)
        // From now on, calls do not wait for each other.
        let grants = ledger.end(slot)
        #expect(grants.waiters.count == 1 && waiting[7].hasSlot && ledger.open == 8)
    }

    @Test(
        "if the first connection fails, all waiting calls establish connections at once, within the limits",
        .rows("H-40"))
    func failed() throws {
        var ledger = Ledger(PoolLimits(total: 256, perOrigin: 64, idlePerOrigin: 8))
        let slot = try ledger.slot(for: 1)
        let waiting = (0..<100).compactMap { _ in ledger.wait(for: 1) }
        #expect(ledger.end(slot).waiters.count == 64)
        #expect(waiting.prefix(64).allSatisfy { $0.hasSlot } && ledger.open == 64)
        // A call whose connection fails frees the capacity for one of the others, which wait for no connection.
        for (index, next) in [(0, 64), (1, 65)] {
            let slot = try ledger.takeSlot(of: waiting[index])
            #expect(ledger.end(slot).waiters.first === waiting[next])
        }
        // The first one that succeeds serves the others.
        let (_, grants) = try ledger.shared(1, places: 100, in: ledger.takeSlot(of: waiting[2]))
        #expect(grants.waiters.count == 34 && waiting.dropFirst(66).allSatisfy { $0.hasPlace })
    }

    @Test(
        "if the call of the first connection is cancelled, one of the waiting calls establishes the next",
        .rows("H-40"))
    func cancelled() throws {
        for perOrigin in [1, 64] {
            var ledger = Ledger(PoolLimits(total: 256, perOrigin: perOrigin, idlePerOrigin: 8))
            var slot = try ledger.slot(for: 1)
            let waiting = (0..<100).compactMap { _ in ledger.wait(for: 1) }
            for next in waiting.prefix(10) {
                // If its slot is the only one, the next call receives it after it is vacated.
                let early = ledger.recordCancellation(in: slot).waiters
                let late = ledger.end(slot).waiters
                #expect(early.count == (perOrigin > 1 ? 1 : 0) && (early + late).first === next)
                #expect((early + late).count == 1 && ledger.open == 1)
                slot = try ledger.takeSlot(of: next)
            }
            let (_, grants) = try ledger.shared(1, places: 100, in: slot)
            #expect(grants.waiters.count == 90 && ledger.open == 1)
        }
    }

    @Test("a call that has waited for 500 ms establishes a connection, one call every 500 ms", .rows("H-40"))
    func hurrying() throws {
        var ledger = Ledger(PoolLimits(total: 3, perOrigin: 64, idlePerOrigin: 8))
        let other = SharedLink(to: 2, in: try ledger.slot(for: 2, mayShare: false))
        #expect(ledger.putBack(other).text == "kept")
        _ = try ledger.slot(for: 1)
        let waiting = (0..<4).compactMap { _ in ledger.wait(for: 1) }
        func hurry(_ index: Int, at milliseconds: Int64) -> String {
            ledger.hurry(waiting[index], at: Deadline(nanoseconds: milliseconds * 1_000_000)).text
        }
        #expect(hurry(0, at: 500) == "slot")
        #expect([500, 999].map { hurry(1, at: $0) } == ["full", "full"])
        // An idle connection to another origin makes room.
        #expect(hurry(1, at: 1_000) == "evicted" && ledger.idle == 0)
        #expect(ledger.end(other.slotNumber).waiters.isEmpty)
        #expect(hurry(1, at: 1_000) == "slot")
        // The limit is reached.
        #expect(hurry(2, at: 2_000) == "full")
    }

    @Test("with one connection in total, calls to two origins progress in turn, without pauses", .rows("H-46"))
    func oneConnection() throws {
        var ledger = Ledger(PoolLimits(total: 1, perOrigin: 1, idlePerOrigin: 1))
        var links: [SharedLink] = [try ledger.shared(1, places: 100).link]
        for round in 0..<10 {
            let origin = 1 + round % 2
            // New calls join while the other origin does not wait.
            guard case .place(let link)? = ledger.take(origin) else { throw CancellationError() }
            #expect(link === links.last && ledger.open == 1)
            let other = try ledger.waiting(for: 3 - origin)
            #expect(ledger.isRetired(link))
            let later = try ledger.waiting(for: origin)
            for _ in 0..<2 {
                #expect(ledger.putBack(link).text == "refused")
            }
            #expect(ledger.end(link.slotNumber).waiters.first === other && other.hasSlot)
            let slot = try ledger.takeSlot(of: other)
            // The call that came later leaves, so that the next round begins with one call.
            #expect(later.isWaiting)
            _ = ledger.withdraw(later)
            links.append(try ledger.shared(3 - origin, places: 100, in: slot).link)
        }
    }

    @Test("no more idle connections are closed for waiting calls than their origin may establish", .rows("H-46"))
    func evictions() throws {
        var ledger = Ledger(PoolLimits(total: 8, perOrigin: 4, idlePerOrigin: 8))
        let slot = try ledger.slot(for: 1)
        let idle = try (0..<7).map { SharedLink(to: 2 + $0, in: try ledger.slot(for: 2 + $0, mayShare: false)) }
        for link in idle { _ = ledger.putBack(link) }
        let waiting = (0..<20).compactMap { _ in ledger.wait(for: 1) }
        #expect(waiting.count == 20 && ledger.idle == 7)
        let grants = ledger.recordExclusive(SharedLink(to: 1, in: slot))
        #expect(grants.waiters.isEmpty && grants.evicted.count == 3 && ledger.idle == 4)
        for (link, waiter) in zip(grants.evicted, waiting) {
            #expect(ledger.end(link.slotNumber).waiters.first === waiter)
        }
        #expect(ledger.open(to: 1) == 4 && waiting[3].isWaiting)
    }

    @Test("a shared connection that drains accepts no calls, and its slot is free when it closes", .rows("H-51"))
    func retired() throws {
        var ledger = Ledger(PoolLimits(total: 2, perOrigin: 1, idlePerOrigin: 1))
        let (link, _) = try ledger.shared(1, places: 100)
        for _ in 0..<2 { ledger.retire(link) }
        let waiter = try ledger.waiting(for: 1)
        #expect(ledger.putBack(link).text == "refused")
        #expect(waiter.isWaiting && ledger.open == 1 && ledger.idle == 0)
        #expect(ledger.end(link.slotNumber).waiters.first === waiter && waiter.hasSlot)
        // An idle one leaves at once.
        let (second, _) = try ledger.shared(1, places: 100, in: ledger.takeSlot(of: waiter))
        #expect(ledger.putBack(second).text == "kept")
        ledger.retire(second)
        #expect(ledger.idle == 0 && ledger.claim(1, mayShare: true).text == "full")
        #expect(ledger.end(second.slotNumber).waiters.isEmpty && ledger.claim(1, mayShare: true).text == "slot")
    }
}
