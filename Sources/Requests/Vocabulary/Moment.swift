/// An instant of the continuous clock, stored as a duration.
///
/// `ContinuousClock.Instant` belongs to a library whose layouts may change, so that a type that stores one is laid out
/// at run time and copied by function calls. This type avoids that cost.
package struct Moment: Comparable, Sendable {
    private static let origin = ContinuousClock.now

    private let offset: Duration

    package init(_ instant: ContinuousClock.Instant) {
        offset = Self.origin.duration(to: instant)
    }

    package static var now: Moment { Moment(.now) }

    /// The instant of the continuous clock.
    package var instant: ContinuousClock.Instant { Self.origin.advanced(by: offset) }

    package static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }

    static func + (left: Self, right: Duration) -> Self { Moment(left.instant + right) }

    static func - (left: Self, right: Self) -> Duration { left.offset - right.offset }
}
