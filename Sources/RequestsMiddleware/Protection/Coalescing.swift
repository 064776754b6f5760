import Requests

/// Middleware that sends identical requests only once while the first one runs, and returns its response for each of
/// them.
///
/// ```swift
/// let executor = SocketExecutor().coalescing()
/// ```
///
/// It applies to GET and HEAD without a body and without attributes or a progress handler, whose response is collected
/// in memory. Requests are identical if all that is sent is equal, credentials and cookies included, and if they have
/// the same limits. Only traceparent and tracestate may differ; the request that is sent keeps its own. So add it
/// before middleware that adds credentials or cookies: added after them, it would return the response for one user to
/// another. Of the authenticators behind it, it distinguishes only the users of a ``RefreshableAuthenticator``. Add it
/// after ``MemoryBudget``, which requests streams.
///
/// All receive the response or the error of the exchange. If the call that sends the request is cancelled, or its
/// deadline passes, one of the others sends it again.
///
/// Copies share the exchanges.
public struct Coalescing: Middleware {
    /// A request as the key of its exchange, without trace context, which differs for every request.
    private struct Key: Hashable, Sendable {
        let request: PreparedRequest
        /// A text that identifies the users whose credentials are added behind this middleware, as far as they are
        /// known.
        let caller: String
        /// Whether a call performs the request: it may receive only a part of the body of a redirect that it follows.
        let isPartOfCall: Bool

        init(_ request: PreparedRequest, before next: any RequestExecutor) {
            caller = next.caller(of: request)
            isPartOfCall = next.isPartOfCall
            var request = request
            if request.header.contains(where: \.name.isTraceContext) {
                request.header.removeAll(where: \.name.isTraceContext)
            }
            self.request = request
        }

        func hash(into hasher: inout Hasher) { hasher.combine(request.target) }
    }

    private let exchanges = SingleFlight<Key, Result<RawResponse, RequestError>>()
    /// The number of calls that wait for the response to an identical request.
    var waitingCount: Int { exchanges.waitingCount }

    /// Creates the middleware.
    public init() {}

    /// Performs `request` with `next`, or waits for an identical request.
    ///
    /// - Throws: The `RequestError` of the exchange, or one for a deadline or a cancellation while it waits.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard request.canBeCoalesced else { return try await next.execute(request) }
        let key = Key(request, before: next)
        if let result = try await exchanges.join(key, for: request) { return try result.get() }
        do throws(RequestError) {
            let response = try await next.execute(request)
            exchanges.end(key, with: .success(response))
            return response
        } catch {
            // A cancellation or a deadline concerns this call only, so the waiting calls send the request again.
            let isOwn = error.isCancellation || error.reason == .timedOut(.total)
            exchanges.end(key, with: isOwn ? nil : .failure(error))
            throw error
        }
    }
}

extension PreparedRequest {
    /// Whether an identical request has the same response.
    fileprivate var canBeCoalesced: Bool {
        guard hasMethod(.get) || hasMethod(.head), !hasBody, case .collected = delivery, !hasOwnAttributes else {
            return false
        }
        return progressHandler == nil
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that sends identical requests only once while the first one runs.
    public func coalescing() -> Intercepted { intercepted(by: Coalescing()) }
}
