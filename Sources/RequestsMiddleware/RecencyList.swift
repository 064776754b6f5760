/// The slots of an array, ordered by their last use; reordering them allocates nothing.
struct RecencyList: Sendable {
    private var links: [(newer: Int, older: Int)] = []
    /// The most and the least recently used slots; -1 for none.
    private(set) var newest = -1
    private(set) var oldest = -1

    /// Adds a slot as the most recently used one; it may be new or unused, and is at most the number of slots.
    mutating func add(_ slot: Int) {
        if slot == links.count { links.append((-1, -1)) }
        links[slot] = (-1, newest)
        if newest >= 0 { links[newest].newer = slot } else { oldest = slot }
        newest = slot
    }

    /// Makes a slot the most recently used one.
    mutating func use(_ slot: Int) {
        guard slot != newest else { return }
        remove(slot)
        add(slot)
    }

    mutating func remove(_ slot: Int) {
        let (newer, older) = links[slot]
        if newer >= 0 { links[newer].older = older } else { newest = older }
        if older >= 0 { links[older].newer = newer } else { oldest = newer }
    }
}
