import RequestsPOSIX
import RequestsSocket
import TestCorpora

/// A connection without a socket, which counts its calls for the model, too.
final class SharedLink: PooledConnection {
    let origin: Int
    let slotNumber: SlotNumber
    var idleUntil = Deadline.distantFuture
    var wasAlone = false
    var sharing: PoolSharing?
    /// The number of calls that use the connection, those with a grant that is not yet taken included.
    var users = 1
    /// The number of calls that the peer allows; nil if the connection is not shared.
    var places: Int?
    /// Whether the connection accepted no further calls after the last step.
    var isRetired = false

    init(_ attempt: Attempt) {
        origin = attempt.origin
        slotNumber = attempt.slot
    }
}

/// A connection that is being established, or that a call may establish when it takes its grant.
struct Attempt {
    let origin: Int
    let slot: SlotNumber
    /// Whether no call waits for this connection.
    var isExtra: Bool
}

/// A ledger and a model without lanes, pioneers or shortcuts, to which the same random steps are applied.
struct SharingRun {
    typealias Ledger = PoolLedger<Int, SharedLink, Int>

    let limits: PoolLimits
    let origins: Int
    /// Whether grants of this run may exceed the limits.
    let exceeds: Bool
    var ledger: Ledger
    var random: SplitMix64
    /// The open connections.
    var links: [SharedLink] = []
    var attempts: [Attempt] = []
    /// The calls that wait, or have a grant that they have not taken, in the order of their arrival.
    var waiters: [Ledger.Waiter] = []
    /// The origins whose calls establish connections without waiting for another one.
    var free: Set<Int> = []
    var now: Int64 = 0
    var steps: [Int] = []
    var served = 0
    var joined = 0
    /// The number of changes of places so far.
    var changes = 0

    init(_ limits: PoolLimits, origins: Int, seed: UInt64, exceeds: Bool) {
        self.limits = limits
        self.origins = origins
        self.exceeds = exceeds
        ledger = Ledger(limits)
        random = SplitMix64(state: seed)
    }

    var open: Int { links.count + attempts.count }

    func open(to origin: Int) -> Int {
        links.count { $0.origin == origin } + attempts.count { $0.origin == origin }
    }

    mutating func step() throws {
        let step = Int.random(in: 0..<100, using: &random)
        steps.append(step)
        switch step {
        case 0..<36: try call(Int.random(in: 0..<origins, using: &random))
        case 36..<50: try establish()
        case 50..<62: try complete()
        case 62..<74: try takeUp()
        case 74..<79: try withdraw()
        case 79..<83: try fail()
        case 83..<87: try changePlaces()
        case 87..<90: try retire()
        case 90..<93: try lose()
        case 93..<96: try hurry()
        case 96..<97: try passTime()
        case 97..<98: try retireOutdated()
        default: if exceeds { try exceed() }
        }
        try check()
        for link in links { link.isRetired = ledger.isRetired(link) }
    }
}

// MARK: Calls

extension SharingRun {
    private mutating func call(_ origin: Int) throws {
        // The calls to one origin cannot share, and those to another may or may not.
        let mayShare = origin > 0 && (origin > 1 || random.chance(oneIn: 2))
        if random.chance(oneIn: 2) {
            guard let grant = ledger.take(origin) else { return }
            return try note(grant, for: origin, mayShare: mayShare)
        }
        let waiter = Ledger.Waiter(for: origin, occupiesTask: random.chance(oneIn: 2), mayShare: mayShare, 0)
        while true {
            switch ledger.enter(waiter) {
            case .granted(let grant): return try note(grant, for: origin, mayShare: mayShare)
            case .evicted(let link):
                try require(open >= limits.total && link.origin != origin)
                try close(link)
            case .full: return waiters.append(waiter)
            }
        }
    }

    /// Records a grant in the model, and checks it.
    private mutating func note(_ grant: Ledger.Grant, for origin: Int, mayShare: Bool, isExtra: Bool = false) throws {
        switch grant {
        case .connection(let link):
            try require(link.origin == origin && link.users == 0 && !link.isRetired)
            link.users = 1
        case .place(let link):
            try require(link.origin == origin && !link.isRetired)
            try require(link.users < max(1, link.places ?? 0), "a place on a full connection")
            link.users += 1
            joined += 1
        case .slot(let slot):
            let isExtra = isExtra || !mayShare || free.contains(origin)
            try require(isExtra || !isAwaited(origin), "two connections for which calls wait")
            attempts.append(Attempt(origin: origin, slot: slot, isExtra: isExtra))
        }
    }

    private mutating func note(_ grants: Ledger.Grants) throws {
        for waiter in grants.waiters { try note(grantTo: waiter) }
        let useful = (0..<origins).reduce(0) { sum, origin in
            let waiting = waiters.count { $0.isWaiting && $0.origin == origin }
            return sum + max(0, min(waiting, limits.perOrigin - open(to: origin)))
        }
        try require(grants.evicted.count <= useful, "idle connections are closed for no call")
        for link in grants.evicted { try close(link) }
    }

    private mutating func note(grantTo waiter: Ledger.Waiter) throws {
        let isPassed = waiters.prefix { $0 !== waiter }.contains {
            $0.isWaiting && $0.origin == waiter.origin && $0.mayShare == waiter.mayShare
        }
        try require(!isPassed || waiter.mayExceed, "expected grants in the order of arrival")
        guard let grant = waiter.grant else { throw InvariantViolation(message: "expected a grant", line: #line) }
        try note(grant, for: waiter.origin, mayShare: waiter.mayShare)
    }

    private mutating func takeUp() throws {
        let resumed = waiters.filter { !$0.isWaiting }
        let waiter = (random.chance(oneIn: 4) ? waiters : resumed).randomElement(using: &random)
        if let waiter { try takeUp(waiter) }
    }

    private mutating func takeUp(_ waiter: Ledger.Waiter) throws {
        let hadGrant = !waiter.isWaiting
        try require((ledger.takeUp(waiter) != nil) == hadGrant)
        guard hadGrant else { return }
        waiters.removeAll { $0 === waiter }
        served += 1
    }

    private mutating func withdraw() throws {
        guard let waiter = waiters.randomElement(using: &random) else { return }
        waiters.removeAll { $0 === waiter }
        switch ledger.withdraw(waiter) {
        case .connection(let link), .place(let link): try putBack(link)
        case .slot(let slot): try cancel(slot)
        case nil: break
        }
    }

    private mutating func hurry() throws {
        guard let waiter = waiters.filter({ $0.isWaiting && $0.mayShare }).randomElement(using: &random) else { return }
        now += Int64.random(in: 0...Ledger.extraInterval, using: &random)
        while true {
            switch ledger.hurry(waiter, at: Deadline(nanoseconds: now)) {
            case .granted(let grant):
                // It may have been granted after an eviction.
                if ledger.open > open { try note(grant, for: waiter.origin, mayShare: true, isExtra: true) }
                return
            case .evicted(let link):
                try require(open(to: waiter.origin) < limits.perOrigin)
                try close(link)
            case .full: return
            }
        }
    }

    private mutating func exceed() throws {
        let waiter = waiters.filter { $0.isWaiting && $0.occupiesTask }.randomElement(using: &random)
        guard let waiter else { return }
        while true {
            switch ledger.exceed(for: waiter) {
            case .granted(let grant):
                if ledger.open > open { try note(grant, for: waiter.origin, mayShare: true, isExtra: true) }
                return
            case .evicted(let link): try close(link)
            case .full: return try require(open > limits.total || open(to: waiter.origin) > limits.perOrigin)
            }
        }
    }
}

// MARK: Connections

extension SharingRun {
    /// Returns whether a connection to `origin` is being established for which other calls wait.
    private func isAwaited(_ origin: Int) -> Bool { attempts.contains { $0.origin == origin && !$0.isExtra } }

    /// The attempts whose calls have taken their grants.
    private var taken: [Int] {
        let granted = waiters.compactMap { if case .slot(let slot)? = $0.grant { slot } else { nil } }
        return attempts.indices.filter { !granted.contains(attempts[$0].slot) }
    }

    private mutating func establish() throws {
        guard let index = taken.randomElement(using: &random) else { return }
        let attempt = attempts.remove(at: index)
        let link = SharedLink(attempt)
        links.append(link)
        // The servers of most origins use one version of HTTP; the server of origin 2 uses two.
        if attempt.origin > 0, attempt.origin != 2 || random.chance(oneIn: 2) {
            let places = Int.random(in: 0...4, using: &random)
            link.places = places
            // The waiting calls, unlike the call of the connection, may begin another attempt for which calls wait.
            free.remove(attempt.origin)
            try note(ledger.share(link, places: places))
        } else {
            if !attempt.isExtra || isAwaited(attempt.origin) { becomeFree(attempt.origin) }
            try note(ledger.recordExclusive(link))
        }
    }

    private mutating func becomeFree(_ origin: Int) {
        free.insert(origin)
        for index in attempts.indices where attempts[index].origin == origin { attempts[index].isExtra = true }
    }

    private mutating func fail() throws {
        guard let slot = taken.randomElement(using: &random).map({ attempts[$0].slot }) else { return }
        if random.chance(oneIn: 2) { try cancel(slot) } else { try end(slot) }
    }

    /// Vacates the slot of an attempt whose call is cancelled; another call may then begin the next attempt.
    private mutating func cancel(_ slot: SlotNumber) throws {
        for index in attempts.indices where attempts[index].slot == slot { attempts[index].isExtra = true }
        try note(ledger.recordCancellation(in: slot))
        try end(slot)
    }

    /// Vacates the slot of a closed connection, or of a failed attempt.
    private mutating func end(_ slot: SlotNumber) throws {
        if let index = attempts.firstIndex(where: { $0.slot == slot }) {
            let attempt = attempts.remove(at: index)
            if !attempt.isExtra { becomeFree(attempt.origin) }
        }
        try note(ledger.end(slot))
        free = free.filter { open(to: $0) > 0 }
    }

    private mutating func close(_ link: SharedLink) throws {
        links.removeAll { $0 === link }
        try end(link.slotNumber)
    }

    /// Returns the number of calls that use a connection and have taken their grants.
    private func running(on link: SharedLink) -> Int {
        link.users
            - waiters.count {
                switch $0.grant {
                case .connection(let granted)?, .place(let granted)?: granted === link
                default: false
                }
            }
    }

    private mutating func complete() throws {
        guard let link = links.filter({ running(on: $0) > 0 }).randomElement(using: &random) else { return }
        link.idleUntil = Deadline(nanoseconds: now + Int64.random(in: 1...10_000_000_000, using: &random))
        try putBack(link)
    }

    private mutating func putBack(_ link: SharedLink) throws {
        link.users -= 1
        switch ledger.putBack(link) {
        case .granted(let waiter):
            try note(grantTo: waiter)
        case .kept:
            try require(link.users == 0 && !ledger.isRetired(link))
            try require(open <= limits.total && open(to: link.origin) <= limits.perOrigin)
        case .used: try require(link.users > 0 && !ledger.isRetired(link))
        case .refused:
            try require(link.users == 0 || ledger.isRetired(link))
            if link.users == 0 { try close(link) }
        }
    }

    private mutating func changePlaces() throws {
        guard let link = links.filter({ $0.places != nil }).randomElement(using: &random) else { return }
        let places = Int.random(in: 0...4, using: &random)
        link.places = places
        changes += 1
        try note(ledger.setPlaces(in: link.slotNumber, to: places, change: changes))
    }

    private mutating func retire() throws {
        if let link = links.randomElement(using: &random) { try retire(link) }
    }

    private mutating func retire(_ link: SharedLink) throws {
        ledger.retire(link)
        try require(ledger.isRetired(link) == (link.places != nil))
        guard link.places != nil else { return }
        if link.users == 0 { try close(link) }
    }

    /// Ends a connection with all its calls.
    private mutating func lose() throws {
        guard let link = links.filter({ running(on: $0) > 0 }).randomElement(using: &random) else { return }
        guard link.places != nil else { return try close(link) }
        try retire(link)
        for _ in 0..<running(on: link) where links.contains(where: { $0 === link }) { try putBack(link) }
    }

    private mutating func passTime() throws {
        now += Int64.random(in: 1...5_000_000_000, using: &random)
        let (overdue, _) = ledger.takeOverdue(at: Deadline(nanoseconds: now))
        for link in overdue {
            try require(link.users == 0)
            try close(link)
        }
    }

    /// Takes the idle connections, and closes those with replaced TLS settings.
    private mutating func retireOutdated() throws {
        for link in ledger.takeIdle() {
            link.users = 1
            if random.chance(oneIn: 2) { try putBack(link) } else { try close(link) }
        }
    }
}

// MARK: Invariants

extension SharingRun {
    private func check() throws {
        try require(ledger.open == open && ledger.idle == links.count { $0.users == 0 }, "expected equal counts")
        try require(ledger.waiting == waiters.count { $0.isWaiting } && open <= limits.total + (exceeds ? 1 : 0))
        for origin in 0..<origins {
            try require(ledger.open(to: origin) == open(to: origin))
            try require(open(to: origin) <= limits.perOrigin + (exceeds ? 1 : 0))
            try require(ledger.idle(to: origin) == links.count { $0.origin == origin && $0.users == 0 })
        }
        for link in links where !ledger.isRetired(link) {
            try require(link.sharing?.places == link.places)
            try require(link.sharing.map { $0.used == link.users } ?? true)
        }
        let waiting = waiters.filter(\.isWaiting)
        for waiter in waiting {
            let own = links.filter { $0.origin == waiter.origin && !ledger.isRetired($0) }
            try require(!own.contains { $0.users < max(1, $0.places ?? 0) }, "a call waits beside a free place")
            if waiter.mayShare, isAwaited(waiter.origin) { continue }
            if ledger.allows(waiter.origin) {
                try require(ledger.isFull && ledger.idle == 0, "a call waits although there is capacity")
            }
        }
        let isStarved = ledger.isFull && waiting.contains { open(to: $0.origin) == 0 }
        if isStarved, links.contains(where: { $0.places != nil }) {
            try require(links.contains { ledger.isRetired($0) }, "no connection makes room for an origin without one")
        }
    }

    /// Ends everything, until no call waits.
    mutating func finish() throws {
        while !waiters.isEmpty || !attempts.isEmpty || links.contains(where: { $0.users > 0 }) {
            if let waiter = waiters.first(where: { !$0.isWaiting }) {
                try takeUp(waiter)
            } else {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: try fail()
                case 1: try establish()
                case 2: try complete()
                default: try lose()
                }
            }
            try check()
        }
        for link in ledger.takeIdle() { try close(link) }
        try check()
        try require(ledger.open == 0 && ledger.gatheringOrigins == 0)
    }
}
