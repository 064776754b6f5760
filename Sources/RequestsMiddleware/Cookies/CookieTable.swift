/// The cookies of a jar by domain, and in the order of their last use.
///
/// A request finds its cookies with one look-up for each label of its host, however many cookies there are.
struct CookieTable: Sendable {
    typealias Cookie = CookieJar.StoredCookie

    private struct Slot {
        var cookie: Cookie
        /// The cookie's number in the order of creation, which orders cookies with the same date.
        var number: UInt64
        /// The number of the last use.
        var use: UInt64
        var isFree = false
    }

    // The slots are not optional, so that one part of a cookie is read without a copy of the whole.
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// The slots of each domain, in the order of creation.
    private var domains: [ByteText: [Int]] = [:]
    /// The slots of the secure cookies with each name, which other connections must not shadow.
    private var secureNames: [ByteText: [Int]] = [:]
    private var uses = RecencyList()
    private var counter: UInt64 = 0
    /// A date before which no cookie expires; nil if none ever does.
    private var firstExpiry: Date?

    private(set) var count = 0

    /// The cookies in the order of their creation.
    var cookies: [Cookie] {
        slots.filter { !$0.isFree }.sorted { ($0.cookie.created, $0.number) < ($1.cookie.created, $1.number) }
            .map(\.cookie)
    }

    func slots(of domain: String) -> [Int] { domains[ByteText(domain)] ?? [] }

    /// The cookie in a slot that is in use.
    subscript(slot: Int) -> Cookie { slots[slot].cookie }

    func slot(of key: Cookie.Key) -> Int? { slots(of: key.domain).first { self[$0].key == key } }
}

// MARK: Changes

extension CookieTable {
    /// Adds a cookie, or replaces the one with the same key and takes its place in the order of creation.
    mutating func set(_ cookie: Cookie) {
        if let expires = cookie.expires { firstExpiry = min(firstExpiry ?? expires, expires) }
        counter += 1
        if let slot = slot(of: cookie.key) {
            var cookie = cookie
            cookie.created = self[slot].created
            removeSecureName(of: slot)
            slots[slot].cookie = cookie
            addSecureName(of: slot)
            return markUsed(slot)
        }
        let slot = freeSlots.popLast() ?? slots.count
        let content = Slot(cookie: cookie, number: counter, use: counter)
        if slot == slots.count { slots.append(content) } else { slots[slot] = content }
        uses.add(slot)
        domains[ByteText(cookie.domain), default: []].append(slot)
        addSecureName(of: slot)
        count += 1
    }

    @discardableResult
    mutating func remove(_ slot: Int) -> Cookie {
        let cookie = self[slot]
        uses.remove(slot)
        removeSecureName(of: slot)
        slots[slot].cookie = .vacant
        slots[slot].isFree = true
        freeSlots.append(slot)
        Self.remove(slot, from: &domains[ByteText(cookie.domain)])
        count -= 1
        return cookie
    }

    private mutating func addSecureName(of slot: Int) {
        if self[slot].isSecure { secureNames[ByteText(self[slot].name), default: []].append(slot) }
    }

    private mutating func removeSecureName(of slot: Int) {
        if self[slot].isSecure { Self.remove(slot, from: &secureNames[ByteText(self[slot].name)]) }
    }

    private static func remove(_ slot: Int, from list: inout [Int]?) {
        list?.removeAll { $0 == slot }
        if list?.isEmpty == true { list = nil }
    }

    /// Records that the cookie in a slot is sent now.
    mutating func use(_ slot: Int, at now: Date) {
        slots[slot].cookie.lastUsed = now
        counter += 1
        markUsed(slot)
    }

    private mutating func markUsed(_ slot: Int) {
        slots[slot].use = counter
        uses.use(slot)
    }
}

// MARK: Matching and eviction

extension CookieTable {
    /// Returns the slots of a request's cookies in the order in which they are sent: longer paths first, then
    /// older cookies (RFC 6265bis §5.8.3).
    func matching(host: String, path: String, isSecure: Bool, at now: Date) -> [Int] {
        typealias Rank = (slot: Int, length: Int, created: Date, number: UInt64)
        var found: [Rank] = []
        func precedes(_ left: Rank, _ right: Rank) -> Bool {
            (right.length, left.created, left.number) < (left.length, right.created, right.number)
        }
        func collect(_ domain: String, isHost: Bool) {
            for slot in slots(of: domain) {
                guard isHost || !slots[slot].cookie.isHostOnly, isSecure || !slots[slot].cookie.isSecure,
                    slots[slot].cookie.expires.map({ $0 > now }) != false,
                    CookieScope.path(slots[slot].cookie.path, matches: path)
                else { continue }
                found.append(
                    (slot, slots[slot].cookie.path.utf8.count, slots[slot].cookie.created, slots[slot].number))
            }
        }
        collect(host, isHost: true)
        for parent in CookieScope.parents(of: host) { collect(String(parent), isHost: false) }
        // Most hosts set their cookies once and with one path, so they are in order already.
        let isSorted = found.indices.dropFirst().allSatisfy { !precedes(found[$0], found[$0 - 1]) }
        if !isSorted { found.sort(by: precedes) }
        return found.map(\.slot)
    }

    /// Returns the secure cookies named `name` whose domain is `domain`, above it or below it.
    func secureCookies(named name: String, near domain: String) -> [Cookie] {
        (secureNames[ByteText(name)] ?? []).map { self[$0] }.filter {
            CookieScope.domain($0.domain, matches: domain) || CookieScope.domain(domain, matches: $0.domain)
        }
    }

    /// Removes the expired cookies, if there may be any, and returns them.
    mutating func removeExpired(at now: Date) -> [Cookie] {
        guard let first = firstExpiry, first <= now else { return [] }
        var removed: [Cookie] = []
        firstExpiry = nil
        for slot in slots.indices {
            guard let expires = slots[slot].cookie.expires else { continue }
            if expires <= now {
                removed.append(remove(slot))
            } else {
                firstExpiry = min(firstExpiry ?? expires, expires)
            }
        }
        return removed
    }

    /// Removes the least recently used cookie, and returns it.
    mutating func removeOldest() -> Cookie? { uses.oldest >= 0 ? remove(uses.oldest) : nil }

    /// Removes the least recently used cookie of a domain, and returns it; cookies without Secure are removed first.
    mutating func removeOldest(of domain: String) -> Cookie? {
        let candidates = slots(of: domain).map { slot in
            (slot: slot, rank: (slots[slot].cookie.isSecure ? 1 : 0, slots[slot].use))
        }
        return candidates.min { $0.rank < $1.rank }.map { remove($0.slot) }
    }
}
