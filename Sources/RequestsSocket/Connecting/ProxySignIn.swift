import Requests

/// The credentials of one request to a proxy, and the rules for its challenges.
///
/// A request is sent at most three times, whatever the proxy and the authenticator do: once without a challenge, once
/// after a challenge to a request without credentials, and once after a rejection of credentials.
struct ProxySignIn: Sendable {
    /// The credentials of one transmission, and the authenticator that created them.
    private struct Attempt: Sendable {
        let fieldValue: String?
        let handle: @Sendable (ResponseHead) throws(RequestError) -> Bool
        let receive: @Sendable (ResponseHead) throws(RequestError) -> Void
    }

    private let authenticator: any AuthenticationChallenge.ProxyAuthenticator
    private let request: AuthenticationChallenge.ProxyRequest
    private var attempt: Attempt
    private var hasHandledChallenge = false
    private var hasHandledRejection = false

    /// Obtains credentials for the first transmission.
    init(
        _ authenticator: any AuthenticationChallenge.ProxyAuthenticator,
        for request: AuthenticationChallenge.ProxyRequest
    ) throws(RequestError) {
        self.authenticator = authenticator
        self.request = request
        attempt = try Self.attempt(authenticator, request)
    }

    /// The value of Proxy-Authorization for the next transmission; nil for none.
    var fieldValue: String? { attempt.fieldValue }

    /// Returns whether to send the request again, with new credentials, after a response with `head`.
    mutating func continues(after head: ResponseHead) throws(RequestError) -> Bool {
        guard head.status == .proxyAuthenticationRequired else {
            try attempt.receive(head)
            return false
        }
        guard mayHandleChallenge(), try attempt.handle(head) else { return false }
        try renew()
        return attempt.fieldValue != nil
    }

    /// Obtains credentials for another transmission.
    mutating func renew() throws(RequestError) {
        attempt = try Self.attempt(authenticator, request)
    }

    /// Returns whether this 407 may be handled, and counts it.
    ///
    /// At most one challenge and one rejection of credentials are handled.
    private mutating func mayHandleChallenge() -> Bool {
        if attempt.fieldValue == nil {
            defer { hasHandledChallenge = true }
            return !hasHandledChallenge
        }
        defer { hasHandledRejection = true }
        return !hasHandledRejection
    }

    private static func attempt<A: AuthenticationChallenge.ProxyAuthenticator>(
        _ authenticator: A, _ request: AuthenticationChallenge.ProxyRequest
    ) throws(RequestError) -> Attempt {
        let (value, token) = try authenticator.proxyCredentials(for: request)
        // A control character could end the field line.
        if let value, value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw RequestError(.invalidRequest(.invalidProxy), detail: "credentials with a control character")
                .beforeSending()
        }
        return Attempt(
            fieldValue: value,
            handle: { head throws(RequestError) in
                try authenticator.handleChallenge(in: head, to: request, token: token)
            },
            receive: { head throws(RequestError) in
                try authenticator.receive(fromProxy: head, for: request, token: token)
            })
    }
}
