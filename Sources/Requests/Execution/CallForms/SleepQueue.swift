/// The tasks that sleep on a thread, with the instants at which they resume.
struct SleepQueue {
    /// A continuation that is resumed with true when its time has come, or with false when it is cancelled.
    typealias Continuation = UnsafeContinuation<Bool, Never>

    private var sleepers: [(id: UInt64, deadline: Deadline, continuation: Continuation)] = []
    private var lastID: UInt64 = 0
    /// The IDs of tasks that were cancelled before ``set(_:to:_:)`` added them.
    private var cancelled: Set<UInt64> = []

    /// The time at which the next task is due.
    var next: Deadline? { sleepers.lazy.map(\.deadline).min() }

    var isEmpty: Bool { sleepers.isEmpty }

    mutating func makeID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Adds a sleeping task; returns false if it has already been cancelled.
    mutating func set(_ id: UInt64, to deadline: Deadline, _ continuation: Continuation) -> Bool {
        guard cancelled.remove(id) == nil else { return false }
        sleepers.append((id, deadline, continuation))
        return true
    }

    /// Removes a sleeping task and returns its continuation; nil if it has not been added yet.
    mutating func cancel(_ id: UInt64) -> Continuation? {
        guard let place = sleepers.firstIndex(where: { $0.id == id }) else {
            cancelled.insert(id)
            return nil
        }
        return sleepers.remove(at: place).continuation
    }

    mutating func takeAll() -> [Continuation] {
        defer { sleepers = [] }
        return sleepers.map(\.continuation)
    }

    /// Removes the tasks that are due and returns their continuations.
    mutating func takeDue() -> [Continuation] {
        if sleepers.isEmpty { return [] }
        let now = Deadline.now
        let due = sleepers.filter { $0.deadline <= now }
        sleepers.removeAll { $0.deadline <= now }
        return due.map(\.continuation)
    }
}
