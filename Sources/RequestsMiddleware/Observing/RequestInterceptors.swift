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
///
/// Functions that do not suspend can be added with ``mapRequest(_:)``, ``mapResponse(_:)`` and ``mapError(_:)``. If
/// there are no others, a blocking call, such as `performAndWait(_:)`, needs no task for them.
public struct RequestInterceptors: Middleware {
    /// A function that returns the request to send.
    public typealias RequestFunction = @Sendable (PreparedRequest) async throws -> PreparedRequest

    /// A function that returns a response, for the response to a request.
    public typealias ResponseFunction = @Sendable (RawResponse, PreparedRequest) async throws -> RawResponse

    /// A function that throws an error or returns a response, for the error of a request.
    public typealias ErrorFunction = @Sendable (RequestError, PreparedRequest) async throws -> RawResponse

    /// A function that returns the request to send, without suspending.
    public typealias SynchronousRequestFunction = @Sendable (PreparedRequest) throws -> PreparedRequest

    /// A function that returns a response, for the response to a request, without suspending.
    public typealias SynchronousResponseFunction = @Sendable (RawResponse, PreparedRequest) throws -> RawResponse

    /// A function that throws an error or returns a response, for the error of a request, without suspending.
    public typealias SynchronousErrorFunction = @Sendable (RequestError, PreparedRequest) throws -> RawResponse

    /// The interceptors of one request, as an object for ``KeptValues``.
    private final class AppliedInterceptors: Sendable {
        let interceptors: RequestInterceptors

        init(_ interceptors: RequestInterceptors) {
            self.interceptors = interceptors
        }
    }

    private enum Function<Synchronous: Sendable, Suspending: Sendable>: Sendable {
        case synchronous(Synchronous)
        case suspending(Suspending)
    }

    private enum Step: Sendable {
        case request(Function<SynchronousRequestFunction, RequestFunction>)
        case response(Function<SynchronousResponseFunction, ResponseFunction>)
        case error(Function<SynchronousErrorFunction, ErrorFunction>)
    }

    private var steps: [Step] = []
    /// Whether a function can suspend.
    private var suspends = false

    /// Creates middleware without functions; it still runs the interceptors of requests.
    public init() {}

    /// Returns these interceptors and a function that changes requests.
    public func onRequest(_ function: @escaping RequestFunction) -> Self {
        adding(.request(.suspending(function)), suspends: true)
    }

    /// Returns these interceptors and a function that changes responses, whatever their status is.
    public func onResponse(_ function: @escaping ResponseFunction) -> Self {
        adding(.response(.suspending(function)), suspends: true)
    }

    /// Returns these interceptors and a function that changes errors, or replaces them with responses.
    public func onError(_ function: @escaping ErrorFunction) -> Self {
        adding(.error(.suspending(function)), suspends: true)
    }

    // These are not overloads of the functions above: the compiler would also choose them for functions of a global
    // actor, which is an error in Swift 6, and in Swift 5 the function would run elsewhere.

    /// Returns these interceptors and a function that changes requests without suspending.
    public func mapRequest(_ function: @escaping SynchronousRequestFunction) -> Self {
        adding(.request(.synchronous(function)))
    }

    /// Returns these interceptors and a function that changes responses without suspending, whatever their status is.
    public func mapResponse(_ function: @escaping SynchronousResponseFunction) -> Self {
        adding(.response(.synchronous(function)))
    }

    /// Returns these interceptors and a function that changes errors, or replaces them with responses, without
    /// suspending.
    public func mapError(_ function: @escaping SynchronousErrorFunction) -> Self {
        adding(.error(.synchronous(function)))
    }

    private func adding(_ step: Step, suspends: Bool = false) -> Self {
        var copy = self
        copy.steps.append(step)
        if suspends { copy.suspends = true }
        return copy
    }

    /// Returns these interceptors followed by `others`.
    func followed(by others: Self) -> Self {
        var copy = self
        copy.steps += others.steps
        copy.suspends = suspends || others.suspends
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

    /// Returns the interceptors for `request`, its own first, which are removed from it.
    private func all(for request: inout PreparedRequest) -> Self {
        guard request.hasOwnAttributes, let own = request.attributes[OwnInterceptors.self] else { return self }
        // Middleware of the same type behind this one must not run them again.
        request.attributes[OwnInterceptors.self] = nil
        return own.followed(by: self)
    }
}

extension RequestInterceptors: StagedMiddleware {
    /// Applies the functions for requests, unless a function can suspend, and keeps the interceptors for the end of the
    /// exchange; nil if there are none.
    package func begin(_ request: PreparedRequest) throws(RequestError) -> StageBeginning {
        if steps.isEmpty, !request.hasOwnAttributes { return .passed(KeptValues()) }
        var request = request
        let all = all(for: &request)
        guard !all.suspends else { return .mustSuspend }
        do {
            for case .request(.synchronous(let function)) in all.steps { request = try function(request) }
        } catch {
            let error = RequestError(wrapping: error, as: .other).beforeSending()
            return .response(try all.apply(to: .failure(error), of: request).get())
        }
        return .passed(KeptValues(sending: request, AppliedInterceptors(all)))
    }

    package func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var request = request
        let all = all(for: &request)
        let outcome: Result<RawResponse, RequestError>
        do throws(RequestError) {
            for case .request(let function) in all.steps {
                let current = request
                request = try await RequestError.wrapping(.other) {
                    switch function {
                    case .synchronous(let function): try function(current)
                    case .suspending(let function): try await function(current)
                    }
                }
            }
            let sent = request
            outcome = await Self.outcome { () async throws(RequestError) in try await next.execute(sent) }
        } catch {
            outcome = .failure(error.beforeSending())
        }
        return try await all.applySuspending(to: outcome, of: request).get()
    }

    package func end(
        _ response: inout RawResponse, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> Bool {
        guard let all = (kept.object as? AppliedInterceptors)?.interceptors else { return true }
        let request = kept.sent ?? request
        for (index, step) in all.steps.enumerated() {
            guard case .response(.synchronous(let function)) = step else { continue }
            do {
                response = try function(response, request)
            } catch {
                let error = RequestError(wrapping: error, as: .other)
                response = try all.apply(to: .failure(error), of: request, from: index + 1).get()
                break
            }
        }
        return true
    }

    package func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> RawResponse {
        guard let all = (kept.object as? AppliedInterceptors)?.interceptors else { throw error }
        return try all.apply(to: .failure(error), of: kept.sent ?? request).get()
    }
}

extension RequestInterceptors {
    /// Applies the functions for responses and errors, none of which can suspend, beginning with the one at `start`.
    private func apply(
        to result: Result<RawResponse, RequestError>, of request: PreparedRequest, from start: Int = 0
    ) -> Result<RawResponse, RequestError> {
        var outcome = result
        for step in steps[start...] {
            switch (step, outcome) {
            case (.response(.synchronous(let function)), .success(let response)):
                outcome = Result { () throws(RequestError) in
                    try RequestError.wrapping(.other) { try function(response, request) }
                }
            case (.error(.synchronous(let function)), .failure(let error)):
                outcome = Result { () throws(RequestError) in
                    try RequestError.wrapping(.other) { try function(error, request) }
                }
            default: break
            }
        }
        return outcome
    }

    /// Applies the functions for responses and errors.
    private func applySuspending(
        to result: Result<RawResponse, RequestError>, of request: PreparedRequest
    ) async -> Result<RawResponse, RequestError> {
        var outcome = result
        for step in steps {
            switch (step, outcome) {
            case (.response(let function), .success(let response)):
                outcome = await Self.outcome { () async throws(RequestError) in
                    try await RequestError.wrapping(.other) {
                        switch function {
                        case .synchronous(let function): try function(response, request)
                        case .suspending(let function): try await function(response, request)
                        }
                    }
                }
            case (.error(let function), .failure(let error)):
                outcome = await Self.outcome { () async throws(RequestError) in
                    try await RequestError.wrapping(.other) {
                        switch function {
                        case .synchronous(let function): try function(error, request)
                        case .suspending(let function): try await function(error, request)
                        }
                    }
                }
            default: break
            }
        }
        return outcome
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
