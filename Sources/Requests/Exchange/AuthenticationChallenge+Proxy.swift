extension AuthenticationChallenge {
    /// The parts of a request to a proxy that its credentials can depend on.
    public struct ProxyRequest: Sendable {
        /// The scheme, host and port of the proxy, such as `http://proxy.example:3128`.
        public var proxy: String

        /// The method: CONNECT for a tunnel.
        public var method: HTTPMethod

        /// The request target as it is sent: the host and port for a tunnel, or the whole URI (RFC 9112 §3.2).
        public var target: String

        /// The body; nil if it is a file or a stream.
        public var body: Data?

        /// Creates a request from its parts, which are not checked.
        ///
        /// - Parameters:
        ///   - proxy: The scheme, host and port of the proxy.
        ///   - method: The method.
        ///   - target: The request target as it is sent.
        ///   - body: The body; nil for a file or a stream. The default is an empty body.
        public init(to proxy: String, method: HTTPMethod, target: String, body: Data? = Data()) {
            self.proxy = proxy
            self.method = method
            self.target = target
            self.body = body
        }
    }

    /// A type that signs in to proxies: it provides the values of Proxy-Authorization, and handles the challenges of
    /// 407 responses (RFC 9110 §11.7).
    ///
    /// An executor calls it for each request that the proxy reads: each http request and each CONNECT. The executor
    /// sends a request at most three times because of 407 responses: it repeats the request once if it had no
    /// credentials, and once if it had. Many requests use one authenticator at the same time, and one authenticator can
    /// serve several proxies, whose challenges are independent.
    public protocol ProxyAuthenticator: AnyObject, Sendable {
        /// The type of a value that identifies the credentials of one request, such as the nonce of a challenge.
        associatedtype ProxyToken: Sendable

        /// Returns the value of Proxy-Authorization for `request`, with a token that identifies the credentials.
        ///
        /// - Returns: The value, or nil to send the request without credentials, because the proxy must send a
        ///   challenge first; and the token. A value with a control character fails with
        ///   ``RequestError/InvalidRequest/invalidProxy``, and nothing is sent.
        /// - Throws: ``RequestError``, typically with the reason `credentialsUnavailable`; nothing is sent.
        func proxyCredentials(
            for request: ProxyRequest
        ) throws(RequestError) -> (fieldValue: String?, token: ProxyToken)

        /// Handles the head of a response with status 407 to `request`.
        ///
        /// - Returns: Whether to send the request again with new credentials; false makes the response final. The
        ///   response is final as well if ``proxyCredentials(for:)`` then returns no value.
        /// - Throws: ``RequestError``, which ends the request.
        func handleChallenge(
            in response: ResponseHead, to request: ProxyRequest, token: ProxyToken
        ) throws(RequestError) -> Bool

        /// Receives the head of each response to `request` with another status.
        ///
        /// - Throws: ``RequestError`` if the response proves that the proxy does not know the credentials, which ends
        ///   the request.
        func receive(
            fromProxy response: ResponseHead, for request: ProxyRequest, token: ProxyToken
        ) throws(RequestError)
    }
}
