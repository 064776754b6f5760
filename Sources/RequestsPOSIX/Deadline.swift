import CRequestsPOSIX

/// An instant of the system's continuous clock in nanoseconds, which is cheap to read, compare and store.
///
/// It is the clock of `ContinuousClock`, which continues while the system sleeps. Arithmetic saturates.
package struct Deadline: Comparable, Hashable, Sendable {
    /// The nanoseconds since the clock's origin.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates the deadline at `instant`; never earlier, and later by less than a microsecond.
    package init(_ instant: ContinuousClock.Instant) {
        // In this order the time between the two readings makes the deadline later, never earlier.
        let distance = ContinuousClock.now.duration(to: instant)
        self = Deadline.now.advanced(by: distance)
    }

    /// The current instant.
    package static var now: Deadline { Deadline(nanoseconds: rp_now()) }

    /// A deadline that is never reached.
    package static let distantFuture = Deadline(nanoseconds: .max)

    /// Returns the deadline `duration` from now.
    package static func after(_ duration: Duration) -> Deadline {
        now.advanced(by: duration)
    }

    // Inlinable, so that a comparison in another module compares numbers and does not call a witness.
    @inlinable
    package static func < (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    @inlinable
    package static func == (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds == right.nanoseconds
    }

    /// Returns this deadline or `other`, whichever is earlier; unlike `min`, without calling a witness.
    @inlinable
    package func orEarlier(_ other: Deadline) -> Deadline {
        other.nanoseconds < nanoseconds ? other : self
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
        .nanoseconds(max(0, nanoseconds.subtractingSaturating(rp_now())))
    }

    /// Whether the deadline has passed.
    package var hasPassed: Bool { nanoseconds <= rp_now() }

    /// The remaining milliseconds, rounded up so that no wait ends early; -1 (no limit) for the distant future.
    var pollTimeout: Int32 {
        guard self != .distantFuture else { return -1 }
        let left = nanoseconds.subtractingSaturating(rp_now())
        guard left > 0 else { return 0 }
        return Int32(clamping: (left - 1) / 1_000_000 + 1)
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
