import CRequestsClock

/// An instant of the continuous clock in nanoseconds, which is cheap to read, compare and store.
///
/// `ContinuousClock.Instant` belongs to a library whose layouts may change, so that a type that stores one is laid out
/// at run time and copied by function calls. This type avoids that cost. Arithmetic saturates.
package struct Deadline: Comparable, Hashable, Sendable {
    /// One instant on both clocks, which run at the same pace.
    private static let origin = (instant: ContinuousClock.now, nanoseconds: rp_now())

    /// The nanoseconds since the clock's origin.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates the deadline at `instant`, rounded to nanoseconds.
    package init(_ instant: ContinuousClock.Instant) {
        self = Deadline(nanoseconds: Self.origin.nanoseconds).advanced(by: Self.origin.instant.duration(to: instant))
    }

    /// The current instant.
    package static var now: Deadline { Deadline(nanoseconds: rp_now()) }

    /// The instant of the continuous clock.
    package var instant: ContinuousClock.Instant {
        let distance = nanoseconds(since: Deadline(nanoseconds: Self.origin.nanoseconds))
        return Self.origin.instant.advanced(by: .nanoseconds(distance))
    }

    /// A deadline that is never reached.
    package static let distantFuture = Deadline(nanoseconds: .max)

    /// Returns the deadline `duration` from now.
    package static func after(_ duration: Duration) -> Deadline {
        now.advanced(by: duration)
    }

    package static func < (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns the deadline `duration` later.
    package func advanced(by duration: Duration) -> Deadline {
        advanced(byNanoseconds: Self.nanoseconds(of: duration))
    }

    /// Returns the deadline `distance` nanoseconds later.
    package func advanced(byNanoseconds distance: Int64) -> Deadline {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(distance)
        guard overflow else { return Deadline(nanoseconds: sum) }
        return Deadline(nanoseconds: distance < 0 ? .min : .max)
    }

    /// The remaining time; zero if the deadline has passed.
    package var remaining: Duration {
        .nanoseconds(max(0, nanoseconds(since: .now)))
    }

    /// Whether the deadline has passed.
    package var hasPassed: Bool { self <= .now }

    /// Returns the nanoseconds from `earlier` to this instant; negative if it is later.
    package func nanoseconds(since earlier: Deadline) -> Int64 {
        nanoseconds.subtractingSaturating(earlier.nanoseconds)
    }

    /// Returns `duration` in nanoseconds, rounded towards zero and clamped to `Int64`.
    package static func nanoseconds(of duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carried) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}

extension Int64 {
    fileprivate func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return self < 0 ? .min : .max
    }
}
