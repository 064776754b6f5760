extension RequestExecutor {
    /// Returns this executor with middleware that adds the credentials of `authenticator`, and sends a request again
    /// after the authenticator has handled its rejection.
    ///
    /// Credentials are added to requests at or below the base URL of `environment`; the rule also applies to the target
    /// of each redirect. They are never sent to another origin, nor after the call has left the origin of its first
    /// request. A request that already has an Authorization field, or another field of the authenticator, is sent
    /// unchanged, and its response is not handled.
    ///
    /// A 401 is handled once for each request and a 403 once; after a handled 403, a 401 is final. A request without
    /// fields of credentials, such as the first one of ``DigestAuthenticator``, may be challenged once in addition. So
    /// one request is sent at most 4 times: 1 + a challenge + a 401 + a 403. With `n` authenticators in one chain, a
    /// request is sent at most 1 + 3 × `n` times. The last response is returned, whatever its status is. A body that
    /// can be sent only once cannot be sent again; the call then fails with `bodyNotReplayable` and the rejecting
    /// response.
    ///
    /// Add it after `retrying(_:budget:clock:)` and `signing(with:within:)`. If a retry is added later, each attempt
    /// repeats the handling of rejections. If a signature is added later, it does not cover the credentials of the
    /// requests that the authenticator sends again.
    public func authenticating<A: Authenticator>(
        with authenticator: A, within environment: RequestEnvironment
    ) -> Intercepted {
        intercepted(by: Authentication(with: authenticator, within: environment))
    }
}

extension Client {
    /// Returns this client with the credentials of `authenticator` for requests at or below the base URL of its API.
    ///
    /// Without a valid base URL every call fails before anything is sent.
    public func authenticating(with authenticator: some Authenticator) -> Client<API> {
        adding { $0.authenticating(with: authenticator, within: $1) }
    }
}
