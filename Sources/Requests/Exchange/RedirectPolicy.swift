/// Which redirects are followed, and what goes with the request when one is (RFC 9110 §15.4).
public struct RedirectPolicy: Hashable, Sendable {
    /// How many redirects are followed before the call fails; 20.
    ///
    /// Zero follows none and hands the 3xx over.
    public var limit: Int

    /// Whether a redirect from https to http is followed; it is not unless set.
    public var allowsDowngrade: Bool

    /// Fields besides Authorization, Proxy-Authorization and Cookie that never leave the origin they were meant for.
    public var secretFields: Set<Field.Name>

    /// Whether a POST that is answered with 301 or 302 is repeated as it was; it becomes a GET without a body unless set.
    ///
    /// Both are allowed (RFC 9110 §15.4.2, §15.4.3); 303 asks for a GET, and 307 and 308 always keep the method.
    public var keepsMethod: Bool

    /// A policy of the values given.
    public init(
        limit: Int = 20, allowsDowngrade: Bool = false, secretFields: Set<Field.Name> = [], keepsMethod: Bool = false
    ) {
        self.limit = limit
        self.allowsDowngrade = allowsDowngrade
        self.secretFields = secretFields
        self.keepsMethod = keepsMethod
    }

    /// Follows up to 20 redirects, none from https to http.
    public static var standard: RedirectPolicy { RedirectPolicy() }

    /// Follows none: a 3xx is the answer.
    public static var none: RedirectPolicy { RedirectPolicy(limit: 0) }
}
