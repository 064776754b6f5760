import Requests
import TestCorpora

/// What curl does between requests, as the middleware that a user would write: it asks again after a failure, or with
/// the credentials that a challenge asks for.
struct CurlBehavior: Middleware {
    private let retries: Int
    private let retriesErrors: Bool
    private let patience: Duration
    /// Name and password, sent only when asked for.
    private let credentials: String?

    /// Nil when none of the operation's options asks for it.
    init?(_ operation: CurlCase.Client.Operation) {
        func value(_ name: String) -> String? { operation.options.first { $0.name == name }?.value }
        let isPatient = value("auth:any") != nil
        guard value("retry") != nil || isPatient else { return nil }
        retries = value("retry").flatMap { Int($0) } ?? 0
        retriesErrors = value("retry-all-errors") != nil
        patience = .seconds(value("retry-max-time").flatMap { Int($0) } ?? 600)
        credentials = isPatient ? value("user") : nil
    }

    func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        for _ in 0..<retries {
            do throws(RequestError) {
                let response = try await exchange(request, next)
                guard isPassing(response.head) else { return response }
            } catch {
                guard retriesErrors else { throw error }
            }
        }
        return try await exchange(request, next)
    }

    /// Whether another try may do better, in time; it is made at once here.
    private func isPassing(_ head: ResponseHead) -> Bool {
        guard [408, 429, 500, 502, 503, 504].contains(head.status.code) else { return false }
        return (head.header.retryAfter?.delay() ?? .zero) <= patience
    }

    private func exchange(
        _ request: PreparedRequest, _ next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let response = try await next.execute(request)
        guard let credentials, response.head.status.code == 401,
            response.head.header.challenges.contains(where: { $0.isScheme("Basic") })
        else { return response }
        var again = request
        again.header.set(
            Field(name: .authorization, value: "Basic \(Data(credentials.utf8).base64EncodedString())"))
        return try await next.execute(again)
    }
}
