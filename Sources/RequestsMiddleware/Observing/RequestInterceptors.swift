import Requests

/// Middleware of functions that change requests, responses and errors.
///
/// ```swift
/// let interceptors = RequestInterceptors()
///     .onRequest { request in
///         var request = request
///         request.header[.acceptLanguage] = "de"
///         return request
///     }
///     .onResponse { response, request in response }
///     .onError { error, request in throw AppError(error) }
/// let executor = SocketExecutor().intercepted(by: interceptors)
/// ```
///
/// The order is the same in both directions: first the interceptors of the request
/// (`Request.intercepted(by:)`), then those of the executor, each in the order in which they were added. They run
/// before a response is validated and decoded, so errors of validation do not reach them; a response function that
/// throws creates an error.
///
/// An error function receives the errors of the exchange, and those of interceptors before it. It throws an error, the
/// same or another, or returns a response. A response function after it receives that response.
///
/// Interceptors run for each request of a call, including those that follow redirects. They keep no state of requests:
/// a request that is performed again passes through them once again.
public struct RequestInterceptors: Middleware {
    /// A function that returns the request to send.
    public typealias RequestFunction = @Sendable (PreparedRequest) async throws -> PreparedRequest

    /// A function that returns a response, for the response to a request.
    public typealias ResponseFunction = @Sendable (RawResponse, PreparedRequest) async throws -> RawResponse

    /// A function that throws an error or returns a response, for the error of a request.
    public typealias ErrorFunction = @Sendable (RequestError, PreparedRequest) async throws -> RawResponse

    private enum Step: Sendable {
        case request(RequestFunction)
        case response(ResponseFunction)
        case error(ErrorFunction)
    }

    private var steps: [Step] = []

    /// Creates middleware without functions; it still runs the interceptors of requests.
    public init() {}

    /// Returns these interceptors and a function that changes requests.
    public func onRequest(_ function: @escaping RequestFunction) -> Self { adding(.request(function)) }

    /// Returns these interceptors and a function that changes responses, whatever their status is.
    public func onResponse(_ function: @escaping ResponseFunction) -> Self { adding(.response(function)) }

    /// Returns these interceptors and a function that changes errors, or replaces them with responses.
    public func onError(_ function: @escaping ErrorFunction) -> Self { adding(.error(function)) }

    private func adding(_ step: Step) -> Self {
        var copy = self
        copy.steps.append(step)
        return copy
    }

    /// Returns these interceptors followed by `others`.
    func followed(by others: Self) -> Self {
        var copy = self
        copy.steps += others.steps
        return copy
    }

    /// Performs `request` with `next`, and applies the functions.
    ///
    /// - Throws: The error of the last function, or of `next`.
    @inline(__always)  // saves a frame: the witness of the protocol is another function
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await interceptInStages(request, next: next)
    }

    private func apply(
        to original: PreparedRequest, with next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var (request, result): (_, Result<RawResponse, RequestError>?) = (original, nil)
        do throws(RequestError) {
            for case .request(let function) in steps {
                let current = request
                request = try await Self.wrapping { try await function(current) }
            }
        } catch {
            result = .failure(error.beforeSending())
        }
        let sent = request
        var outcome: Result<RawResponse, RequestError>
        if let result {
            outcome = result
        } else {
            outcome = await Self.outcome { () async throws(RequestError) in try await next.execute(sent) }
        }
        for step in steps {
            switch (step, outcome) {
            case (.response(let function), .success(let response)):
                outcome = await Self.outcome { () async throws(RequestError) in
                    try await Self.wrapping { try await function(response, sent) }
                }
            case (.error(let function), .failure(let error)):
                outcome = await Self.outcome { () async throws(RequestError) in
                    try await Self.wrapping { try await function(error, sent) }
                }
            default: break
            }
        }
        return try outcome.get()
    }

    private static func wrapping<Value: Sendable>(
        _ function: () async throws -> Value
    ) async throws(RequestError) -> Value {
        try await RequestError.wrapping(.other, function)
    }

    private static func outcome(
        _ operation: () async throws(RequestError) -> RawResponse
    ) async -> Result<RawResponse, RequestError> {
        do throws(RequestError) {
            return .success(try await operation())
        } catch {
            return .failure(error)
        }
    }
}

extension RequestInterceptors: StagedMiddleware {
    /// Passes on a request without functions, which could suspend.
    func begin(_ request: inout PreparedRequest) -> Beginning<Void> {
        let isIdle = steps.isEmpty && (!request.hasOwnAttributes || request.attributes[OwnInterceptors.self] == nil)
        return isIdle ? .passed(()) : .mustSuspend
    }

    func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard let own = request.attributes[OwnInterceptors.self] else {
            return try await apply(to: request, with: next)
        }
        var request = request
        // Middleware of the same type behind this one must not run them again.
        request.attributes[OwnInterceptors.self] = nil
        return try await own.followed(by: self).apply(to: request, with: next)
    }

    func end(_ response: inout RawResponse, _ request: PreparedRequest, _ kept: Void) -> Bool { true }
}

/// The attribute with the interceptors of one request.
private enum OwnInterceptors: RequestAttributes.Key {
    typealias Value = RequestInterceptors
}

extension Request {
    /// Returns this request with its own interceptors, which precede those of the executor and follow those it has.
    ///
    /// They run only on an executor with middleware of type ``RequestInterceptors``, which may be empty.
    public consuming func intercepted(by interceptors: RequestInterceptors) -> Self {
        let own = attributes[OwnInterceptors.self] ?? RequestInterceptors()
        return setting(attribute: OwnInterceptors.self, to: own.followed(by: interceptors))
    }
}
