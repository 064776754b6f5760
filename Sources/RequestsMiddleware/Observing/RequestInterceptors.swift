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
/// The functions of one value run in the order in which they were added, also for a response. Like other middleware,
/// several values are nested: the one that receives a request first receives its response last. They run before a
/// response is validated and decoded, so errors of validation do not reach them; a response function that throws
/// creates an error. `Request.intercepted(by:)` adds interceptors to one request.
///
/// An error function receives the errors of the exchange and of the interceptors before it. It throws an error, the
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

    /// Creates middleware without functions, which passes requests and responses on.
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

    /// Performs `request` with `next`, and applies the functions.
    ///
    /// - Throws: The error of the last function, or of `next`.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard !steps.isEmpty else { return try await next.execute(request) }
        var sent = request
        var result: Result<RawResponse, RequestError>
        do {
            for case .request(let function) in steps { sent = try await function(sent) }
            result = await Self.result { try await next.execute(sent) }
        } catch {
            result = .failure(RequestError(wrapping: error, as: .other).beforeSending())
        }
        for step in steps {
            switch (step, result) {
            case (.response(let function), .success(let response)):
                result = await Self.result { try await function(response, sent) }
            case (.error(let function), .failure(let error)):
                result = await Self.result { try await function(error, sent) }
            default: break
            }
        }
        return try result.get()
    }

    private static func result(
        of operation: () async throws -> RawResponse
    ) async -> Result<RawResponse, RequestError> {
        await Result { () async throws(RequestError) in try await RequestError.wrapping(.other, operation) }
    }
}
