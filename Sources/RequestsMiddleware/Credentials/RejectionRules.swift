/// The rules for handling rejections of one request (PM-91): a 401 once, a 403 once, and no 401 after a handled 403.
///
/// Each authenticator in a chain has its own rules, which continue when an authenticator before it repeats the request:
/// `n` authenticators send a request at most `1 + 3 × n` times.
struct RejectionRules {
    enum Rejection: Hashable {
        case unauthorized, forbidden
    }

    private var hasHandledChallenge = false
    private var hasHandledUnauthorized = false
    private var hasHandledForbidden = false

    /// Creates the rules after `earlier` repetitions, some of which `authenticator` may have caused.
    init(after earlier: [RawResponse.Metrics.Retry], of authenticator: some Authenticator) {
        for repetition in earlier {
            guard case .rejected(let status) = repetition.cause, let handler = repetition.handler,
                handler.authenticator == ObjectIdentifier(authenticator)
            else { continue }
            _ = rejection(by: status, ofCredentials: handler.hadCredentials)
        }
    }

    /// Returns the rejection to handle after a response with `status`; nil if the response is final.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - hasCredentials: Whether the request had credentials; without them a 401 is a challenge, not a rejection.
    /// - Returns: The rejection, which then counts as handled.
    mutating func rejection(by status: HTTPStatus, ofCredentials hasCredentials: Bool) -> Rejection? {
        switch status.code {
        case 401 where hasHandledForbidden: return nil
        case 401 where !hasCredentials:
            guard !hasHandledChallenge else { return nil }
            hasHandledChallenge = true
            return .unauthorized
        case 401:
            guard !hasHandledUnauthorized else { return nil }
            hasHandledUnauthorized = true
            return .unauthorized
        case 403:
            guard !hasHandledForbidden else { return nil }
            hasHandledForbidden = true
            return .forbidden
        default: return nil
        }
    }
}
