/// A type that provides the credentials of requests as fields, and handles their rejection.
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor())
///     .authenticating(with: .basicAuth(username: "me", password: secret))
/// ```
///
/// The middleware of `authenticating(with:within:)` calls an authenticator for each request that is at or below the
/// base URL of its environment and has no credentials yet. An authenticator is an object, such as an actor, so that
/// `withoutCredentials(_:)` can suppress it and no other. Many requests use it at the same time.
public protocol Authenticator: AnyObject, Sendable {
    /// The type of a value that identifies the credentials of one request, such as the generation of a token.
    associatedtype Token: Sendable = Void

    /// Returns whether `request` already has credentials: it is then sent unchanged, and its response is not handled.
    ///
    /// It is called first. The default implementation returns whether the request has an Authorization field.
    func hasCredentials(_ request: PreparedRequest) -> Bool

    /// Returns the fields to add to `request`, with a token that identifies the credentials.
    ///
    /// - Parameter request: The request, with its body and all other fields.
    /// - Returns: The fields and the token. Without credentials, such as before the first challenge or before signing
    ///   in, the fields are empty: the request is sent as it is, and ``handleUnauthorized(_:)`` receives its 401.
    /// - Throws: `RequestError`, typically with the reason `credentialsUnavailable`; nothing is sent.
    func credentials(
        for request: PreparedRequest
    ) async throws(RequestError) -> (fields: Header, token: Token)

    /// Returns the same as ``credentials(for:)`` if that is possible without suspending; nil to have
    /// ``credentials(for:)`` called.
    ///
    /// The default implementation returns nil.
    ///
    /// - Throws: `RequestError`, as ``credentials(for:)``.
    func availableCredentials(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Token)?

    /// Handles a response with status 401 (Unauthorized), for example by renewing a token.
    ///
    /// It is called at most once for each request, and once more if the request had no fields of credentials. It is not
    /// called for a 401 that follows a handled 403. The default implementation returns false.
    ///
    /// - Returns: Whether to send the request again, with new credentials; false returns the response to the caller.
    /// - Throws: `RequestError`, which ends the call.
    func handleUnauthorized(_ failure: AuthenticationFailure<Token>) async throws(RequestError) -> Bool

    /// Handles a response with status 403 (Forbidden), in the same way; it is called at most once for each request.
    ///
    /// The default implementation returns false.
    ///
    /// - Returns: Whether to send the request again, with new credentials.
    /// - Throws: `RequestError`, which ends the call.
    func handleForbidden(_ failure: AuthenticationFailure<Token>) async throws(RequestError) -> Bool

    /// Receives the head of each response to a request with the credentials that `token` identifies.
    ///
    /// The default implementation does nothing.
    func receive(_ response: ResponseHead, token: Token)

    /// Checks whether a response proves that the server knows the credentials, for example with a digest.
    ///
    /// It is called before ``receive(_:token:)``. The default implementation accepts every response.
    ///
    /// - Throws: `RequestError`, which ends the call in place of the response.
    func verify(_ response: RawResponse, token: Token) throws(RequestError)
}

extension Authenticator {
    /// Returns whether the request has an Authorization field.
    public func hasCredentials(_ request: PreparedRequest) -> Bool { request.header.contains(.authorization) }

    /// Returns nil: ``credentials(for:)`` must be called.
    public func availableCredentials(
        for request: PreparedRequest
    ) throws(RequestError) -> (fields: Header, token: Token)? { nil }

    /// Returns false.
    public func handleUnauthorized(
        _ failure: AuthenticationFailure<Token>
    ) async throws(RequestError) -> Bool { false }

    /// Returns false.
    public func handleForbidden(
        _ failure: AuthenticationFailure<Token>
    ) async throws(RequestError) -> Bool { false }

    /// Does nothing.
    public func receive(_ response: ResponseHead, token: Token) {}

    /// Accepts every response.
    public func verify(_ response: RawResponse, token: Token) throws(RequestError) {}
}

/// A response that rejects a request with credentials.
public struct AuthenticationFailure<Token: Sendable>: Sendable {
    /// The request as it was sent, with the fields of its credentials.
    public let request: PreparedRequest

    /// The head of the response.
    public let response: ResponseHead

    /// The body of the response if it is in memory; nil for a streamed body.
    public let body: Data?

    /// The token of the credentials.
    public let token: Token

    /// Whether middleware behind the authenticator, such as a retry, sent the request several times.
    ///
    /// Credentials that can be used once, such as a nonce count of Digest, may have been rejected for that reason only.
    public let wasRepeated: Bool
}

extension AuthenticationFailure: CustomReflectable {
    /// The mirror that `dump` prints: the request and the status, without the token.
    public var customMirror: Mirror { Mirror(self, children: ["request": request, "status": response.status]) }
}
