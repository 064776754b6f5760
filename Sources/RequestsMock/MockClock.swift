@_spi(Lock) import Requests

/// A clock whose sleeps take no time: each one moves the clock forward to its end.
///
/// With it, tests check long delays and time limits of a mock without waiting. Copies of a clock share its time.
///
/// ```swift
/// let mock = MockExecutor(clock: MockClock())
/// mock.on(Users.me, respond: .value(octocat).delayed(by: .seconds(90)))
/// ```
public struct MockClock: Clock {
    /// An instant of a ``MockClock``: the time since its creation.
    public struct Instant: InstantProtocol {
        let offset: Duration

        /// Returns the instant `duration` after this one, at most 2⁶⁰ s from the creation of the clock.
        public func advanced(by duration: Duration) -> Instant {
            // Limited, because the sum of a few of the longest durations would overflow.
            Instant(offset: Self.limited(offset + Self.limited(duration)))
        }

        private static func limited(_ duration: Duration) -> Duration {
            let limit = Int64(1) << 60
            return min(max(duration, .seconds(-limit)), .seconds(limit))
        }

        /// Returns the time between this instant and `other`, negative if `other` is earlier.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Returns whether `left` is earlier than `right`.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private final class Time: Sendable {
        let offset = Lock(Duration.zero)
    }

    private let time = Time()

    /// Creates a clock.
    public init() {}

    /// The time that all sleeps have taken.
    public var elapsed: Duration { time.offset.withLock { $0 } }

    /// The present instant.
    public var now: Instant { Instant(offset: elapsed) }

    /// The resolution of the clock, one attosecond.
    public var minimumResolution: Duration { Duration(secondsComponent: 0, attosecondsComponent: 1) }

    /// Moves the clock forward to `deadline`, and returns at once.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        time.offset.withLock { $0 = max($0, deadline.offset) }
        // Other tasks run, as during a real sleep.
        await Task.yield()
    }
}
