/// The state of one call as a value: the request to execute next, and the outcome once the call ends.
///
/// It performs no I/O, so redirects, limits and deadlines can be tested as tables.
package struct CallState {
    /// The next action of a call.
    package enum NextAction {
        /// Execute ``CallState/request``, which has changed, and pass the response to ``CallState/receive(_:)``.
        case execute
        /// End the call with the response that was received.
        case finish
    }

    /// The heads of the redirects that were followed, in order.
    package private(set) var history: [ResponseHead] {
        get { past == nil ? [] : pastValues.history }
        set { pastValues.history = newValue }
    }

    /// The number of requests that the call has made, including the current one.
    package private(set) var attempts = 1

    /// The repetitions of the current request after responses that could not be decoded, and all repetitions before.
    package private(set) var retries: [RawResponse.Metrics.Retry] {
        get { past == nil ? [] : pastValues.retries }
        set { pastValues.retries = newValue }
    }

    /// The values of earlier requests in one reference, which is nil for nearly every call with one request (decision
    /// 0015).
    private var past: Past?

    private indirect enum Past: Sendable {
        case values(PastValues)
    }

    private struct PastValues: Sendable {
        var history: [ResponseHead] = []
        var retries: [RawResponse.Metrics.Retry] = []
    }

    private var pastValues: PastValues {
        get { if case .values(let values)? = past { values } else { PastValues() } }
        set { past = .values(newValue) }
    }

    package private(set) var request: PreparedRequest

    /// The request's own middleware, which the call puts around its executor.
    let middleware: [any Middleware]

    /// Creates the state of a call for `request` that begins at `now`.
    ///
    /// A total limit becomes a deadline here, once.
    package init(_ request: PreparedRequest, now: Deadline) {
        self.request = request
        self.request.isPartOfCall = true
        middleware = request.middleware
        // Removed from the request: if a request that left the call is performed again, its middleware must not run
        // twice.
        if !middleware.isEmpty { self.request.attributes.middleware = [] }
        guard let total = request.timeouts.total else { return }
        self.request.limit = min(request.limit, now.advanced(by: total))
    }

    /// Whether ``retries`` is not empty; does not copy them.
    var hasRetries: Bool { past != nil && !retries.isEmpty }

    /// Returns the next action after `response`.
    ///
    /// - Throws: ``RequestError`` when a redirect is refused, with the redirect as its response.
    package mutating func receive(_ response: RawResponse) throws(RequestError) -> NextAction {
        attempts += response.metrics.retryCount
        // The policy checks this first too; checking it here avoids copying the policy for most responses.
        guard response.head.status.isFollowable else { return .finish }
        let next: PreparedRequest
        do {
            guard let following = try request.redirectPolicy.request(following: request, after: response.head) else {
                return .finish
            }
            next = following
        } catch {
            throw error.adding(response, to: request, attempts: attempts)
                .adding(retries: retries + response.metrics.retries)
        }
        guard history.count < request.redirectPolicy.limit else {
            throw RequestError(
                .unexpectedRedirect,
                detail: "more than \(request.redirectPolicy.limit) redirects; see RedirectPolicy.limit"
            ).adding(response, to: request, attempts: attempts).adding(retries: retries + response.metrics.retries)
        }
        history.append(response.head)
        attempts += 1
        request = next
        if hasRetries { setRetries([]) }
        return .execute
    }

    /// Makes the call execute its current request again because of `retry`.
    ///
    /// `earlier` are its previous repetitions.
    mutating func repeatRequest(_ retry: RawResponse.Metrics.Retry, after earlier: [RawResponse.Metrics.Retry]) {
        attempts += 1
        setRetries(earlier + [retry])
    }

    private mutating func setRetries(_ retries: [RawResponse.Metrics.Retry]) {
        self.retries = retries
        request.attributes[EarlierRetries.self] = retries.isEmpty ? nil : retries.attemptCount
    }

    mutating func collectBody() async throws(RequestError) {
        do throws(RequestError) {
            try await request.collectBody()
        } catch {
            throw error.adding(attempts: attempts)
        }
    }

    /// Continues the call if `error` concerns only the body of a redirect that is followed (decision 0021).
    ///
    /// Our own executors read such a body within ``PreparedRequest/drain(of:)`` and do not fail; this function is for
    /// other executors.
    ///
    /// - Throws: `error` with the request added, or the error of ``receive(_:)-(RawResponse)``.
    package mutating func receive(_ error: RequestError) throws(RequestError) {
        attempts += error.retries.count
        let error = error.adding(request: request, attempts: attempts).adding(retries: retries)
        guard error.isBodyFailure, let head = error.response, request.drain(of: head) != nil else { throw error }
        let response = RawResponse(head: head, body: .bytes(error.body ?? Data()), request: error.request)
        guard try receive(response) == .execute else { throw error }
    }
}

extension RequestError {
    /// Whether executors use this reason for a response whose body could not be received.
    ///
    /// Middleware that refuses a response uses other reasons, and cancellation and the total limit end the call.
    fileprivate var isBodyFailure: Bool {
        switch reason {
        case .connectionLost, .protocolViolation, .tooLarge, .timedOut(.betweenBytes): true
        default: false
        }
    }
}

extension RawResponse {
    /// The body if it is in memory; nil otherwise.
    var collectedBody: Data? {
        if case .bytes(let data) = body { data } else { nil }
    }
}

extension ResponseBody {
    var isCollected: Bool {
        if case .bytes = self { true } else { false }
    }
}
