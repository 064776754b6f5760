/// Parts of an exchange that few requests ask for; what is not asked for costs nothing.
extension RequestAttributes {
    /// How long to wait for the server to ask for the body with 100 (Continue); nil sends the body at once.
    ///
    /// With a wait, the request says `Expect: 100-continue` if it has content (RFC 9110 §10.1.1). The body is sent when
    /// the server asks for it, or when the wait, of which zero is the shortest, has passed: servers may ignore the
    /// expectation. A final status that comes before, such as 401, 413 or 417, is the answer: the body is not sent, and
    /// the connection is closed.
    public var continueWait: Duration? {
        get { self[ContinueWait.self] }
        set { self[ContinueWait.self] = newValue }
    }

    /// The fields to send after the body; nil for none.
    public var trailers: RequestTrailers? {
        get { self[Trailers.self] }
        set { self[Trailers.self] = newValue }
    }

    /// Told of each interim response (1xx) as it comes, such as 103 (Early Hints) with its Link fields (RFC 8297).
    ///
    /// It runs on the exchange's own path and should return soon.
    public var onInterimResponse: (@Sendable (ResponseHead) -> Void)? {
        get { self[InterimObserver.self]?.observe }
        set { self[InterimObserver.self] = newValue.map(InterimObserver.init) }
    }

    private enum ContinueWait: RequestAttributeKey { typealias Value = Duration }
    private enum Trailers: RequestAttributeKey { typealias Value = RequestTrailers }
    private struct InterimObserver: RequestAttributeKey, Sendable {
        typealias Value = Self
        let observe: @Sendable (ResponseHead) -> Void
    }
}

extension PreparedRequest {
    /// How long to wait for 100 (Continue); see ``RequestAttributes/continueWait``.
    public var continueWait: Duration? {
        get { hasAttributes ? attributes.continueWait : nil }
        set { attributes.continueWait = newValue }
    }

    /// The fields to send after the body.
    public var trailers: RequestTrailers? {
        get { hasAttributes ? attributes.trailers : nil }
        set { attributes.trailers = newValue }
    }

    /// Told of each interim response (1xx).
    public var onInterimResponse: (@Sendable (ResponseHead) -> Void)? {
        get { hasAttributes ? attributes.onInterimResponse : nil }
        set { attributes.onInterimResponse = newValue }
    }

    /// Whether both ask for the same on the wire.
    func hasSameOptions(as other: PreparedRequest) -> Bool {
        guard continueWait == other.continueWait else { return false }
        switch (trailers, other.trailers) {
        case (nil, nil): return true
        case (let own?, let others?): return own.isEqual(to: others)
        default: return false
        }
    }
}

extension Request {
    /// This request asking the server whether it wants the body before sending it (`Expect: 100-continue`), and sending
    /// it after `wait` in any case.
    ///
    /// Worth a round trip where a large body is likely to be refused. See ``RequestAttributes/continueWait``.
    public consuming func expectingContinue(after wait: Duration = .seconds(1)) -> Self {
        attributes.continueWait = wait
        return self
    }

    /// This request with `trailers` sent after its body, in chunks.
    public consuming func sending(trailers: Header) -> Self {
        attributes.trailers = RequestTrailers(trailers)
        return self
    }

    /// This request with the fields of these `names`, which `make` gives when the body has been made, sent after it.
    public consuming func sending(
        trailers names: Field.Name..., from make: @escaping @Sendable () throws -> Header
    ) -> Self {
        attributes.trailers = RequestTrailers(names, make)
        return self
    }

    /// This request telling `observer` of each interim response (1xx), such as 103 (Early Hints).
    public consuming func onInterimResponse(_ observer: @escaping @Sendable (ResponseHead) -> Void) -> Self {
        attributes.onInterimResponse = observer
        return self
    }
}
