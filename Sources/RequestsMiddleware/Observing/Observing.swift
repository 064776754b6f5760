@_spi(Lock) import Requests

/// Middleware that reports requests to observers, which log, measure, trace or count them.
///
/// ```swift
/// let tracing = RequestTracing { span in exporter.add(span) }
/// let executor = SocketExecutor()
///     .observing(.attempts, by: RequestMetrics { meter.record($0) }, tracing)
///     .retrying()
///     .observing(.calls, by: tracing, RequestLogging { logger.info("\($0)") })
/// ```
///
/// Observers do not change the response. Of several observers the first is outermost: it is notified first when a
/// request begins, and last when it ends. Each request ends exactly once, whether the response is complete, an error is
/// thrown, the task is cancelled, or a streamed body is released before its end.
///
/// An observer that returns no function for a request costs one call.
public struct Observing: Middleware {
    /// One reference, so that an executor with this middleware is small enough to be passed without an allocation.
    private let settings: Settings

    final class Settings: Sendable {
        let seat: Seat
        let observers: [any Observer]
        /// The observers of the type ``Reports``, which may have no function.
        private let reports: [Reports]
        /// The counter, if it is the only observer besides ``reports``.
        ///
        /// If none of the observers is active, no observation is made, which takes no time.
        let onlyCounter: ActivityCounter?
        let clock: Retrying.Clock

        fileprivate init(_ seat: Seat, _ observers: [any Observer], _ clock: Retrying.Clock) {
            self.seat = seat
            // A log that writes nothing observes no request.
            self.observers = observers.filter { ($0 as? RequestLogging)?.isOff != true }
            // Casts, because custom observers are always active; only these two can have nothing to do.
            reports = self.observers.compactMap { $0 as? Reports }
            let counters = self.observers.compactMap { $0 as? ActivityCounter }
            onlyCounter = counters.count == 1 && reports.count + 1 == self.observers.count ? counters[0] : nil
            self.clock = clock
        }

        /// Whether an observer may watch a request.
        var areActive: Bool { reports.count < observers.count || hasReports }

        /// Whether any observer of the type ``Reports`` has a function.
        var hasReports: Bool { reports.contains(where: \.isActive) }
    }

    /// The position of an observer in the chain of middleware.
    @nonexhaustive
    public enum Seat: Hashable, Sendable {
        /// Outside all other middleware: one report for each request of a call, with all its attempts.
        ///
        /// A redirect ends one request of a call and begins another.
        case calls
        /// Between retries and the executor: one report for each request that is sent.
        case attempts
    }

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - seat: The position in the chain at which you add the middleware.
    ///   - observers: The observers, the outermost first.
    ///   - clock: The source of time.
    public init(_ seat: Seat, by observers: [any Observer], clock: Retrying.Clock = .system) {
        settings = Settings(seat, observers, clock)
    }

    /// Passes on all traits: a body that the executor streams remains a stream.
    public func traits(before next: ExecutorTraits) -> ExecutorTraits { next }

    /// Performs `request` with `next`, and reports it.
    ///
    /// - Throws: The ``/Requests/RequestError`` of `next`.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard settings.areActive, let (watch, sent) = watch(request) else { return try await next.execute(request) }
        return try await watch.perform(sent, with: next)
    }

    /// Notifies the observers of a request that begins.
    ///
    /// Returns the observers that watch it, with the request to pass on; nil if none does.
    private func watch(_ request: PreparedRequest) -> (Watch, PreparedRequest)? {
        let attempts = settings.seat == .attempts ? Watch.current?.nextAttempt() ?? 0 : 0
        if let counter = settings.onlyCounter, !settings.hasReports {
            guard counter.begin(request) else { return nil }
            return (Watch(countedBy: counter, afterAttempts: attempts, settings), request)
        }
        var observation = Observation(of: request, at: settings.seat, afterAttempts: attempts)
        let handlers = settings.observers.compactMap { $0.begin(&observation) }
        if handlers.isEmpty, !observation.hasEffect { return nil }
        let exchange = ObservedExchange(observation, handlers, settings.clock)
        return (Watch(exchange, settings), exchange.watchedRequest)
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that reports requests to observers.
    ///
    /// - Parameters:
    ///   - seat: The position in the chain: add `.attempts` before `retrying(_:budget:clock:)`, and `.calls` after all
    ///     other middleware.
    ///   - observers: The observers, the outermost first.
    ///   - clock: The source of time.
    /// - Returns: The executor with the middleware.
    public func observing(
        _ seat: Observing.Seat, by observers: any Observing.Observer..., clock: Retrying.Clock = .system
    ) -> Intercepted {
        intercepted(by: Observing(seat, by: observers, clock: clock))
    }
}
