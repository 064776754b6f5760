/// The attribute that overrides the idempotence of the method.
enum Idempotence: RequestAttributes.Key {
    typealias Value = Bool
}

extension PreparedRequest {
    /// Whether repeating the request has the same intended effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// If so, it can be sent again even if the server may have received it.
    ///
    /// The default is the method's ``HTTPMethod/isIdempotent``. Retry middleware and the executors respect it. Hedging
    /// needs a safe method, or an explicit true.
    public var isIdempotent: Bool {
        get {
            // Most requests are GET.
            declaredIdempotence ?? (method == .get || method.isIdempotent)
        }
        set { attributes[Idempotence.self] = newValue }
    }

    /// The idempotence that the request declares; nil if its method determines it.
    package var declaredIdempotence: Bool? {
        // Few requests have attributes.
        hasAttributes ? attributes[Idempotence.self] : nil
    }
}
