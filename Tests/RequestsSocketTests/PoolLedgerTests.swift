import RequestsPOSIX
import RequestsSocket
import TestCorpora
import TestSupport
import Testing

/// A connection without a socket.
private final class Link: PooledConnection {
    let origin: Int
    let slotNumber: SlotNumber
    var idleUntil = Deadline.distantFuture
    var wasAlone = false
    var sharing: PoolSharing?

    init(to origin: Int, in slot: SlotNumber) {
        self.origin = origin
        slotNumber = slot
    }
}

private typealias Ledger = PoolLedger<Int, Link, Int>

/// A model of a pool without lanes, lookups or shortcuts: its connections and its waiting calls.
///
/// The ledger does not distinguish who holds a connection, so the reader of a stream is a holder like any other.
private struct Model {
    /// Connections in use or being established, by number of origin and lane.
    var links: [Link] = []
    var slots: [(origin: Int, number: SlotNumber)] = []
    /// Idle connections, in the order in which they became idle.
    var idle: [Link] = []
    /// The number of grants that are not yet taken, which count as open.
    var granted = 0
    var grantedByOrigin: [Int: Int] = [:]
    var waiters: [Ledger.Waiter] = []
    var now = 0

    var open: Int { links.count + slots.count + idle.count + granted }

    func open(to origin: Int) -> Int {
        links.count { $0.origin == origin } + slots.count { $0.origin == origin }
            + idle.count { $0.origin == origin } + (grantedByOrigin[origin] ?? 0)
    }
}

/// A ledger and its model, to which the same random steps are applied.
private struct Run {
    let limits: PoolLimits
    let origins: Int
    var ledger: Ledger
    var model = Model()
    var random: SplitMix64
    var steps: [Int] = []
    var served = 0
    var exceeded = 0
    /// Whether the grants of this run may exceed the limits.
    let exceeds: Bool

    init(_ limits: PoolLimits, origins: Int, seed: UInt64, exceeds: Bool) {
        self.limits = limits
        self.origins = origins
        self.exceeds = exceeds
        ledger = Ledger(limits)
        random = SplitMix64(state: seed)
    }

    mutating func step() throws {
        let step = Int.random(in: 0..<100, using: &random)
        switch step {
        case 0..<42: try call(Int.random(in: 0..<origins, using: &random))
        case 42..<58: try park()
        case 58..<66: try close()
        case 66..<80: try takeUp()
        case 80..<86: try withdraw()
        case 86..<91: try loseIdle(Int.random(in: 0..<origins, using: &random))
        case 91..<97: try passTime()
        default: if exceeds { try exceed() }
        }
        steps.append(step)
        try check()
    }
}

// MARK: Steps

extension Run {
    /// A call begins: it takes an idle connection, as the first check does, or claims a place, or waits.
    private mutating func call(_ origin: Int) throws {
        let expected = model.idle.last { $0.origin == origin }
        if random.chance(oneIn: 2) {
            let link = try takeIdle(origin)
            try require(link === expected, "expected the idle connection of the origin that was used last")
            if let link { use(link) }
            return
        }
        let waiter = Ledger.Waiter(for: origin, occupiesTask: random.chance(oneIn: 2), mayShare: false, model.now)
        while true {
            let expected = model.idle.last { $0.origin == origin }
            switch ledger.enter(waiter) {
            case .granted(.connection(let link)):
                try require(link === expected)
                return use(link)
            case .granted(.slot(let number)):
                try require(expected == nil)
                return model.slots.append((origin, number))
            case .granted(.place): try require(false, "no connection is shared")
            case .evicted(let link):
                try evict(link, for: origin)
            case .full:
                try require(expected == nil)
                return model.waiters.append(waiter)
            }
        }
    }

    private mutating func takeIdle(_ origin: Int) throws -> Link? {
        switch ledger.take(origin) {
        case .connection(let link): return link
        case nil: return nil
        case .place, .slot: throw InvariantViolation(message: "expected an idle connection", line: #line)
        }
    }

    private mutating func use(_ link: Link) {
        model.idle.removeAll { $0 === link }
        noteUse(of: link)
    }

    private mutating func noteUse(of link: Link) {
        model.links.append(link)
        let used =
            model.links.count { $0.origin == link.origin } + model.slots.count { $0.origin == link.origin }
            + (model.grantedByOrigin[link.origin] ?? 0)
        #expect(link.wasAlone == (used == 1))
    }

    private mutating func evict(_ link: Link, for origin: Int) throws {
        try require(model.open >= limits.total && model.open(to: origin) <= limits.perOrigin)
        try require(link.origin != origin && model.idle.contains { $0 === link })
        model.idle.removeAll { $0 === link }
        try end(link.slotNumber)
    }

    private mutating func end(_ slot: SlotNumber) throws {
        let grants = ledger.end(slot)
        try require(grants.waiters.count <= 1 && grants.evicted.isEmpty)
        for next in grants.waiters { try note(grantTo: next) }
    }

    private mutating func note(grantTo waiter: Ledger.Waiter) throws {
        try require(model.waiters.contains { $0 === waiter } && !waiter.isWaiting)
        model.granted += 1
        model.grantedByOrigin[waiter.origin, default: 0] += 1
    }

    private mutating func noteTaken(_ origin: Int) {
        model.granted -= 1
        model.grantedByOrigin[origin, default: 0] -= 1
    }

    /// A call completes, or a connection is established.
    private mutating func park() throws {
        if !model.slots.isEmpty, random.chance(oneIn: 2) || model.links.isEmpty {
            let (origin, number) = model.slots.remove(at: Int.random(in: 0..<model.slots.count, using: &random))
            let link = Link(to: origin, in: number)
            try require(ledger.recordExclusive(link).waiters.isEmpty)
            return noteUse(of: link)
        }
        guard !model.links.isEmpty else { return }
        let link = model.links.remove(at: Int.random(in: 0..<model.links.count, using: &random))
        link.idleUntil = Deadline(nanoseconds: Int64(model.now + Int.random(in: 1...40, using: &random)))
        try putBack(link)
    }

    private mutating func putBack(_ link: Link) throws {
        let first = model.waiters.first { $0.isWaiting && $0.origin == link.origin }
        let isSurplus = model.open + 1 > limits.total || model.open(to: link.origin) + 1 > limits.perOrigin
        let others = model.waiters.contains {
            $0.isWaiting && $0.origin != link.origin && model.open(to: $0.origin) < limits.perOrigin
        }
        switch ledger.putBack(link) {
        case .granted(let waiter):
            try require(isSurplus ? waiter.mayExceed : waiter === first, "expected a grant in the order of arrival")
            try note(grantTo: waiter)
        case .kept:
            try require(first == nil && !isSurplus)
            model.idle.append(link)
        case .used: try require(false, "no connection is shared")
        case .refused:
            let hasEnough = model.idle.count { $0.origin == link.origin } >= limits.idlePerOrigin
            let isNeeded = model.open + 1 >= limits.total && others
            try require(
                isSurplus || (first == nil && (hasEnough || isNeeded)), "expected that the idle connection is kept")
            try end(link.slotNumber)
        }
    }

    /// A connection is lost, or could not be established.
    private mutating func close() throws {
        if !model.slots.isEmpty, random.chance(oneIn: 2) {
            return try end(model.slots.remove(at: Int.random(in: 0..<model.slots.count, using: &random)).number)
        }
        guard !model.links.isEmpty else { return }
        try end(model.links.remove(at: Int.random(in: 0..<model.links.count, using: &random)).slotNumber)
    }

    /// A waiting call runs, in most cases one that was resumed.
    private mutating func takeUp() throws {
        let resumed = model.waiters.filter { !$0.isWaiting }
        let waiter = (random.chance(oneIn: 4) ? model.waiters : resumed).randomElement(using: &random)
        if let waiter { try takeUp(waiter) }
    }

    private mutating func takeUp(_ waiter: Ledger.Waiter) throws {
        let hadGrant = waiter.grant != nil
        let grant = ledger.takeUp(waiter)
        try require((grant != nil) == hadGrant)
        guard let grant else { return }
        noteTaken(waiter.origin)
        model.waiters.removeAll { $0 === waiter }
        served += 1
        switch grant {
        case .connection(let link):
            try require(link.origin == waiter.origin)
            model.links.append(link)
        case .slot(let number): model.slots.append((waiter.origin, number))
        case .place: try require(false, "no connection is shared")
        }
    }

    private mutating func withdraw() throws {
        guard let waiter = model.waiters.randomElement(using: &random) else { return }
        let hadGrant = waiter.grant != nil
        let grant = ledger.withdraw(waiter)
        try require((grant != nil) == hadGrant)
        model.waiters.removeAll { $0 === waiter }
        if hadGrant { noteTaken(waiter.origin) }
        switch grant {
        case .connection(let link), .place(let link): try putBack(link)
        case .slot(let number): try end(number)
        case nil: break
        }
    }

    /// Idle connections are found closed when they are taken, until one is open.
    private mutating func loseIdle(_ origin: Int) throws {
        while let link = try takeIdle(origin) {
            use(link)
            guard random.chance(oneIn: 2) else { return }
            model.links.removeAll { $0 === link }
            try end(link.slotNumber)
        }
        try require(!model.idle.contains { $0.origin == origin })
    }

    private mutating func passTime() throws {
        model.now += Int.random(in: 1...20, using: &random)
        let now = Deadline(nanoseconds: Int64(model.now))
        let (overdue, next) = ledger.takeOverdue(at: now)
        let expected = model.idle.filter { $0.idleUntil <= now }
        try require(Set(overdue.map(ObjectIdentifier.init)) == Set(expected.map(ObjectIdentifier.init)))
        model.idle.removeAll { $0.idleUntil <= now }
        try require(next == model.idle.map(\.idleUntil).min())
        for link in overdue { try end(link.slotNumber) }
    }

    private mutating func exceed() throws {
        let waiter = model.waiters.filter { $0.isWaiting && $0.occupiesTask }.randomElement(using: &random)
        guard let waiter else { return }
        while true {
            switch ledger.exceed(for: waiter) {
            case .granted:
                // A grant after an eviction is already counted.
                if model.open < ledger.open { try note(grantTo: waiter) }
                exceeded += 1
                return
            case .evicted(let link):
                model.idle.removeAll { $0 === link }
                try end(link.slotNumber)
            case .full:
                return try require(
                    model.open > limits.total || model.open(to: waiter.origin) > limits.perOrigin)
            }
        }
    }
}

// MARK: Invariants

extension Run {
    private func check() throws {
        try require(ledger.open == model.open && ledger.idle == model.idle.count, "the counts differ from the model")
        try require(ledger.waiting == model.waiters.count { $0.isWaiting })
        try require(ledger.open <= limits.total + (exceeds ? 1 : 0))
        for origin in 0..<origins {
            let open = ledger.open(to: origin)
            let idle = ledger.idle(to: origin)
            try require(open == model.open(to: origin) && (open > 0) == (ledger.lane(of: origin) != nil))
            try require(idle == model.idle.count { $0.origin == origin })
            try require(open <= limits.perOrigin + (exceeds ? 1 : 0) && idle <= limits.idlePerOrigin)
        }
        for waiter in model.waiters where waiter.isWaiting {
            try require(ledger.idle(to: waiter.origin) == 0, "a call waits although its origin has an idle connection")
            if ledger.allows(waiter.origin) {
                try require(ledger.isFull && ledger.idle == 0, "a call waits although there is capacity")
            }
        }
    }

    /// Ends all connections in use, and runs all waiting calls.
    mutating func finish() throws {
        while !model.waiters.isEmpty || !model.links.isEmpty || !model.slots.isEmpty {
            if let waiter = model.waiters.first(where: { !$0.isWaiting }) { try takeUp(waiter) } else { try close() }
            try check()
        }
        for link in ledger.takeIdle() {
            model.idle.removeAll { $0 === link }
            try end(link.slotNumber)
        }
        try check()
        try require(ledger.open == 0)
    }
}

@Suite("Pool ledger", .timeLimit(.minutes(10)))
struct PoolLedgerTests {
    static let limits = [
        PoolLimits(total: 8, perOrigin: 2, idlePerOrigin: 8), PoolLimits(total: 3, perOrigin: 3, idlePerOrigin: 1),
        PoolLimits(total: 4, perOrigin: 1, idlePerOrigin: 1), PoolLimits(total: 1, perOrigin: 1, idlePerOrigin: 0),
        PoolLimits(total: 12, perOrigin: 5, idlePerOrigin: 2), PoolLimits(total: 2, perOrigin: 4, idlePerOrigin: 4),
    ]

    /// The number of seeds.
    ///
    /// Each runs 1,000 steps for each limit, with and without grants that exceed it.
    private static let seeds = ProcessInfo.processInfo.environment["REQUESTS_POOL_SEEDS"].flatMap(UInt64.init) ?? 4

    @Test(
        "in any order of events no call waits without need, and the counts are correct", .rows("R-52", "R-53"),
        .notInstrumented("one thread compares values with a model"),
        arguments: limits.indices, [false, true])
    func model(index: Int, exceeds: Bool) throws {
        var served = 0
        var exceeded = 0
        for seed in 0..<Self.seeds {
            var run = Run(Self.limits[index], origins: 1 + Int(seed % 5), seed: seed, exceeds: exceeds)
            do {
                for _ in 0..<1_000 { try run.step() }
                try run.finish()
            } catch {
                Issue.record("seed \(seed), step \(run.steps.count), last steps \(run.steps.suffix(12))")
                throw error
            }
            served += run.served
            exceeded += run.exceeded
        }
        // The steps reach the cases that they test.
        #expect(served > 100 && (exceeded > 5) == exceeds)
    }

    @Test("an empty lane does not hide the idle connections of its origin", .rows("R-53"))
    func vacated() throws {
        var ledger = Ledger(PoolLimits(total: 64, perOrigin: 8, idlePerOrigin: 8))
        func begin(_ origin: Int) throws -> Link {
            guard case .granted(.slot(let number)) = ledger.claim(origin, mayShare: false) else {
                throw CancellationError()
            }
            return Link(to: origin, in: number)
        }
        func takeIdle(_ origin: Int) -> Link? {
            if case .connection(let link) = ledger.take(origin) { link } else { nil }
        }
        let first = try begin(1)
        _ = ledger.putBack(first)
        #expect(takeIdle(1) === first)
        let other = try begin(2)
        #expect(ledger.end(first.slotNumber).waiters.isEmpty)
        #expect(ledger.end(other.slotNumber).waiters.isEmpty)
        let second = try begin(1)
        #expect(second.slotNumber.lane != first.slotNumber.lane)
        _ = ledger.putBack(second)
        #expect(takeIdle(1) === second)
    }
}
