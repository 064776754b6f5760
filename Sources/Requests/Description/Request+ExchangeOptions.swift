extension Request {
    /// Returns this request with `Expect: 100-continue`, so that the server can refuse it before the body is sent.
    ///
    /// The body is sent when the server agrees, or after `wait` in any case. Use this for a large body that the server
    /// is likely to refuse, because it costs a round trip. See ``RequestAttributes/continueTimeout``.
    public consuming func expectingContinue(timeout wait: Duration = .seconds(1)) -> Self {
        attributes.continueTimeout = wait
        return self
    }

    /// Returns this request with a body allowed for GET and HEAD, which some APIs require for searches.
    ///
    /// ```swift
    /// api.get(.json(Hits.self), from: "/books/_search")
    ///     .sending(.json(query))
    ///     .allowingBody()
    /// ```
    ///
    /// See ``RequestAttributes/allowsBody`` for the restrictions.
    public consuming func allowingBody() -> Self {
        attributes.allowsBody = true
        return self
    }

    /// Returns this request with `trailers` sent after its body, which is sent chunked.
    public consuming func sending(trailers: Header) -> Self {
        attributes.trailers = PreparedRequest.Trailers(trailers)
        return self
    }

    /// Returns this request with trailer fields called `names`; `make` returns their values after the body was
    /// produced.
    ///
    /// See ``PreparedRequest/Trailers/init(_:_:)``.
    public consuming func sending(
        trailers names: Field.Name..., from make: @escaping @Sendable () throws -> Header
    ) -> Self {
        attributes.trailers = PreparedRequest.Trailers(names, make)
        return self
    }

    /// Returns this request with `observer` called for each interim response (1xx), such as 103 (Early Hints).
    public consuming func onInterimResponse(_ observer: @escaping @Sendable (ResponseHead) -> Void) -> Self {
        attributes.interimResponseHandler = observer
        return self
    }
}
