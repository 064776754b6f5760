extension RequestExecutor {
    /// Returns this executor with the middleware of this product in the recommended order.
    ///
    /// A request passes through the authenticator, the retry, the hedging, the resumption of downloads, the content
    /// codings and the signer, in this order, and then to this executor. So a retry sends the same credentials again and
    /// is not consulted about a 401 that the authenticator handles, and each request is signed as it is sent.
    ///
    /// - Parameters:
    ///   - environment: The environment whose base URL a request must be at or below to have credentials and a
    ///     signature.
    ///   - authenticator: The credentials; nil for none.
    ///   - policy: The retry policy of requests that have none of their own; nil to repeat nothing.
    ///   - hedgingDelay: The time after which a second request is sent if there is no response; nil for never.
    ///   - budget: The limit on the retries and the second requests of all calls together.
    ///   - signer: The signature; nil for none.
    ///   - clock: The sources of time and randomness for retries.
    /// - Returns: The executor with the middleware.
    public func withStandardMiddleware(
        within environment: RequestEnvironment, authenticator: (any Authenticator)? = nil,
        retrying policy: RetryPolicy? = .standard, hedgingAfter hedgingDelay: Duration? = nil,
        budget: RetryBudget = RetryBudget(), signer: RequestSigner? = nil, clock: Retrying.Clock = .system
    ) -> any RequestExecutor {
        var executor: any RequestExecutor = self
        if let signer { executor = executor.signing(with: signer, within: environment) }
        executor = executor.decodingContent()
        executor = executor.resumingDownloads()
        if let hedgingDelay { executor = executor.hedging(after: hedgingDelay, budget: budget, clock: clock) }
        if let policy { executor = executor.retrying(policy, budget: budget, clock: clock) }
        if let authenticator { executor = executor.authenticating(with: authenticator, within: environment) }
        return executor
    }
}

extension Client {
    /// Returns this client with the middleware of this product in the recommended order.
    ///
    /// ```swift
    /// let client = Client(api, executor: SocketExecutor())
    ///     .withStandardMiddleware(authenticator: authenticator)
    /// ```
    ///
    /// It is that of the same function of an executor, for the base URL of the API. Without a valid base URL no request
    /// can be sent, and the client is returned unchanged.
    ///
    /// - Parameters:
    ///   - authenticator: The credentials; nil for none.
    ///   - policy: The retry policy of requests that have none of their own; nil to repeat nothing.
    ///   - hedgingDelay: The time after which a second request is sent if there is no response; nil for never.
    ///   - budget: The limit on the retries and the second requests of all calls together.
    ///   - signer: The signature; nil for none.
    ///   - clock: The sources of time and randomness for retries.
    /// - Returns: The client with the middleware.
    public func withStandardMiddleware(
        authenticator: (any Authenticator)? = nil, retrying policy: RetryPolicy? = .standard,
        hedgingAfter hedgingDelay: Duration? = nil, budget: RetryBudget = RetryBudget(),
        signer: RequestSigner? = nil, clock: Retrying.Clock = .system
    ) -> Client<API> {
        guard let environment = RequestEnvironment(baseURL: api.baseURL) else { return self }
        return Client(
            api,
            executor: executor.withStandardMiddleware(
                within: environment, authenticator: authenticator, retrying: policy,
                hedgingAfter: hedgingDelay, budget: budget, signer: signer, clock: clock))
    }
}
