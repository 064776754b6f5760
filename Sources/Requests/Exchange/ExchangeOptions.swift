/// Options of an exchange that few requests use; an option that is not set costs nothing.
extension RequestAttributes {
    /// The time limit for waiting for 100 (Continue) before the body is sent; nil sends the body immediately.
    ///
    /// With a limit, a request that has content includes `Expect: 100-continue` (RFC 9110 §10.1.1). The body is sent
    /// when the server responds with 100 (Continue), or when the limit has passed, because servers may ignore the
    /// expectation. A negative limit counts as zero. If a final response arrives first, such as 401, 413 or 417, the
    /// body is not sent and the connection is closed.
    public var continueTimeout: Duration? {
        get { self[ContinueTimeoutKey.self] }
        set { self[ContinueTimeoutKey.self] = newValue }
    }

    /// The trailer fields to send after the body; nil for none.
    public var trailers: PreparedRequest.Trailers? {
        get { self[TrailersKey.self] }
        set { self[TrailersKey.self] = newValue }
    }

    /// Whether a GET or HEAD request may have a body; the default is false.
    ///
    /// Such a body has no defined meaning (RFC 9110 §9.3.1, §9.3.2), and servers and caches may ignore or reject it.
    /// Some APIs require it for searches. TRACE never has a body. URLSession cannot send such a body, so its executor
    /// fails with ``RequestError/InvalidRequest/bodyNotAllowed`` before anything is sent.
    public var allowsBody: Bool {
        get { self[AllowsBodyKey.self] ?? false }
        set { self[AllowsBodyKey.self] = newValue }
    }

    /// A function that receives each interim response (1xx) as it arrives, such as 103 (Early Hints) with its Link
    /// fields (RFC 8297).
    ///
    /// The exchange waits for the function, so it must return quickly.
    public var interimResponseHandler: (@Sendable (ResponseHead) -> Void)? {
        get { self[InterimResponseHandler.self]?.handle }
        set { self[InterimResponseHandler.self] = newValue.map(InterimResponseHandler.init) }
    }

    private enum ContinueTimeoutKey: RequestAttributes.Key { typealias Value = Duration }
    private enum AllowsBodyKey: RequestAttributes.Key { typealias Value = Bool }
    private enum TrailersKey: RequestAttributes.Key { typealias Value = PreparedRequest.Trailers }
    /// The handler; the type is also its key.
    private struct InterimResponseHandler: RequestAttributes.Key, Sendable {
        typealias Value = Self
        let handle: @Sendable (ResponseHead) -> Void
    }
}

extension PreparedRequest {
    /// The time limit for waiting for 100 (Continue); see ``RequestAttributes/continueTimeout``.
    public var continueTimeout: Duration? {
        get { hasAttributes ? attributes.continueTimeout : nil }
        set { attributes.continueTimeout = newValue }
    }

    /// The trailer fields to send after the body; nil for none.
    public var trailers: PreparedRequest.Trailers? {
        get { hasOwnAttributes ? attributes.trailers : nil }
        set { attributes.trailers = newValue }
    }

    /// Whether a GET or HEAD request may have a body; see ``RequestAttributes/allowsBody``.
    public var allowsBody: Bool {
        get { hasAttributes && attributes.allowsBody }
        set { attributes.allowsBody = newValue }
    }

    /// A function that receives each interim response (1xx); see ``RequestAttributes/interimResponseHandler``.
    public var interimResponseHandler: (@Sendable (ResponseHead) -> Void)? {
        get { hasAttributes ? attributes.interimResponseHandler : nil }
        set { attributes.interimResponseHandler = newValue }
    }

    /// Returns whether both requests have the same continue timeout and the same trailers.
    func hasSameOptions(as other: PreparedRequest) -> Bool {
        guard continueTimeout == other.continueTimeout else { return false }
        switch (trailers, other.trailers) {
        case (nil, nil): return true
        case (let own?, let others?): return own.isEqual(to: others)
        default: return false
        }
    }
}
