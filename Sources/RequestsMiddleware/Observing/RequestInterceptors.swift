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
    fileprivate func followed(by others: Self) -> Self {
        var copy = self
        copy.steps += others.steps
        return copy
    }

    /// Performs `request` with `next`, and applies the functions.
    ///
    /// - Throws: The error of the last function, or of `next`.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var sent = request
        let steps = steps(for: &sent)
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

    /// Returns the functions for `request`, its own first, which are removed from it.
    private func steps(for request: inout PreparedRequest) -> [Step] {
        guard let own = request.attributes[OwnInterceptors.self] else { return steps }
        // Middleware of the same type behind this one must not run them again.
        request.attributes[OwnInterceptors.self] = nil
        return own.steps + steps
    }

    private static func result(
        of operation: () async throws -> RawResponse
    ) async -> Result<RawResponse, RequestError> {
        await Result { () async throws(RequestError) in try await RequestError.wrapping(.other, operation) }
    }
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
