import Requests
import TestCorpora

/// Middleware, as an app would write it, that retries as curl does.
struct CurlBehavior: Middleware {
    private let retries: Int
    private let retriesErrors: Bool
    private let maximumDelay: Duration
    /// Creates the middleware; nil if no option of the operation requires it.
    init?(_ operation: CurlCase.Client.Operation) {
        func value(_ name: String) -> String? { operation.options.first { $0.name == name }?.value }
        guard value("retry") != nil else { return nil }
        retries = value("retry").flatMap { Int($0) } ?? 0
        retriesErrors = value("retry-all-errors") != nil
        maximumDelay = .seconds(value("retry-max-time").flatMap { Int($0) } ?? 600)
    }

    func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        for _ in 0..<retries {
            do throws(RequestError) {
                let response = try await next.execute(request)
                guard isTransient(response.head) else { return response }
            } catch {
                guard retriesErrors else { throw error }
            }
        }
        return try await next.execute(request)
    }

    /// Whether a retry within the time limit may succeed.
    ///
    /// The middleware retries at once.
    private func isTransient(_ head: ResponseHead) -> Bool {
        guard [408, 429, 500, 502, 503, 504].contains(head.status.code) else { return false }
        return (head.header.retryAfter?.delay() ?? .zero) <= maximumDelay
    }
}
