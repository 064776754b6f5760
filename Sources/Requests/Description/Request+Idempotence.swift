extension Request {
    /// Whether several identical requests have the same intended effect as one, so that the request can be sent again
    /// even if the server may have received it (RFC 9110 §9.2.2).
    ///
    /// The default is ``HTTPMethod/isIdempotent`` of the method.
    public var isIdempotent: Bool {
        get { attributes[Idempotence.self] ?? method.isIdempotent }
        set { attributes[Idempotence.self] = newValue }
    }

    /// Returns this request, treated as idempotent or not, whatever its method is.
    ///
    /// Use this for a POST that the server recognizes when it arrives twice, such as one with an Idempotency-Key, and
    /// `idempotent(false)` for a GET with side effects.
    public consuming func idempotent(_ isIdempotent: Bool = true) -> Self {
        self.isIdempotent = isIdempotent
        return self
    }

    /// Removes the idempotence that was set, so that the method determines it again.
    mutating func resetIdempotence() {
        attributes[Idempotence.self] = nil
    }
}
