@_spi(Lock) import Requests
import RequestsPOSIX

/// The state of a call that holds a connection, or is about to establish one, as others may see it.
final class Holding: Sendable {
    let place: Int
    private let began = Deadline.now
    private let waits = Lock<WaitReport?>(nil)

    init(place: Int) {
        self.place = place
    }

    /// Notes that the connection is established.
    func begin(_ channel: Channel) {
        let report = channel.waitReport
        waits.withLock { $0 = report }
    }

    /// A number that stays the same while the call could continue but is not being run; nil while it is not known to.
    fileprivate func stall(at now: Deadline) -> UInt64? {
        if let report = waits.withLock({ $0 }) { return report.dueTicket }
        // Established in several waits, which are not watched one by one.
        return began.advanced(by: .seconds(1)) <= now ? .max : nil
    }
}

/// Finds out, for a blocked thread that waits for a connection, whether calls have one that are not being run.
///
/// A task that is resumed while every thread of its executor is blocked is not run. It keeps its connection, or the one
/// it was just granted, and so may keep every one of those threads waiting (Docs/Decisions/0018).
struct StallWatch {
    /// How often a blocked thread checks.
    static let interval = Duration.milliseconds(20)
    /// How long a call has not been run before the limits are exceeded.
    private static let patience = Duration.milliseconds(100)

    private var seen: [ObjectIdentifier: (ticket: UInt64, since: Deadline)] = [:]
    private var untaken: (number: Int, since: Deadline)?
    /// The last grant that had been made at the previous check.
    private(set) var grants = 0

    /// Checks once more; whether one of `holdings`, or the oldest grant that was not taken, is stalled.
    mutating func check(_ holdings: [Holding], oldestUntaken: Int?, grants: Int, at now: Deadline) -> Bool {
        self.grants = grants
        var isStalled = false
        var current: [ObjectIdentifier: (ticket: UInt64, since: Deadline)] = [:]
        for holding in holdings {
            guard let ticket = holding.stall(at: now) else { continue }
            let id = ObjectIdentifier(holding)
            let since = seen[id].flatMap { $0.ticket == ticket ? $0.since : nil } ?? now
            current[id] = (ticket, since)
            if since.advanced(by: Self.patience) <= now { isStalled = true }
        }
        seen = current
        untaken = oldestUntaken.map { number in (number, untaken?.number == number ? untaken?.since ?? now : now) }
        if let since = untaken?.since, since.advanced(by: Self.patience) <= now { isStalled = true }
        return isStalled
    }
}
