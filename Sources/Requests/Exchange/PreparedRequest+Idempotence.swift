/// The attribute that overrides the idempotence of the method.
enum Idempotence: RequestAttributes.Key {
    typealias Value = Bool
}

extension PreparedRequest {
    /// Whether repeating the request has the same intended effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// If so, it can be sent again even if the server may have received it.
    ///
    /// The default is the method's ``HTTPMethod/isIdempotent``. Retry middleware and the executors respect it.
    public var isIdempotent: Bool {
        get {
            // Few requests have attributes, and most are GET.
            if hasAttributes, let isIdempotent = attributes[Idempotence.self] { return isIdempotent }
            return method == .get || method.isIdempotent
        }
        set { attributes[Idempotence.self] = newValue }
    }
}
