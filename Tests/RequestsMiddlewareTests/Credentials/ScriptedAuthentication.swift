@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import Testing

/// An executor that responds with the statuses of a script, then with the last one, and counts its requests.
func scripted(_ statuses: [Int]) -> MockExecutor {
    let remaining = Lock(statuses)
    return MockExecutor { _ in
        let status = remaining.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return .status(HTTPStatus(status))
    }
}

/// An authenticator that numbers its tokens, and handles the rejections it is created for.
final class NumberedTokens: Authenticator {
    private let count = Lock(0)
    private let handlesUnauthorized: Bool
    private let handlesForbidden: Bool

    /// The number of tokens that were requested.
    var made: Int { count.withLock { $0 } }

    init(handlesUnauthorized: Bool = true, handlesForbidden: Bool = true) {
        self.handlesUnauthorized = handlesUnauthorized
        self.handlesForbidden = handlesForbidden
    }

    func credentials(for request: PreparedRequest) async throws(RequestError) -> (fields: Header, token: Int) {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return ([Field(name: .authorization, value: "Bearer planted-\(number)")], number)
    }

    func handleUnauthorized(_ failure: AuthenticationFailure<Int>) async throws(RequestError) -> Bool {
        handlesUnauthorized
    }

    func handleForbidden(_ failure: AuthenticationFailure<Int>) async throws(RequestError) -> Bool {
        handlesForbidden
    }
}

/// Middleware that sends a request again after a 503, at most `limit` times.
struct RetryingUnavailable: Middleware {
    var limit = 2

    func intercept(_ request: PreparedRequest, next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        var response = try await next.execute(request)
        for _ in 0..<limit where response.head.status == 503 { response = try await next.execute(request) }
        return response
    }
}

extension MockExecutor {
    /// The Authorization fields of the recorded requests; nil for those without one.
    var sentAuthorizations: [String?] { recordedRequests.map { $0.header[.authorization] } }
}

/// Returns the result of `body`, run on a thread of its own, as blocking calls must be.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try DetachedThread.start(named: "caller") { continuation.resume(with: Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
