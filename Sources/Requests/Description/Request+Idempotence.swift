extension Request {
    /// Whether repeating the request has the same intended effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// If so, it can be sent again even if the server may have received it.
    ///
    /// The default is ``HTTPMethod/isIdempotent`` of the method.
    public var isIdempotent: Bool {
        get { attributes[Idempotence.self] ?? method.isIdempotent }
        set { attributes[Idempotence.self] = newValue }
    }

    /// Returns this request, treated as idempotent or not, whatever its method is.
    ///
    /// Use this for a POST that the server recognizes when it arrives twice, such as one with an Idempotency-Key, and
    /// `idempotent(false)` for a GET with side effects. Hedging applies to requests with a safe method, and to those
    /// that are declared idempotent here.
    public consuming func idempotent(_ isIdempotent: Bool = true) -> Self {
        self.isIdempotent = isIdempotent
        return self
    }

    /// Removes the explicit value, so that the method determines the idempotence again.
    mutating func resetIdempotence() {
        attributes[Idempotence.self] = nil
    }
}
