@_spi(Lock) import Requests
import Synchronization

/// A direction of a connection.
package enum Direction: Sendable {
    case reading, writing
}

/// Why a wait ended without what it waited for.
package enum WaitError: Error, Hashable, Sendable {
    case timedOut
    /// The task was cancelled; what was waited for may still come and is kept for the next wait.
    case cancelled
    /// The channel was abandoned.
    case closed
    /// The descriptor could not be watched: too many watches, a forked child, a second waiter in one direction.
    case failed(SystemError)
}

/// Whoever ends waits when their time is over.
protocol WaitClock {
    /// A wait has begun that has to end at `deadline`.
    func expect(_ deadline: Int64)
}

/// Where at most one task a direction waits for readiness.
///
/// Readiness is one sticky bit a direction: latched when nobody waits, consumed in one step by whoever comes next. Each
/// wait has a ticket, so that a late cancellation or deadline of an earlier wait never touches a later one. Whoever
/// takes the continuation out of the state, under the lock, resumes it: exactly once.
final class WaitPoint: Sendable {
    enum Outcome: Sendable {
        case ready, timedOut, cancelled, closed

        /// Throws why the wait was in vain.
        func check() throws(WaitError) {
            switch self {
            case .ready: return
            case .timedOut: throw .timedOut
            case .cancelled: throw .cancelled
            case .closed: throw .closed
            }
        }
    }

    private enum Beginning: Sendable {
        case ready, closed, occupied
        case ticket(UInt64)
    }

    /// Not checked: the lock's states prove what a checked continuation would find out, at no allocation.
    private typealias Continuation = UnsafeContinuation<Outcome, Never>

    private enum Phase: Sendable {
        case vacant
        /// A wait has begun and has not suspended yet.
        case armed
        /// It was cancelled before it suspended.
        case cancelled
        case waiting(Continuation, deadline: Int64)
    }

    private struct Side: Sendable {
        var isReady = false
        var ticket: UInt64 = 0
        var phase = Phase.vacant
        /// Whether the wait is for the other direction as well; only that for writing can be.
        var isForBoth = false

        /// Ends the wait that is suspended, if there is one.
        mutating func takeWaiter() -> Continuation? {
            guard case .waiting(let continuation, _) = phase else { return nil }
            phase = .vacant
            return continuation
        }

        mutating func latch() -> Continuation? {
            let waiter = takeWaiter()
            if waiter == nil { isReady = true }
            return waiter
        }

        mutating func takeWaiter(overdueAt now: Int64) -> Continuation? {
            guard case .waiting(_, let deadline) = phase, deadline <= now else { return nil }
            return takeWaiter()
        }

        var deadline: Int64 {
            guard case .waiting(_, let deadline) = phase else { return .max }
            return deadline
        }

        var isWaiting: Bool {
            guard case .waiting = phase else { return false }
            return true
        }
    }

    private struct State: Sendable {
        var reading = Side()
        var writing = Side()
        var isClosed = false

        subscript(direction: Direction) -> Side {
            get { direction == .reading ? reading : writing }
            _modify {
                switch direction {
                case .reading: yield &reading
                case .writing: yield &writing
                }
            }
        }

        /// Takes the sticky bit of the direction, or of both; whether one was set.
        mutating func consumeReadiness(_ direction: Direction, isForBoth: Bool) -> Bool {
            let isReady = self[direction].isReady || (isForBoth && reading.isReady)
            self[direction].isReady = false
            if isForBoth { reading.isReady = false }
            return isReady
        }

        /// Who waits for bytes to read: in that direction, or in both.
        mutating func latchReading() -> Continuation? {
            if writing.isForBoth, let waiter = writing.takeWaiter() { return waiter }
            return reading.latch()
        }
    }

    private let state = Lock(State())
    /// Whether a task was resumed here that has not been run since.
    private let isDue = Atomic(false)
}

// MARK: The waiting task's side

extension WaitPoint {
    /// Consumes readiness if it is there and gives nil, else begins a wait and gives its ticket.
    func begin(_ direction: Direction, isForBoth: Bool = false) throws(WaitError) -> UInt64? {
        if Task.isCancelled { throw .cancelled }
        switch enter(direction, isForBoth: isForBoth) {
        case .ready: return nil
        case .closed: throw .closed
        case .occupied: throw .failed(.occupied)
        case .ticket(let number): return number
        }
    }

    private func enter(_ direction: Direction, isForBoth: Bool) -> Beginning {
        state.withLock { state in
            guard case .vacant = state[direction].phase else { return .occupied }
            if state.consumeReadiness(direction, isForBoth: isForBoth) { return .ready }
            if state.isClosed { return .closed }
            state[direction].ticket &+= 1
            state[direction].phase = .armed
            state[direction].isForBoth = isForBoth
            return .ticket(state[direction].ticket)
        }
    }

    /// Suspends the wait, unless it is over already: then the outcome is returned.
    private func park(_ continuation: Continuation, _ direction: Direction, deadline: Int64) -> Outcome? {
        state.withLock { state in
            if case .cancelled = state[direction].phase {
                state[direction].phase = .vacant
                return .cancelled
            }
            if state.consumeReadiness(direction, isForBoth: state[direction].isForBoth) {
                state[direction].phase = .vacant
                return .ready
            }
            if state.isClosed {
                state[direction].phase = .vacant
                return .closed
            }
            state[direction].phase = .waiting(continuation, deadline: deadline)
            return nil
        }
    }

    private func cancel(_ direction: Direction, ticket: UInt64) {
        let waiter: Continuation? = state.withLock { state in
            guard state[direction].ticket == ticket else { return nil }
            if case .armed = state[direction].phase { state[direction].phase = .cancelled }
            return state[direction].takeWaiter()
        }
        resume(waiter, .cancelled)
    }

    /// Suspends until the wait that has begun with `ticket` is over, and tells how it ended.
    ///
    /// `clock` learns of the deadline once the wait is in place.
    func wait(
        for direction: Direction, ticket: UInt64, by deadline: Int64, clock: some WaitClock
    ) async -> Outcome {
        let outcome = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if let outcome = park(continuation, direction, deadline: deadline) {
                    continuation.resume(returning: outcome)
                } else {
                    clock.expect(deadline)
                }
            }
        } onCancel: {
            cancel(direction, ticket: ticket)
        }
        isDue.store(false, ordering: .relaxed)
        return outcome
    }

    /// Lets other tasks of the executor run before the current one.
    func yield() async {
        state.withLock { $0.reading.ticket &+= 1 }
        isDue.store(true, ordering: .relaxed)
        await Task.yield()
        isDue.store(false, ordering: .relaxed)
    }

    /// A number that differs from wait to wait while a resumed task has not been run; nil otherwise.
    var dueTicket: UInt64? {
        guard isDue.load(ordering: .relaxed) else { return nil }
        return state.withLock { $0.reading.ticket &+ $0.writing.ticket }
    }
}

// MARK: The other side

extension WaitPoint {
    /// Wakes who waits, or latches the readiness for who comes next.
    func deliver(_ ready: Interest) {
        if ready == .reading {
            resume(state.withLock { $0.latchReading() }, .ready)
            return
        }
        let (reader, writer) = state.withLock { state in
            (
                ready.contains(.reading) ? state.latchReading() : nil,
                ready.contains(.writing) ? state.writing.latch() : nil
            )
        }
        resume(reader, .ready)
        resume(writer, .ready)
    }

    private func resume(_ waiter: Continuation?, _ outcome: Outcome) {
        guard let waiter else { return }
        // Before it is resumed, so that the task finds it set and not the other way round.
        isDue.store(true, ordering: .relaxed)
        waiter.resume(returning: outcome)
    }

    /// Ends the waits whose time is over and returns the earliest deadline of those that go on.
    func expire(now: Int64) -> Int64 {
        let (reader, writer, next) = state.withLock { state in
            let reader = state.reading.takeWaiter(overdueAt: now)
            let writer = state.writing.takeWaiter(overdueAt: now)
            return (reader, writer, min(state.reading.deadline, state.writing.deadline))
        }
        resume(reader, .timedOut)
        resume(writer, .timedOut)
        return next
    }

    /// Ends the waits there are and every later one.
    func close() {
        let (reader, writer) = state.withLock { state in
            state.isClosed = true
            return (state.reading.takeWaiter(), state.writing.takeWaiter())
        }
        resume(reader, .closed)
        resume(writer, .closed)
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Tasks suspended here now.
    var waiters: Int {
        state.withLock { ($0.reading.isWaiting ? 1 : 0) + ($0.writing.isWaiting ? 1 : 0) }
    }
}
