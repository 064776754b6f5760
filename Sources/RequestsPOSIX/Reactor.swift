import CRequestsPOSIX
@_spi(Lock) import Requests
import Synchronization

/// One thread that waits for many descriptors and deadlines and resumes the tasks that wait for them.
///
/// It never reads, parses or runs anyone's code. A wait costs at most one system call, which asks for one report; a
/// deadline is only told to the thread when it is earlier than the one it already waits for. The thread ends when the
/// last user of the reactor (its channels included) has gone.
package final class Reactor: Sendable {
    let core: ReactorCore
    private let forks: Int

    /// Starts a reactor of its own.
    ///
    /// It is for who has been forked, without exec, as often as this process; a child's child is not.
    package init(forks: Int = ForkCount.current) throws(SystemError) {
        let core = try ReactorCore(forks: forks)
        self.core = core
        self.forks = forks
        try DetachedThread.start(named: "Requests.wait") { core.run() }
    }

    deinit {
        core.stop()
    }

    private static let common = Lock<Reactor?>(nil)

    /// The reactor of the process, started when first asked for.
    ///
    /// Throws when the system has no descriptors or threads left; the next call tries again.
    package static func shared() throws(SystemError) -> Reactor {
        let result = common.withLock { (common) -> Result<Reactor, SystemError> in
            if let common { return .success(common) }
            do throws(SystemError) {
                let reactor = try Reactor()
                common = reactor
                return .success(reactor)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Throws in a child that was forked without exec: the thread did not come along, and no wait there would end.
    package func checkProcess() throws(SystemError) {
        guard !isInherited else { throw .forkedChild }
    }

    /// Whether this is a child that was forked without exec, and the reactor is its parent's.
    package var isInherited: Bool { ForkCount.current != forks }
}

extension Reactor {
    /// Suspends until the deadline has passed.
    ///
    /// Cancellation ends it early, with `.cancelled`.
    package func sleep(until deadline: Deadline) async throws(WaitError) {
        let event = WakeEvent(on: self)
        do {
            try await event.wait(by: deadline)
        } catch .timedOut {
            return
        }
    }

    /// Descriptors and events in the table; zero when all that used the reactor have gone.
    package var registrations: Int { core.table.withLock { $0.count } }

    /// Tasks that are suspended in a wait.
    package var pendingWaits: Int {
        core.table.withLock { table in table.points.reduce(0) { $0 + $1.waiters } }
    }

    /// Whether reports can stand here; for tests.
    package static var keepsReporting: Bool { ReadinessQueue.canStand }

    /// When the thread will wake by itself; for tests of the deadlines' economy.
    package var nextWake: Deadline { Deadline(nanoseconds: core.nextWake.load(ordering: .acquiring)) }
}

extension SystemError {
    package static var forkedChild: SystemError {
        SystemError("fork (this child has no reactor thread)", code: ENOTSUP)
    }
    static var occupied: SystemError { SystemError("wait (another task waits already)", code: EALREADY) }
}

/// What the reactor's thread and its users share; outlives both.
final class ReactorCore: WaitClock, Sendable {
    let table = Lock(SlotTable())
    /// The instant at which the thread will look for overdue waits; never later than any waiter's deadline.
    let nextWake = Atomic<Int64>(.max)
    let queue: ReadinessQueue
    private let signal: WakeSignal
    private let isStopping = Atomic(false)

    init(forks: Int) throws(SystemError) {
        queue = try ReadinessQueue(forks: forks)
        signal = try WakeSignal()
        try queue.add(signal)
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        signal.signal()
    }

    /// Makes sure that the thread looks no later than at `deadline`.
    ///
    /// Called with the waiter in place, so that either the sweep in progress sees it or this call sees the sweep's mark.
    func expect(_ deadline: Int64) {
        if lowerNextWake(to: deadline) { signal.signal() }
    }

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

    func run() {
        let events = ReadinessQueue.Events()
        var ready: [ReadinessEvent] = []
        ready.reserveCapacity(256)
        while !isStopping.load(ordering: .acquiring) {
            let timeout = Deadline(nanoseconds: nextWake.load(ordering: .acquiring)).pollTimeout
            queue.wait(into: events, milliseconds: timeout) { ready.append($0) }
            // What became due while events came is seen in the next turn, so that the clock is read once in each.
            let mayBeDue = timeout == 0 || ready.isEmpty
            deliver(ready)
            ready.removeAll(keepingCapacity: true)
            if mayBeDue { sweepIfDue() }
        }
    }

    private func deliver(_ events: [ReadinessEvent]) {
        for event in events {
            if event.token == .wakeSignal {
                signal.drain()
            } else {
                table.withLock { $0[event.token] }?.deliver(event.ready)
            }
        }
    }

    private func sweepIfDue() {
        let wake = nextWake.load(ordering: .acquiring)
        guard wake != .max, wake <= rp_now() else { return }
        // From here on a wait that is parked too late for the sweep sees the mark and sets its own deadline.
        nextWake.store(.max, ordering: .sequentiallyConsistent)
        let now = rp_now()
        let points = table.withLock { Array($0.points) }
        let next = points.reduce(Int64.max) { min($0, $1.expire(now: now)) }
        _ = lowerNextWake(to: next)
    }
}

/// The wait points of a reactor, each in a slot that is used again under a new generation.
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

    mutating func remove(_ token: SlotToken) {
        guard self[token] != nil else { return }
        slots[Int(token.slot)].point = nil
        vacant.append(token.slot)
    }

    subscript(token: SlotToken) -> WaitPoint? {
        guard token.slot < slots.count, slots[Int(token.slot)].generation == token.generation else { return nil }
        return slots[Int(token.slot)].point
    }
}
