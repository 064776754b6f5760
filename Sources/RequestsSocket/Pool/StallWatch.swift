@_spi(Lock) import Requests
import RequestsPOSIX

/// The state of a call that holds or establishes a connection, as other calls can observe it.
final class Holding: Sendable {
    let place: Int
    private let began = Deadline.now
    private let waits = Lock<WaitReport?>(nil)

    init(place: Int) {
        self.place = place
    }

    /// Records that the connection is established.
    func begin(_ channel: Channel) {
        let report = channel.waitReport
        waits.withLock { $0 = report }
    }

    /// Returns a number that stays the same while the call could continue but is not being run; otherwise nil.
    fileprivate func stall(at now: Deadline) -> UInt64? {
        if let report = waits.withLock({ $0 }) { return report.dueTicket }
        // A connection is established in several waits, which are not observed individually.
        return began.advanced(by: .seconds(1)) <= now ? .max : nil
    }
}

/// A watch, for a blocked thread that waits for a connection, over calls that hold one and are not being run.
///
/// A task that is resumed while all threads of its executor are blocked does not run. It keeps its connection, or the
/// one it was just granted, and so may keep all of those threads waiting (decision 0018).
struct StallWatch {
    /// The interval at which a blocked thread checks.
    static let interval = Duration.milliseconds(20)
    /// The time for which a call must not have run before the limits are exceeded.
    private static let threshold = Duration.milliseconds(100)

    private var seen: [ObjectIdentifier: (ticket: UInt64, since: Deadline)] = [:]
    private var untaken: (number: Int, since: Deadline)?
    /// The number of the last grant at the previous check.
    private(set) var grants = 0

    /// Checks again, and returns whether a call of `holdings`, or the oldest grant that was not taken, is stalled.
    mutating func check(_ holdings: [Holding], oldestUntaken: Int?, grants: Int, at now: Deadline) -> Bool {
        self.grants = grants
        var isStalled = false
        var current: [ObjectIdentifier: (ticket: UInt64, since: Deadline)] = [:]
        for holding in holdings {
            guard let ticket = holding.stall(at: now) else { continue }
            let id = ObjectIdentifier(holding)
            let since = seen[id].flatMap { $0.ticket == ticket ? $0.since : nil } ?? now
            current[id] = (ticket, since)
            if since.advanced(by: Self.threshold) <= now { isStalled = true }
        }
        seen = current
        untaken = oldestUntaken.map { number in (number, untaken?.number == number ? untaken?.since ?? now : now) }
        if let since = untaken?.since, since.advanced(by: Self.threshold) <= now { isStalled = true }
        return isStalled
    }
}
