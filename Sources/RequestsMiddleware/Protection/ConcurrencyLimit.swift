import Requests

/// Middleware that limits the number of requests that run at the same time, in all and for each origin.
///
/// ```swift
/// let executor = SocketExecutor()
///     .limitingConcurrency(to: 64, perOrigin: 8)
/// ```
///
/// Further requests wait in the order of their arrival, until a permit is free, their deadline passes, or they are
/// cancelled. A request to an origin whose permits are in use does not delay requests to other origins. A request has
/// its permit until its response has arrived; a streamed body keeps it until it has been read or released.
///
/// Copies share the permits. Add it before `retrying(_:budget:clock:)`, so that a delay before a retry uses no permit.
public struct ConcurrencyLimit: Middleware {
    private let permits: Shares

    /// Creates the middleware; limits below 1 count as 1.
    ///
    /// - Parameters:
    ///   - total: The largest number of requests at the same time.
    ///   - perOrigin: The largest number to one origin; nil for no other limit.
    public init(_ total: Int, perOrigin: Int? = nil) {
        permits = Shares(total: max(1, total), perOrigin: max(1, perOrigin ?? .max))
    }

    /// Performs `request` with `next` when it has a permit.
    ///
    /// - Throws: The `RequestError` of `next`, or one for a deadline or a cancellation while it waits.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let permit = try await permits.share(of: 1, to: request.originKey, until: request.limit).value(for: request)
        let response = try await next.execute(request)
        return response.reportingEnd(to: request) { _ in permit.release() }
    }
}

extension RequestExecutor {
    /// Returns this executor with a limit on the number of requests that run at the same time.
    public func limitingConcurrency(to total: Int, perOrigin: Int? = nil) -> Intercepted {
        intercepted(by: ConcurrencyLimit(total, perOrigin: perOrigin))
    }
}
