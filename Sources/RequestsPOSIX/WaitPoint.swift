@_spi(Lock) import Requests

package enum Direction: Sendable {
    case reading, writing
}

/// The reason why a wait ended without readiness.
package enum WaitError: Error, Hashable, Sendable {
    case timedOut
    /// The task was cancelled; readiness that comes later is kept for the next wait.
    case cancelled
    /// A signal ended the wait, in place of readiness.
    case closed
    /// The descriptor could not be watched.
    ///
    /// There are too many watches, the process is a forked child, or another task waits in the same direction.
    case failed(SystemError)
}

/// A clock that ends waits at their deadlines.
protocol WaitClock {
    /// Ensures that a wait that has begun ends at `deadline`.
    func schedule(_ deadline: Int64)
}

/// A point where at most one task per direction waits for readiness.
///
/// Readiness is one sticky bit per direction: it is set while no task waits, and consumed by the next wait. Each wait
/// has a ticket, so that a late cancellation or deadline of an earlier wait cannot affect it. The thread that removes
/// the continuation under the lock resumes it, so it is resumed exactly once.
final class WaitPoint: Sendable {
    enum Outcome: Sendable {
        case ready, timedOut, cancelled

        /// Throws unless the wait ended with readiness.
        func check() throws(WaitError) {
            switch self {
            case .ready: return
            case .timedOut: throw .timedOut
            case .cancelled: throw .cancelled
            }
        }
    }

    private enum EntryResult: Sendable {
        case ready, occupied
        case ticket(UInt64)
    }

    /// The task that a wait has suspended.
    ///
    /// The continuation is unsafe, because the states under the lock ensure what a checked continuation would check,
    /// without an allocation.
    private typealias Waiter = UnsafeContinuation<Outcome, Never>

    /// The phase of the wait in one direction.
    private enum Phase: Sendable {
        case vacant
        /// A wait has begun and has not suspended yet.
        case armed
        /// The wait was cancelled before it suspended.
        case cancelled
        case waiting(Waiter, deadline: Int64)
    }

    /// The wait in one direction.
    private struct Side: Sendable {
        var isReady = false
        var ticket: UInt64 = 0
        var phase = Phase.vacant
        /// Whether the wait is for the other direction as well; possible only for the wait for writing.
        var isForBoth = false

        /// Ends the suspended wait, if there is one, and returns its waiter.
        mutating func takeWaiter() -> Waiter? {
            guard case .waiting(let waiter, _) = phase else { return nil }
            phase = .vacant
            return waiter
        }

        /// Ends the suspended wait and returns its waiter, or latches readiness if there is none.
        mutating func latch() -> Waiter? {
            let waiter = takeWaiter()
            if waiter == nil { isReady = true }
            return waiter
        }

        /// Ends the suspended wait if its deadline is at or before `now`.
        mutating func takeWaiter(overdueAt now: Int64) -> Waiter? {
            guard case .waiting(_, let deadline) = phase, deadline <= now else { return nil }
            return takeWaiter()
        }

        /// The deadline of the suspended wait; `Int64.max` without one.
        var deadline: Int64 {
            guard case .waiting(_, let deadline) = phase else { return .max }
            return deadline
        }

        /// Whether a task is suspended.
        var isWaiting: Bool {
            guard case .waiting = phase else { return false }
            return true
        }
    }

    private struct State: Sendable {
        var reading = Side()
        var writing = Side()

        subscript(direction: Direction) -> Side {
            get { direction == .reading ? reading : writing }
            _modify {
                switch direction {
                case .reading: yield &reading
                case .writing: yield &writing
                }
            }
        }

        /// Clears the sticky bit of the direction, or of both, and returns whether one was set.
        mutating func consumeReadiness(_ direction: Direction, isForBoth: Bool) -> Bool {
            let isReady = self[direction].isReady || (isForBoth && reading.isReady)
            self[direction].isReady = false
            if isForBoth { reading.isReady = false }
            return isReady
        }

        /// Makes reading ready: ends a wait for it or for both directions, or latches the readiness.
        mutating func latchReading() -> Waiter? {
            if writing.isForBoth, let waiter = writing.takeWaiter() { return waiter }
            return reading.latch()
        }
    }

    private let state = Lock(State())
    /// The function that each report calls, in place of ending a wait; nil for a point where tasks wait.
    private let onReport: ReportHandler?

    /// A function that receives reports.
    typealias ReportHandler = @Sendable () -> Void

    init(onReport: ReportHandler? = nil) {
        self.onReport = onReport
    }
}

// MARK: The waiting task's side

extension WaitPoint {
    /// Consumes readiness and returns nil if there is some; otherwise begins a wait and returns its ticket.
    func begin(_ direction: Direction, isForBoth: Bool = false) throws(WaitError) -> UInt64? {
        if Task.isCancelled { throw .cancelled }
        switch enter(direction, isForBoth: isForBoth) {
        case .ready: return nil
        case .occupied: throw .failed(.occupied)
        case .ticket(let number): return number
        }
    }

    /// Consumes readiness or begins a wait, under the lock.
    private func enter(_ direction: Direction, isForBoth: Bool) -> EntryResult {
        state.withLock { state in
            guard case .vacant = state[direction].phase else { return .occupied }
            if state.consumeReadiness(direction, isForBoth: isForBoth) { return .ready }
            state[direction].ticket &+= 1
            state[direction].phase = .armed
            state[direction].isForBoth = isForBoth
            return .ticket(state[direction].ticket)
        }
    }

    /// Suspends the wait, or returns its outcome if it is over already.
    private func park(_ waiter: Waiter, _ direction: Direction, deadline: Int64) -> Outcome? {
        state.withLock { state in
            if case .cancelled = state[direction].phase {
                state[direction].phase = .vacant
                return .cancelled
            }
            if state.consumeReadiness(direction, isForBoth: state[direction].isForBoth) {
                state[direction].phase = .vacant
                return .ready
            }
            state[direction].phase = .waiting(waiter, deadline: deadline)
            return nil
        }
    }

    /// Ends the wait that began with `ticket`, if it is still the current one.
    private func cancel(_ direction: Direction, ticket: UInt64) {
        let waiter: Waiter? = state.withLock { state in
            guard state[direction].ticket == ticket else { return nil }
            if case .armed = state[direction].phase { state[direction].phase = .cancelled }
            return state[direction].takeWaiter()
        }
        resume(waiter, .cancelled)
    }

    /// Suspends until the wait that began with `ticket` is over, and returns how it ended.
    ///
    /// `clock` receives the deadline once the wait is in place.
    func wait(
        for direction: Direction, ticket: UInt64, by deadline: Int64, clock: some WaitClock
    ) async -> Outcome {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if let outcome = park(continuation, direction, deadline: deadline) {
                    continuation.resume(returning: outcome)
                } else {
                    clock.schedule(deadline)
                }
            }
        } onCancel: {
            cancel(direction, ticket: ticket)
        }
    }
}

// MARK: The other side

extension WaitPoint {
    /// Ends the waits for the directions in `ready`, or latches their readiness for the next waits.
    func deliver(_ ready: Interest) {
        if let onReport { return onReport() }
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

    /// Returns whether readiness was latched, and consumes it.
    func takeReadiness() -> Bool {
        state.withLock { $0.consumeReadiness(.writing, isForBoth: true) }
    }

    private func resume(_ waiter: Waiter?, _ outcome: Outcome) {
        waiter?.resume(returning: outcome)
    }

    /// Ends the waits whose deadline has passed, and returns the earliest deadline of the others.
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

    /// The number of tasks that wait here.
    var waiters: Int {
        state.withLock { ($0.reading.isWaiting ? 1 : 0) + ($0.writing.isWaiting ? 1 : 0) }
    }
}
