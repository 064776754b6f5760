/// The attribute that replaces the idempotence of the method.
enum Idempotence: RequestAttributes.Key {
    typealias Value = Bool
}

extension PreparedRequest {
    /// Whether several identical requests have the same intended effect as one, so that the request can be sent again
    /// even if the server may have received it (RFC 9110 §9.2.2).
    ///
    /// The default is ``HTTPMethod/isIdempotent`` of the method. Retry middleware and the executors respect it.
    public var isIdempotent: Bool {
        get {
            // Few requests have attributes, and most are GET.
            if hasAttributes, let isIdempotent = attributes[Idempotence.self] { return isIdempotent }
            return method == .get || method.isIdempotent
        }
        set { attributes[Idempotence.self] = newValue }
    }
}
