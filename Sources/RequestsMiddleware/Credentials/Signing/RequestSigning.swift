internal import RequestsPOSIX

/// Middleware that signs requests; see ``/Requests/RequestExecutor/signing(with:within:)``.
package struct RequestSigning: Middleware {
    /// One reference, so that an executor with this middleware is small enough to be passed without an allocation.
    private let settings: Settings

    private final class Settings: Sendable {
        let signer: RequestSigner
        let scope: CredentialScope

        init(_ signer: RequestSigner, _ scope: CredentialScope) {
            self.signer = signer
            self.scope = scope
        }
    }

    private var signer: RequestSigner { settings.signer }
    private var scope: CredentialScope { settings.scope }

    /// The environment whose base URL a request must be at or below; its other properties are not used.
    package var environment: RequestEnvironment { scope.environment }

    /// Creates the middleware with `signer` for requests at or below the base URL of `environment`.
    package init(with signer: RequestSigner, within environment: RequestEnvironment) {
        settings = Settings(signer, CredentialScope(environment))
    }

    /// Returns `next` without ``/Requests/ExecutorTraits/streamsEncodedBodies``, and with the trait of middleware that
    /// adds credentials.
    package func traits(before next: ExecutorTraits) -> ExecutorTraits {
        next.subtracting(.streamsEncodedBodies).union(.addsCredentials)
    }

    /// Signs `request` and performs it with `next`.
    ///
    /// - Throws: `RequestError`: the error of `next`; or, before anything is sent, the error of the signer, or
    ///   `credentialsUnavailable` with ``CredentialError/ambiguousPath``.
    package func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        switch scope.position(of: request) {
        case .inside: break
        case .outside: return try await next.execute(request)
        case .ambiguous:
            let cause = CredentialError.ambiguousPath
            throw RequestError(.credentialsUnavailable, detail: cause.description, underlying: cause)
                .beforeSending().adding(request: request)
        }
        return try await next.execute(signer.signed(request).withSecretFields(addedTo: request))
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that signs each request as it will be sent, with all fields and the body.
    ///
    /// Add it first. Middleware that is added before it changes requests after they were signed, and sends the same
    /// signature again; servers reject both.
    public func signing(
        with signer: RequestSigner, within environment: RequestEnvironment
    ) -> Intercepted {
        intercepted(by: RequestSigning(with: signer, within: environment))
    }
}

extension Client {
    /// Returns this client with middleware that signs requests at or below the base URL of its API.
    ///
    /// ```swift
    /// let client = Client(api, executor: SocketExecutor())
    ///     .signing(with: signer)
    ///     .authenticating(with: .bearerToken(token))
    /// ```
    ///
    /// Add it first: middleware that the client has already receives the signed request, and would change it or send
    /// the same signature again. Without a valid base URL every call fails before anything is sent.
    public func signing(with signer: RequestSigner) -> Client<API> {
        adding { $0.signing(with: signer, within: $1) }
    }
}
