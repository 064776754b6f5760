/// The rules for following redirects, and for what the next request keeps (RFC 9110 §15.4).
public struct RedirectPolicy: Hashable, Sendable {
    /// The maximum number of redirects that are followed before the call fails; the default is 20.
    ///
    /// With zero or a negative value, no redirect is followed and a 3xx response is delivered.
    public var limit: Int

    /// Whether redirects from https to http are followed; the default is false.
    public var allowsDowngrade: Bool

    /// The names of fields that are removed when a redirect leads to another origin, and redacted in descriptions of
    /// the request, in addition to the names in ``Redaction/standard``.
    public var sensitiveFields: Set<Field.Name>

    /// Whether a POST request keeps its method and body after a 301 or 302 response; the default is false.
    ///
    /// If false, it becomes a GET request without a body. Both are allowed (RFC 9110 §15.4.2, §15.4.3). After 303 every
    /// method but HEAD becomes GET; 307 and 308 always keep the method.
    public var preservesMethod: Bool

    /// The maximum number of bytes to read from the body of a followed redirect; the default is 64 KiB.
    ///
    /// The body is read so that its connection can be reused. A redirect is followed even if its body cannot be read: a
    /// body that is longer, late, truncated or malformed only closes its connection, or resets its HTTP/2 stream.
    /// With zero or a negative value, nothing is read. A redirect that is not followed is delivered like any other
    /// response.
    public var drainLimit: Int

    /// The time limit for reading the body of a followed redirect; the default is 1 s.
    public var drainTimeout: Duration

    /// Creates a policy; the defaults are the values of ``standard``.
    public init(
        limit: Int = 20, allowsDowngrade: Bool = false, sensitiveFields: Set<Field.Name> = [],
        preservesMethod: Bool = false, drainLimit: Int = 64 << 10, drainTimeout: Duration = .seconds(1)
    ) {
        self.limit = limit
        self.allowsDowngrade = allowsDowngrade
        self.sensitiveFields = sensitiveFields
        self.preservesMethod = preservesMethod
        self.drainLimit = drainLimit
        self.drainTimeout = drainTimeout
    }

    /// A policy that follows up to 20 redirects, none of them from https to http.
    public static var standard: RedirectPolicy { RedirectPolicy() }

    /// A policy that follows no redirects and delivers a 3xx response.
    public static var none: RedirectPolicy { RedirectPolicy(limit: 0) }
}
