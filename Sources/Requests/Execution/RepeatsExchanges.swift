/// Middleware that can repeat an exchange whose response could not be decoded.
///
/// Middleware does not see decoding, which happens after the exchange. If it fails, the call consults the retry
/// middleware of its executor, and repeats the exchange through the whole chain (decision 0029).
package protocol RepeatsExchanges {
    /// A function that decides whether to repeat `request` after an error, and waits until the repetition is due.
    ///
    /// If there is no repetition, it throws the error with which the call ends. `earlier` is the number of repetitions
    /// so far.
    typealias Repetition =
        @Sendable (
            _ error: RequestError, _ request: PreparedRequest, _ earlier: Int
        ) async throws(RequestError) -> RawResponse.Metrics.Retry

    /// The function that decides whether to repeat an exchange; nil if exchanges are never repeated.
    var repetition: Repetition? { get }
}

extension RequestExecutor {
    /// The function of the innermost middleware that repeats exchanges.
    ///
    /// If the executor has retries, a request's own middleware does not decide.
    fileprivate var repetition: RepeatsExchanges.Repetition? {
        // A cast, because most middleware repeats nothing, and `Middleware` has no requirement for it.
        middlewareOfChain.reversed().lazy.compactMap { ($0 as? any RepeatsExchanges)?.repetition }.first
    }
}

/// The number of times that the call has already repeated the request; nil if it has not.
package enum EarlierRetries: RequestAttributes.Key {
    /// A number greater than 0.
    package typealias Value = Int
}

extension [RawResponse.Metrics.Retry] {
    /// The number of repetitions that count as attempts for a retry policy, because they follow a failure or a status.
    var attemptCount: Int {
        count {
            switch $0.cause {
            case .failure, .status: true
            case .slowResponse, .rejected: false
            }
        }
    }
}

extension AcceptedResponse {
    /// Repeats an exchange whose response could not be decoded, and returns the new response.
    ///
    /// The redirects that led to the response are not repeated.
    ///
    /// - Throws: `error` if the exchange is not repeated, or the error of the repeated exchange.
    func repeated(
        after error: RequestError, by executor: any RequestExecutor
    ) async throws(RequestError) -> AcceptedResponse {
        try await repeated(after: error, by: executor, reportingTo: nil)
    }

    /// Repeats the exchange.
    ///
    /// Reports the state of the call to `task` if there is one.
    func repeated(
        after error: RequestError, by executor: any RequestExecutor, reportingTo task: RequestTask?
    ) async throws(RequestError) -> AcceptedResponse {
        let earlier = response.metrics.retries
        guard let repetition = call.middleware.around(executor).repetition else {
            throw error.adding(retries: earlier)
        }
        let retry: RawResponse.Metrics.Retry
        do throws(RequestError) {
            retry = try await repetition(error, call.request, earlier.attemptCount)
        } catch {
            throw error.adding(request: call.request, attempts: call.attempts).adding(retries: earlier)
        }
        var call = call
        call.repeatRequest(retry, after: earlier)
        task?.executeAgain()
        return try await call.accepted(by: executor, reportingTo: task)
    }
}
