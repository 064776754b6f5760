/// A limited quantity that is divided among running calls, and the calls that wait for a share in the order of their
/// arrival.
///
/// The quantity can be permits, of which a call uses one, or bytes. A call that waits because its origin uses too much
/// does not delay calls to other origins. A call that waits because too little remains in total delays all later ones.
struct ShareLedger: Sendable {
    private struct OriginQueue: Sendable {
        var used = 0
        /// The waiting calls, each with the amount that it needs; elements before `first` no longer wait.
        var waiting: [(call: UInt64, count: Int)] = []
        var first = 0
        var isIdle: Bool { used == 0 && first == waiting.count }
    }

    let total: Int
    private let perOrigin: Int
    private(set) var used = 0
    private var queues: [TargetURI.OriginKey: OriginQueue] = [:]
    /// The calls that wait, each with its origin.
    private var origins: [UInt64: TargetURI.OriginKey] = [:]
    /// The first waiting call of each origin that may use more; some of them are outdated.
    private var candidates = CallHeap()
    private var lastCall: UInt64 = 0

    /// The maximum number of queues that are kept while they are idle.
    private static let keptQueues = 64

    /// Creates a ledger.
    ///
    /// - Parameters:
    ///   - total: The whole quantity, at least 0.
    ///   - perOrigin: The amount that the calls to one origin may use; one call may use more if it is the only one of
    ///     its origin.
    init(total: Int, perOrigin: Int) {
        self.total = total
        self.perOrigin = perOrigin
    }

    var waitingCount: Int { origins.count }

    /// The number of origins in the ledger, with calls or without.
    var originCount: Int { queues.count }

    /// Admits the call and returns nil, or queues it and returns its number; `count` is at most `total`.
    mutating func enter(_ origin: TargetURI.OriginKey, _ count: Int = 1) -> UInt64? {
        // The waiting calls came earlier, so they go first.
        let isFirst = origins.isEmpty || !hasWaiting(origin) && firstCandidate() == nil
        if isFirst, count <= total - used, takeIfPermitted(count, origin) { return nil }
        lastCall += 1
        queues[origin, default: OriginQueue()].waiting.append((lastCall, count))
        origins[lastCall] = origin
        if firstPermittedCall(of: origin)?.call == lastCall { addCandidate(of: origin) }
        return lastCall
    }

    /// Removes a waiting call, and returns the calls that have a share now; nil if it does not wait.
    mutating func cancel(_ call: UInt64) -> [UInt64]? {
        guard let origin = origins.removeValue(forKey: call) else { return nil }
        skipCancelled(origin)
        addCandidate(of: origin)
        return grant()
    }

    /// Ends the use of a share, and returns the calls that have one now.
    mutating func leave(_ origin: TargetURI.OriginKey, _ count: Int = 1) -> [UInt64] {
        guard let index = queues.index(forKey: origin), queues.values[index].used >= count else { return [] }
        used -= count
        queues.values[index].used -= count
        // The origins of the next calls are often the same, so a few idle queues remain.
        if queues.values[index].isIdle, queues.count > Self.keptQueues { queues.remove(at: index) }
        guard !origins.isEmpty else { return [] }
        addCandidate(of: origin)
        return grant()
    }

    /// Increases a share of `own` without waiting, and returns whether there was enough.
    mutating func grow(_ origin: TargetURI.OriginKey, _ own: Int, by count: Int) -> Bool {
        let isAlone = (queues[origin]?.used ?? 0) == own
        guard count <= total - used, isAlone || mayUse(count, origin) else { return false }
        take(count, origin)
        return true
    }

    /// Grants shares to the calls that have waited longest.
    private mutating func grant() -> [UInt64] {
        var granted: [UInt64] = []
        while let (call, count, origin) = firstCandidate(), count <= total - used {
            _ = candidates.removeFirst()
            origins[call] = nil
            take(count, origin)
            skipCancelled(origin)
            addCandidate(of: origin)
            granted.append(call)
        }
        return granted
    }

    private mutating func take(_ count: Int, _ origin: TargetURI.OriginKey) {
        used += count
        queues[origin, default: OriginQueue()].used += count
    }

    /// Takes `count` for a call to an origin if the origin may use as much, and returns whether it may.
    private mutating func takeIfPermitted(_ count: Int, _ origin: TargetURI.OriginKey) -> Bool {
        if let index = queues.index(forKey: origin) {
            let used = queues.values[index].used
            guard used == 0 || count <= perOrigin - used else { return false }
            queues.values[index].used += count
        } else {
            queues[origin] = OriginQueue(used: count)
        }
        used += count
        return true
    }

    /// Returns whether calls to an origin may use `count` more, apart from the total.
    private func mayUse(_ count: Int, _ origin: TargetURI.OriginKey) -> Bool {
        guard let queue = queues[origin], queue.used > 0 else { return true }
        return count <= perOrigin - queue.used
    }

    private func hasWaiting(_ origin: TargetURI.OriginKey) -> Bool {
        queues[origin].map { $0.first < $0.waiting.count } ?? false
    }

    /// Returns the first waiting call to an origin, if the origin may use the amount that the call needs.
    private func firstPermittedCall(of origin: TargetURI.OriginKey) -> (call: UInt64, count: Int)? {
        guard let queue = queues[origin], queue.first < queue.waiting.count else { return nil }
        let first = queue.waiting[queue.first]
        return mayUse(first.count, origin) ? first : nil
    }

    /// Adds the first waiting call to an origin to the candidates, if it could have its share now.
    private mutating func addCandidate(of origin: TargetURI.OriginKey) {
        guard let call = firstPermittedCall(of: origin)?.call else { return }
        candidates.insert(call)
        // Cancelled calls would otherwise accumulate.
        if candidates.count > 2 * queues.count + 32 {
            candidates = CallHeap()
            for origin in queues.keys { if let call = firstPermittedCall(of: origin)?.call { candidates.insert(call) } }
        }
    }

    /// Returns the call that has waited longest among those whose origin may use the amount that they need.
    private mutating func firstCandidate() -> (call: UInt64, count: Int, origin: TargetURI.OriginKey)? {
        while let call = candidates.first {
            if let origin = origins[call], let first = firstPermittedCall(of: origin), first.call == call {
                return (call, first.count, origin)
            }
            _ = candidates.removeFirst()
        }
        return nil
    }

    /// Removes the calls at the front of a queue that no longer wait.
    private mutating func skipCancelled(_ origin: TargetURI.OriginKey) {
        guard var queue = queues.removeValue(forKey: origin) else { return }
        while queue.first < queue.waiting.count, origins[queue.waiting[queue.first].call] == nil { queue.first += 1 }
        // Removed in groups: each removal moves the whole remaining queue.
        if queue.first > 32, queue.first * 2 > queue.waiting.count {
            queue.waiting.removeFirst(queue.first)
            queue.first = 0
        }
        // Cancelled calls behind one that waits would otherwise accumulate.
        if queue.waiting.count - queue.first > 2 * origins.count + 32 {
            queue.waiting = queue.waiting[queue.first...].filter { origins[$0.call] != nil }
            queue.first = 0
        }
        if !queue.isIdle { queues[origin] = queue }
    }
}

/// A binary heap of the numbers of calls, in which the smallest one is found at once.
private struct CallHeap: Sendable {
    private var calls: [UInt64] = []

    var count: Int { calls.count }
    var first: UInt64? { calls.first }

    mutating func insert(_ call: UInt64) {
        calls.append(call)
        var index = calls.count - 1
        while index > 0, calls[index] < calls[(index - 1) / 2] {
            calls.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func removeFirst() -> UInt64? {
        guard let last = calls.popLast() else { return nil }
        guard let first = calls.first else { return last }
        calls[0] = last
        var index = 0
        while true {
            let children = (2 * index + 1)..<min(2 * index + 3, max(calls.count, 2 * index + 1))
            guard let child = children.min(by: { calls[$0] < calls[$1] }), calls[child] < calls[index] else { break }
            calls.swapAt(index, child)
            index = child
        }
        return first
    }
}
