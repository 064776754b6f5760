extension RequestError {
    /// The reason why the certificate of a server was refused.
    @nonexhaustive
    public enum CertificateProblem: Hashable, Sendable {
        /// A certificate of the chain has expired.
        case expired
        /// A certificate of the chain is not valid yet.
        case notYetValid
        /// No trusted certificate has issued the certificate, or an intermediate certificate is missing.
        case unknownIssuer
        /// The certificate is signed with its own key, and is not trusted.
        case selfSigned
        /// The names in the certificate do not include the host (RFC 9525).
        case nameMismatch
        /// A key is too short, or a signature uses a broken hash function.
        case weak
        /// The chain is valid, but contains none of the fingerprints pinned for the host.
        case notPinned
        /// ``TLSConfiguration/serverCheck`` refused the certificate.
        case refusedByCheck
        /// Another reason; see ``RequestError/detail``.
        case other
    }
}

extension RequestError.CertificateProblem: CustomStringConvertible {
    /// The problem in a few words.
    public var description: String {
        switch self {
        case .expired: "expired"
        case .notYetValid: "not valid yet"
        case .unknownIssuer: "unknown issuer"
        case .selfSigned: "self-signed"
        case .nameMismatch: "host name mismatch"
        case .weak: "too weak"
        case .notPinned: "not pinned"
        case .refusedByCheck: "refused by the app"
        case .other: "invalid"
        }
    }
}
