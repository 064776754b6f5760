extension RequestExecutor {
    /// Returns this executor with the credentials of `authenticator` for requests at or below the base URL of
    /// `environment`.
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
