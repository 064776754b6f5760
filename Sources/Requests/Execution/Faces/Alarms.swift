/// Who sleeps until when.
struct Alarms {
    /// Resumed with whether it was slept that long.
    typealias Continuation = UnsafeContinuation<Bool, Never>

    private var alarms: [(id: UInt64, moment: Moment, continuation: Continuation)] = []
    private var lastID: UInt64 = 0
    /// Those cancelled before they were set.
    private var cancelled: Set<UInt64> = []

    /// When the next one is due.
    var next: Moment? { alarms.lazy.map(\.moment).min() }

    var isEmpty: Bool { alarms.isEmpty }

    /// Whether no alarm was ever asked for.
    var isUnused: Bool { lastID == 0 }

    mutating func makeID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Sets an alarm; false when it has been cancelled already.
    mutating func set(_ id: UInt64, to moment: Moment, _ continuation: Continuation) -> Bool {
        guard cancelled.remove(id) == nil else { return false }
        alarms.append((id, moment, continuation))
        return true
    }

    mutating func cancel(_ id: UInt64) -> Continuation? {
        guard let place = alarms.firstIndex(where: { $0.id == id }) else {
            cancelled.insert(id)
            return nil
        }
        return alarms.remove(at: place).continuation
    }

    /// Takes those whose time has come.
    mutating func takeDue() -> [Continuation] {
        if alarms.isEmpty { return [] }
        let now = Moment.now
        let due = alarms.filter { $0.moment <= now }
        alarms.removeAll { $0.moment <= now }
        return due.map(\.continuation)
    }
}
