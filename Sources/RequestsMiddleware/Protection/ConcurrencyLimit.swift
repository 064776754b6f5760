@_spi(Lock) internal import Requests

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
    ///   - perOrigin: The largest number of those to one origin; nil for no other limit.
    public init(_ total: Int, perOrigin: Int? = nil) {
        permits = Shares(total: max(1, total), perOrigin: max(1, perOrigin ?? .max))
    }

    /// Performs `request` with `next` when it has a permit.
    ///
    /// - Throws: The `RequestError` of `next`, or one for a deadline or a cancellation while it waits.
    @inline(__always)  // saves a frame: the witness of the protocol is another function
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await interceptInStages(request, next: next)
    }
}

extension ConcurrencyLimit: StagedMiddleware {
    /// Takes a permit if one is free.
    package func begin(_ request: PreparedRequest) -> StageBeginning {
        permits.take(1, for: request.originKey) ? .passed(KeptValues()) : .mustSuspend
    }

    package func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await permits.wait(for: 1, to: request.originKey, until: request.limit).value(for: request)
        return try await perform(request, KeptValues(), with: next)
    }

    package func end(_ response: inout RawResponse, _ request: PreparedRequest, _ kept: KeptValues) -> Bool {
        guard case .stream(let stream) = response.body else {
            permits.leave(1, of: request.originKey)
            return true
        }
        let body = PermittedBody(stream, permits.share(of: 1, taken: request.originKey))
        response.body = .stream(ResponseStream(length: stream.length, PulledBody(body, request, response.head)))
        return true
    }

    package func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> RawResponse {
        permits.leave(1, of: request.originKey)
        throw error
    }
}

/// A body that keeps a permit until it has been read or is released.
private struct PermittedBody: PulledSource, ~Copyable {
    private let stream: ResponseStream
    private let permit: Shares.Share
    private(set) var trailers: Header?

    init(_ stream: ResponseStream, _ permit: Shares.Share) {
        self.stream = stream
        self.permit = permit
    }

    var metrics: RawResponse.Metrics? { stream.metrics }

    mutating func next() async throws(RequestError) -> Data? {
        if let chunk = try await stream.next() { return chunk }
        trailers = stream.trailers
        return nil
    }
}

extension RequestExecutor {
    /// Returns this executor with a limit on the number of requests that run at the same time.
    public func limitingConcurrency(to total: Int, perOrigin: Int? = nil) -> Intercepted<Self, ConcurrencyLimit> {
        intercepted(by: ConcurrencyLimit(total, perOrigin: perOrigin))
    }

    /// Returns this executor with a limit on the number of requests that run at the same time, for an executor of an
    /// unknown type.
    @_disfavoredOverload
    public func limitingConcurrency(to total: Int, perOrigin: Int? = nil) -> any RequestExecutor {
        intercepted(by: ConcurrencyLimit(total, perOrigin: perOrigin))
    }
}
