import Requests
import TestCorpora

/// Middleware, as an app would write it, that retries as curl does: after a failure, or with the credentials that a
/// challenge requires.
struct CurlBehavior: Middleware {
    private let retries: Int
    private let retriesErrors: Bool
    private let maximumDelay: Duration
    /// The name and password, sent only after a challenge.
    private let credentials: String?

    /// Creates the middleware; nil if no option of the operation requires it.
    init?(_ operation: CurlCase.Client.Operation) {
        func value(_ name: String) -> String? { operation.options.first { $0.name == name }?.value }
        let waitsForChallenge = value("auth:any") != nil
        guard value("retry") != nil || waitsForChallenge else { return nil }
        retries = value("retry").flatMap { Int($0) } ?? 0
        retriesErrors = value("retry-all-errors") != nil
        maximumDelay = .seconds(value("retry-max-time").flatMap { Int($0) } ?? 600)
        credentials = waitsForChallenge ? value("user") : nil
    }

    func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        for _ in 0..<retries {
            do throws(RequestError) {
                let response = try await exchange(request, next)
                guard isTransient(response.head) else { return response }
            } catch {
                guard retriesErrors else { throw error }
            }
        }
        return try await exchange(request, next)
    }

    /// Whether a retry within the time limit may succeed.
    ///
    /// The middleware retries at once.
    private func isTransient(_ head: ResponseHead) -> Bool {
        guard [408, 429, 500, 502, 503, 504].contains(head.status.code) else { return false }
        return (head.header.retryAfter?.delay() ?? .zero) <= maximumDelay
    }

    private func exchange(
        _ request: PreparedRequest, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let response = try await next.execute(request)
        guard let credentials, response.head.status.code == 401,
            response.head.header.challenges.contains(where: { $0.usesScheme("Basic") })
        else { return response }
        var authenticated = request
        authenticated.header.set(
            Field(name: .authorization, value: "Basic \(Data(credentials.utf8).base64EncodedString())"))
        return try await next.execute(authenticated)
    }
}
