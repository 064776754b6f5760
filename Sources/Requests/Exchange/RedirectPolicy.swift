/// Which redirects are followed, and what goes with the request when one is (RFC 9110 §15.4).
public struct RedirectPolicy: Hashable, Sendable {
    /// How many redirects are followed before the call fails; 20.
    ///
    /// Zero follows none and hands the 3xx over.
    public var limit: Int

    /// Whether a redirect from https to http is followed; it is not unless set.
    public var allowsDowngrade: Bool

    /// Fields besides those of ``Redaction/standard`` that stay with the origin they were meant for.
    public var secretFields: Set<Field.Name>

    /// Whether a POST that is answered with 301 or 302 is repeated as it was; it becomes a GET without a body unless set.
    ///
    /// Both are allowed (RFC 9110 §15.4.2, §15.4.3); 303 asks for a GET, and 307 and 308 always keep the method.
    public var keepsMethod: Bool

    /// The number of bytes of a followed redirect's body that are read, so that its connection can be used again; 64 KiB.
    ///
    /// A redirect is followed whatever becomes of its body: one that is longer, late, cut short or malformed closes its
    /// connection. Zero and negative values read nothing. A redirect that is not followed is a response like any other.
    public var drainLimit: Int

    /// The time that reading the body of a followed redirect may take; 1 s.
    public var drainTimeout: Duration

    /// A policy of the values given.
    public init(
        limit: Int = 20, allowsDowngrade: Bool = false, secretFields: Set<Field.Name> = [], keepsMethod: Bool = false,
        drainLimit: Int = 64 << 10, drainTimeout: Duration = .seconds(1)
    ) {
        self.limit = limit
        self.allowsDowngrade = allowsDowngrade
        self.secretFields = secretFields
        self.keepsMethod = keepsMethod
        self.drainLimit = drainLimit
        self.drainTimeout = drainTimeout
    }

    /// Follows up to 20 redirects, none from https to http.
    public static var standard: RedirectPolicy { RedirectPolicy() }

    /// Follows none: a 3xx is the answer.
    public static var none: RedirectPolicy { RedirectPolicy(limit: 0) }
}
