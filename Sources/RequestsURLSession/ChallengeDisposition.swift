/// What becomes of an authentication challenge, by its method alone.
///
/// Credentials are a field of the request: a server that asks for others is answered by handing its 401 over. What
/// concerns the connection (ServerTrust, ClientCertificate) is not ours to refuse: then no https call would succeed.
package enum ChallengeDisposition: Hashable, Sendable {
    /// The challenge is refused, and the response that carries it is the answer.
    case reject
    /// The caller's handler decides, or the system when there is none.
    case handOver

    /// The disposition for `method`, one of Foundation's `NSURLAuthenticationMethod…` constants.
    package init(for method: String) {
        self = Self.ofHTTP.contains(method) ? .reject : .handOver
    }

    private static let ofHTTP: Set<String> = [
        NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
        NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
    ]
}
