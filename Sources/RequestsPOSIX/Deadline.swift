import CRequestsPOSIX

/// An instant of the machine's continuous clock, in nanoseconds: cheap to read, compare and store.
///
/// The same clock as `ContinuousClock` (it goes on while the machine sleeps). Arithmetic saturates.
package struct Deadline: Comparable, Hashable, Sendable {
    /// Nanoseconds since the clock began.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The same instant; never earlier, and later by less than a microsecond.
    package init(_ instant: ContinuousClock.Instant) {
        // Read in this order, what passes in between makes the deadline later, never earlier.
        let distance = ContinuousClock.now.duration(to: instant)
        self = Deadline.now.advanced(by: distance)
    }

    package static var now: Deadline { Deadline(nanoseconds: rp_now()) }

    /// Later than every instant that can be reached.
    package static let distantFuture = Deadline(nanoseconds: .max)

    /// That long from now.
    package static func after(_ duration: Duration) -> Deadline {
        now.advanced(by: duration)
    }

    // Inlinable, so that comparing in another module is comparing numbers and not a call of a witness.
    @inlinable
    package static func < (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    @inlinable
    package static func == (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds == right.nanoseconds
    }

    /// This instant or `other`, whichever comes first; what `min` would ask a witness for.
    @inlinable
    package func orEarlier(_ other: Deadline) -> Deadline {
        other.nanoseconds < nanoseconds ? other : self
    }

    package func advanced(by duration: Duration) -> Deadline {
        advanced(byNanoseconds: Self.nanoseconds(of: duration))
    }

    package func advanced(byNanoseconds distance: Int64) -> Deadline {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(distance)
        guard overflow else { return Deadline(nanoseconds: sum) }
        return Deadline(nanoseconds: distance < 0 ? .min : .max)
    }

    /// What is left until then; zero when it has passed.
    package var remaining: Duration {
        .nanoseconds(max(0, nanoseconds.subtractingSaturating(rp_now())))
    }

    package var hasPassed: Bool { nanoseconds <= rp_now() }

    /// Milliseconds to wait, rounded up so that nothing fires early; -1 (for ever) for the distant future.
    var pollTimeout: Int32 {
        guard self != .distantFuture else { return -1 }
        let left = nanoseconds.subtractingSaturating(rp_now())
        guard left > 0 else { return 0 }
        return Int32(clamping: (left - 1) / 1_000_000 + 1)
    }

    /// The duration in nanoseconds, as near as they can tell.
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
