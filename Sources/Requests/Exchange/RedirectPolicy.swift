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

    /// A policy of the values given.
    public init(limit: Int = 20, allowsDowngrade: Bool = false, secretFields: Set<Field.Name> = []) {
        self.limit = limit
        self.allowsDowngrade = allowsDowngrade
        self.secretFields = secretFields
    }

    /// Follows up to 20 redirects, none from https to http.
    public static var standard: RedirectPolicy { RedirectPolicy() }

    /// Follows none: a 3xx is the answer.
    public static var none: RedirectPolicy { RedirectPolicy(limit: 0) }
}
