import CRequestsPOSIX
@_spi(Lock) package import Requests
import Synchronization

/// A thread that waits for descriptors and deadlines and resumes the tasks that wait for them.
///
/// It never reads, parses or runs other code, unless it was created to run tasks between its waits (decision 0040). A
/// wait costs at most one system call, which requests one report; a deadline wakes the thread only if the thread
/// already waits for a later one. The thread ends when the last user of the reactor, channels included, is released.
package final class Reactor: Sendable {
    /// The state that the thread shares with the reactor's users.
    let core: ReactorCore
    private let forks: Int

    /// Starts a reactor with a new thread.
    ///
    /// It works only in processes with the fork count `forks`, by default only in this process: a forked child has no
    /// such thread. With `runsTasks`, the thread also runs the jobs of a task executor; see ``begin(_:)``.
    package init(forks: Int = ForkCount.current, runsTasks: Bool = false) throws(SystemError) {
        let core = try ReactorCore(forks: forks, runsTasks: runsTasks)
        self.core = core
        self.forks = forks
        if runsTasks {
            // Tasks need more stack than waits: as much as the threads of the cooperative pool have.
            try DetachedThread.start(named: "Requests.tasks", stackBytes: 8 << 20) { core.run() }
        } else {
            try DetachedThread.start(named: "Requests.wait") { core.run() }
        }
    }

    deinit {
        core.stop()
    }

    /// The reactor of ``shared()``, once it has been started.
    private static let sharedReactor = Lock<Reactor?>(nil)

    /// Returns the reactor of the process, which the first call starts.
    ///
    /// - Throws: The error of the system if no descriptors or threads are left; the next call tries again.
    package static func shared() throws(SystemError) -> Reactor {
        let result = sharedReactor.withLock { (sharedReactor) -> Result<Reactor, SystemError> in
            if let sharedReactor { return .success(sharedReactor) }
            do throws(SystemError) {
                let reactor = try Reactor()
                sharedReactor = reactor
                return .success(reactor)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Throws in a child that was forked without exec: it has no such thread, so no wait would end.
    package func checkProcess() throws(SystemError) {
        guard !isInherited else { throw .forkedChild }
    }

    /// Whether this process was forked without exec, so that the reactor belongs to its parent.
    package var isInherited: Bool { ForkCount.current != forks }
}

extension Reactor {
    /// Suspends until the deadline has passed.
    ///
    /// - Throws: `.cancelled` if the task is cancelled before.
    package func sleep(until deadline: Deadline) async throws(WaitError) {
        let event = WakeEvent(on: self)
        do {
            try await event.wait(by: deadline)
        } catch .timedOut {
            return
        }
    }

    /// The number of descriptors and events in the table; zero after all users of the reactor have been released.
    package var registrations: Int { core.table.withLock { $0.count } }

    /// The number of tasks that are suspended in a wait.
    package var pendingWaits: Int {
        core.table.withLock { table in table.points.reduce(0) { $0 + $1.waiters } }
    }

    /// Whether the platform supports standing reports; for tests.
    package static var keepsReporting: Bool { ReadinessQueue.supportsStandingReports }

    /// The instant at which the thread wakes without an event; tests check how seldom that is.
    package var nextWake: Deadline { Deadline(nanoseconds: core.nextWake.load(ordering: .acquiring)) }
}

extension SystemError {
    /// The error of a wait in a forked child.
    package static var forkedChild: SystemError {
        SystemError("fork (no I/O thread in this child)", code: ENOTSUP)
    }
    /// The error for a second wait in the same direction.
    static var occupied: SystemError { SystemError("wait (another task is waiting)", code: EALREADY) }
}

/// The state that the reactor's thread and its users share; it outlives both.
final class ReactorCore: WaitClock, Sendable {
    let table = Lock(SlotTable())
    /// The instant at which the thread next checks for overdue waits; never later than the deadline of a waiting task.
    let nextWake = Atomic<Int64>(.max)
    let queue: ReadinessQueue
    /// The jobs of the tasks that run on the thread; nil if it runs none.
    let jobs: ReactorJobs?
    let signal: WakeSignal
    private let isStopping = Atomic(false)

    init(forks: Int, runsTasks: Bool) throws(SystemError) {
        jobs = runsTasks ? ReactorJobs() : nil
        queue = try ReadinessQueue(forks: forks)
        signal = try WakeSignal()
        try queue.add(signal)
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        signal.signal()
    }

    /// Ensures that the thread checks for overdue waits no later than at `deadline`.
    ///
    /// Call it when the wait has been stored: then either the sweep in progress sees the wait, or this call sees the
    /// mark that the sweep has left.
    func schedule(_ deadline: Int64) {
        guard lowerNextWake(to: deadline) else { return }
        // A thread that runs jobs reads the instant before it waits.
        if jobs?.endWait() ?? true { signal.signal() }
    }

    /// Sets the next wake to `deadline` if that is earlier, and returns whether it was.
    private func lowerNextWake(to deadline: Int64) -> Bool {
        var current = nextWake.load(ordering: .acquiring)
        while deadline < current {
            let (done, seen) = nextWake.compareExchange(
                expected: current, desired: deadline, ordering: .acquiringAndReleasing)
            if done { return true }
            current = seen
        }
        return false
    }

    /// Runs the thread until ``stop()`` is called.
    func run() {
        let events = ReadinessQueue.Events()
        var ready: [ReadinessEvent] = []
        ready.reserveCapacity(256)
        while !isStopping.load(ordering: .acquiring) {
            let mayWait = jobs?.beginWait() ?? true
            let timeout = mayWait ? Deadline(nanoseconds: nextWake.load(ordering: .acquiring)).pollTimeout : 0
            queue.wait(into: events, milliseconds: timeout) { ready.append($0) }
            _ = jobs?.endWait()
            // A turn with events does not check for overdue waits, so that each turn reads the clock once.
            let mayBeDue = timeout == 0 || ready.isEmpty
            deliver(ready)
            ready.removeAll(keepingCapacity: true)
            if mayBeDue { sweepIfDue() }
            jobs?.run()
        }
        jobs?.close()
    }

    /// Resumes the tasks for which events have arrived.
    private func deliver(_ events: [ReadinessEvent]) {
        for event in events {
            if event.token == .wakeSignal {
                signal.drain()
            } else {
                table.withLock { $0[event.token] }?.deliver(event.ready)
            }
        }
    }

    /// Ends the waits whose deadline has passed, if one may have.
    private func sweepIfDue() {
        let wake = nextWake.load(ordering: .acquiring)
        guard wake != .max, wake <= Deadline.now.nanoseconds else { return }
        // A wait that is parked too late for this sweep sees the mark and sets its own deadline.
        nextWake.store(.max, ordering: .sequentiallyConsistent)
        let now = Deadline.now.nanoseconds
        let points = table.withLock { Array($0.points) }
        let next = points.reduce(Int64.max) { min($0, $1.expire(now: now)) }
        _ = lowerNextWake(to: next)
    }
}

/// The wait points of a reactor, each in a slot that is reused with a new generation.
struct SlotTable {
    private struct Slot {
        var generation: UInt32 = 0
        var point: WaitPoint?
    }

    private var slots: [Slot] = []
    private var vacant: [UInt32] = []

    var count: Int { slots.count - vacant.count }
    var points: some Sequence<WaitPoint> { slots.lazy.compactMap(\.point) }

    mutating func insert(_ point: WaitPoint) -> SlotToken {
        if let slot = vacant.popLast() {
            slots[Int(slot)].generation &+= 1
            slots[Int(slot)].point = point
            return SlotToken(slot: slot, generation: slots[Int(slot)].generation)
        }
        slots.append(Slot(point: point))
        return SlotToken(slot: UInt32(slots.count - 1), generation: 0)
    }

    /// Removes a point and returns it, to be released without the lock.
    mutating func remove(_ token: SlotToken) -> WaitPoint? {
        guard let point = self[token] else { return nil }
        slots[Int(token.slot)].point = nil
        vacant.append(token.slot)
        return point
    }

    subscript(token: SlotToken) -> WaitPoint? {
        guard token.slot < slots.count, slots[Int(token.slot)].generation == token.generation else { return nil }
        return slots[Int(token.slot)].point
    }
}
