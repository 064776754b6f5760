/// The treatment of an authentication challenge; it depends only on the challenge's method.
///
/// Credentials are a header field of the request. So a server that requests them in another way gets no response to its
/// challenge, and the 401 is returned. Challenges about the connection (ServerTrust, ClientCertificate) must not be
/// rejected: every https call would fail.
package enum ChallengeDisposition: Hashable, Sendable {
    /// The challenge is rejected, and the response that contains it is the result of the call.
    case reject
    /// The caller's handler decides; without one, the system does.
    case deferToHandler

    /// Creates the disposition for `method`, one of Foundation's `NSURLAuthenticationMethod…` constants.
    package init(for method: String) {
        self = Self.httpMethods.contains(method) ? .reject : .deferToHandler
    }

    private static let httpMethods: Set<String> = [
        NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
        NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
    ]
}
