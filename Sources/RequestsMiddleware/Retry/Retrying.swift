/// Middleware that sends requests again when they fail, as its ``RetryPolicy`` decides.
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().retrying())
/// ```
///
/// After a failure of the exchange, the middleware passes the same request to the next executor again. After a decoder
/// has found truncated JSON, the call repeats the request through all middleware. Redirects that led to the request are
/// not repeated, nor are failures while a returned stream is read.
///
/// The result of the last attempt is returned, with the others in the
/// ``/Requests/RawResponse/Metrics-swift.struct/retries`` of its metrics or in ``/Requests/RequestError/retries`` of
/// its error.
///
/// The response of a failed attempt is released before the delay. If its body was streamed, its exchange ends.
public struct Retrying: Middleware {
    let policy: RetryPolicy
    let budget: RetryBudget
    let clock: Clock

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - policy: The policy of requests without their own policy (`Request.retrying(_:)`).
    ///   - budget: The limit on the retries of all requests; by default a new one.
    ///   - clock: The sources of time and randomness.
    public init(_ policy: RetryPolicy = .standard, budget: RetryBudget = RetryBudget(), clock: Clock = .system) {
        self.policy = policy
        self.budget = budget
        self.clock = clock
        budget.useForRetries()
    }

    /// The sources of time and randomness for retries, which tests replace.
    public struct Clock: Sendable {
        /// A function that returns the current instant, for comparison with deadlines.
        public var now: @Sendable () -> ContinuousClock.Instant
        /// A function that returns the current date, for comparison with dates in responses without a Date field.
        public var date: @Sendable () -> Date
        /// A function that waits for a duration, and throws when the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// A function that returns a random number from 0 to 1, for the jitter of delays.
        public var random: @Sendable () -> Double

        /// Creates a clock from its functions; missing or nil ones are taken from ``system``.
        public init(
            now: (@Sendable () -> ContinuousClock.Instant)? = nil,
            date: @escaping @Sendable () -> Date = { Date() },
            sleep: (@Sendable (Duration) async throws -> Void)? = nil,
            random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
        ) {
            self.now = now ?? { .now }
            self.date = date
            // A blocking call sleeps on its own thread.
            self.sleep = sleep ?? { try await CallingThread.sleep(until: .after($0.limited)) }
            self.random = random
        }

        /// The current instant.
        var deadline: Deadline { Deadline(now()) }

        /// The clock of the system.
        public static var system: Clock { Clock() }
    }

    /// Performs `request` with `next`, again after failures as the policy decides.
    ///
    /// - Throws: The ``/Requests/RequestError`` of the last attempt, or a cancellation during a delay.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        if let hedging = request.attributes[HedgingOfAttempts.self] {
            var request = request
            request.attributes[HedgingOfAttempts.self] = nil
            return try await intercept(request, next: next.intercepted(by: hedging))
        }
        record(request)
        var number = request.attributes[EarlierRetries.self] ?? 0
        var retries: [RawResponse.Metrics.Retry] = []
        while true {
            switch await attempt(number, at: request, with: next) {
            case .last(let result): return try result.adding(retries)
            case .failed(let new, let delay):
                retries += new
                number += 1
                do throws(RequestError) {
                    try await wait(delay)
                } catch {
                    throw error.adding(repetitions: retries)
                }
            }
        }
    }

    /// Passes on all traits but ``/Requests/ExecutorTraits/streamsEncodedBodies``, and adds that requests are repeated.
    public func traits(before next: ExecutorTraits) -> ExecutorTraits {
        next.subtracting(.streamsEncodedBodies).union(.retries)
    }
}
