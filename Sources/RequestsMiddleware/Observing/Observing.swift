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

    private final class Settings: Sendable {
        let seat: Seat
        let observers: [any Observer]
        /// For each observer, itself if it only counts requests, otherwise nil; empty if all are nil.
        let counters: [(any CountingObserver)?]
        let clock: Retrying.Clock

        init(_ seat: Seat, _ observers: [any Observer], _ clock: Retrying.Clock) {
            self.seat = seat
            self.observers = observers
            let counters = observers.map { $0 as? any CountingObserver }
            self.counters = counters.contains { $0 != nil } ? counters : []
            self.clock = clock
        }
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
        var observation = Observation(of: request, at: settings.seat)
        guard settings.counters.isEmpty else { return try await count(&observation, with: next) }
        var handlers: [Handler] = []
        for observer in settings.observers {
            if let handler = observer.begin(&observation) { handlers.append(handler) }
        }
        guard !handlers.isEmpty || observation.hasEffect else { return try await next.execute(request) }
        return try await perform(observation, with: next, reportingTo: handlers)
    }

    /// Performs a request with observers some of which only count it.
    private func count(
        _ observation: inout Observation, with next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var handlers: [Handler] = []
        // The only observer of this request so far, if it needs neither a report nor the time.
        var onlyCounter: (any CountingObserver)?
        for (observer, counter) in zip(settings.observers, settings.counters) {
            if let counter, handlers.isEmpty, onlyCounter == nil {
                if counter.begin(observation.request) { onlyCounter = counter }
                continue
            }
            guard let handler = observer.begin(&observation) else { continue }
            if let counter = onlyCounter.take() { handlers.append(counter.endHandler) }
            handlers.append(handler)
        }
        if let counter = onlyCounter {
            guard observation.hasEffect else { return try await perform(observation, with: next, countedBy: counter) }
            handlers.append(counter.endHandler)
        }
        guard !handlers.isEmpty || observation.hasEffect else { return try await next.execute(observation.request) }
        return try await perform(observation, with: next, reportingTo: handlers)
    }

    /// Performs a request whose only observer is `counter`.
    private func perform(
        _ observation: Observation, with next: any RequestExecutor, countedBy counter: any CountingObserver
    ) async throws(RequestError) -> RawResponse {
        let response: RawResponse
        do throws(RequestError) {
            response = try await Self.execute(observation.request, with: next, within: observation)
        } catch {
            counter.end()
            throw error
        }
        guard case .stream = response.body else {
            counter.end()
            return response
        }
        return ObservedExchange(observation, [counter.endHandler], settings.clock).receive(response)
    }

    private func perform(
        _ observation: Observation, with next: any RequestExecutor, reportingTo handlers: [Handler]
    ) async throws(RequestError) -> RawResponse {
        let exchange = ObservedExchange(observation, handlers, settings.clock)
        let response: RawResponse
        do throws(RequestError) {
            response = try await Self.execute(exchange.watchedRequest, with: next, within: observation)
        } catch {
            exchange.end(error)
            throw error
        }
        return exchange.receive(response)
    }

    /// Executes `request` with the task-local values of `observation`.
    private static func execute(
        _ request: PreparedRequest, with next: any RequestExecutor, within observation: Observation
    ) async throws(RequestError) -> RawResponse {
        let isCall = observation.seat == .calls
        guard isCall || observation.context != nil else { return try await next.execute(request) }
        guard let context = observation.context else { return try await counted(request, with: next).get() }
        // A task-local value is bound by a function that throws any error.
        return try await TraceContext.$current.withValue(context) {
            isCall ? await counted(request, with: next) : await outcome(of: request, from: next)
        }.get()
    }

    /// Executes `request` with a new count of its attempts.
    private static func counted(
        _ request: PreparedRequest, with next: any RequestExecutor
    ) async -> Result<RawResponse, RequestError> {
        await AttemptCount.$current.withValue(AttemptCount()) { await outcome(of: request, from: next) }
    }

    private static func outcome(
        of request: PreparedRequest, from next: any RequestExecutor
    ) async -> Result<RawResponse, RequestError> {
        do throws(RequestError) {
            return .success(try await next.execute(request))
        } catch {
            return .failure(error)
        }
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
    ) -> Intercepted<Self, Observing> {
        intercepted(by: Observing(seat, by: observers, clock: clock))
    }

    /// Returns this executor with middleware that reports requests to observers, for an executor of an unknown type,
    /// such as one chosen at run time.
    @_disfavoredOverload
    public func observing(
        _ seat: Observing.Seat, by observers: any Observing.Observer..., clock: Retrying.Clock = .system
    ) -> any RequestExecutor {
        intercepted(by: Observing(seat, by: observers, clock: clock))
    }
}
