/// Middleware that sends a second request when the response to the first is slow, and uses the first response.
///
/// ```swift
/// let client = Client(
///     api, executor: SocketExecutor().hedging(after: .milliseconds(300)))
/// ```
///
/// It applies to requests with a safe method (RFC 9110 §9.2.1), such as GET, PROPFIND and QUERY, and to requests that
/// are declared idempotent (``/Requests/PreparedRequest/isIdempotent``), because the responses to two DELETE or MOVE
/// requests can differ. The body must be one that can be produced again, and the response must not be written to a
/// file. Other requests pass unchanged. The second request takes a token of the ``RetryBudget``. The first response
/// with a status below 500 is used. The other exchange is cancelled, and has ended when the response is returned, so
/// its connection has been closed or returned to the pool. If both requests fail, or if the first one fails before the
/// delay has passed or with a streamed response, the failure of the first one is returned.
///
/// If the budget has no token when the delay has passed, there is no second request. If the first one then fails, its
/// error, its metrics and the log say so (``/Requests/RequestError/retryRefusal``).
///
/// Choose a delay that only a few responses exceed, such as the 95th percentile of the response times. With
/// ``Retrying``, each attempt is hedged, whichever of the two receives a request first.
public struct Hedging: Middleware {
    private let delay: Duration
    let budget: RetryBudget
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - delay: The time after which the second request is sent; negative durations count as 0.
    ///   - budget: The limit on the second requests of all calls.
    ///   - clock: The source of time.
    public init(after delay: Duration, budget: RetryBudget = RetryBudget(), clock: Retrying.Clock = .system) {
        self.delay = delay.limited
        self.budget = budget
        sleep = clock.sleep
    }

    /// Performs `request` with `next`, and again if no response has arrived after the delay.
    ///
    /// - Throws: The ``/Requests/RequestError`` of the first request.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        if next.traits.contains(.retries) {
            // The retry behind this middleware hedges its attempts. If each of two requests had retries, they would
            // exceed the bound on the requests of a call.
            var request = request
            request.attributes[HedgingOfAttempts.self] = self
            return try await next.execute(request)
        }
        return try await hedge(request, with: next)
    }

    /// Sends the second request if the first one is slow.
    private func hedge(
        _ request: PreparedRequest, with next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        budget.recordHedgedRequest()
        guard request.mayBeSentTwiceAtOnce, request.body.isReplayable, !request.isWrittenToFile else {
            return try await next.execute(request)
        }
        let (first, second, hasSecond, isRefused) = await withTaskGroup(of: Event.self) { group in
            group.addTask {
                .first(await Outcome(catching: { () async throws(RequestError) in try await next.execute(request) }))
            }
            group.addTask { (try? await sleep(delay)) == nil ? .cancelledDelay : .delay }
            var (first, second): (Outcome?, Outcome?)
            var (hasSecond, isRefused) = (false, false)
            for await event in group {
                switch event {
                case .delay:
                    guard first == nil, !Task.isCancelled else { break }
                    hasSecond = budget.takeToken()
                    isRefused = !hasSecond
                    guard hasSecond else { break }
                    group.addTask {
                        .second(
                            await Outcome(catching: { () async throws(RequestError) in
                                try await next.execute(request.second)
                            }))
                    }
                case .cancelledDelay: break
                case .first(let outcome):
                    first = outcome
                    // A streamed failure keeps the permit of a limit, for which the second request may wait.
                    if outcome.isUsable || !hasSecond || outcome.isStreamed { group.cancelAll() }
                case .second(let outcome):
                    // Released otherwise, because its stream would keep a permit too.
                    guard outcome.isUsable else { break }
                    second = outcome
                    group.cancelAll()
                }
            }
            return (first, second, hasSecond, isRefused)
        }
        guard let first else { throw RequestError(.cancelled) }
        var used = if !first.isUsable, let second { second } else { first }
        if isRefused, !used.isUsable, !used.isCancelled { used = used.adding(.budgetExhausted) }
        return try used.adding(hasSecond ? [RawResponse.Metrics.Retry(cause: .slowResponse, delay: delay)] : [])
    }

    private typealias Outcome = Result<RawResponse, RequestError>

    private enum Event: Sendable {
        case delay
        /// The delay was cancelled, because the first request has ended.
        case cancelledDelay
        case first(Outcome)
        case second(Outcome)
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that sends a second request when a response is slow.
    ///
    /// With `retrying(_:budget:clock:)`, each attempt is hedged, in whichever order the two are added. If an executor
    /// of your own between them does not pass on the traits of the executor behind it, each of the two requests is
    /// retried.
    ///
    /// - Parameters:
    ///   - delay: The time after which the second request is sent.
    ///   - budget: The limit on the second requests of all calls. The default is the budget that this executor retries
    ///     with, or else a new one, which copies of the result share.
    ///   - clock: The source of time.
    /// - Returns: The executor with the middleware.
    public func hedging(
        after delay: Duration, budget: RetryBudget? = nil, clock: Retrying.Clock = .system
    ) -> Intercepted {
        intercepted(by: Hedging(after: delay, budget: budget ?? sharedRetryBudget, clock: clock))
    }
}

extension PreparedRequest {
    /// Whether the request is declared idempotent or, without a declaration, has a safe method (decision 0073).
    fileprivate var mayBeSentTwiceAtOnce: Bool { declaredIdempotence ?? method.isSafe }

    fileprivate var isWrittenToFile: Bool {
        if case .file = delivery { true } else { false }
    }

    /// The second request, without a progress handler, because the first one reports progress.
    fileprivate var second: PreparedRequest {
        var copy = self
        copy.progressHandler = nil
        copy.attributes[SecondRequest.self] = true
        return copy
    }
}

/// The attribute for the hedging that a retry performs in each attempt.
enum HedgingOfAttempts: RequestAttributes.Key {
    typealias Value = Hedging
}

/// The attribute that marks the second of two hedged requests.
///
/// That request has taken a token from the retry budget, and does not add to it.
enum SecondRequest: RequestAttributes.Key {
    typealias Value = Bool
}

extension Result<RawResponse, RequestError> {
    /// Whether this result is returned without waiting for the other request.
    fileprivate var isUsable: Bool {
        if case .success(let response) = self { response.head.status.code < 500 } else { false }
    }

    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self { error.isCancellation } else { false }
    }

    fileprivate var isStreamed: Bool {
        if case .success(let response) = self, case .stream = response.body { true } else { false }
    }
}
