extension TLSConfiguration {
    /// The certificate authorities that may issue server certificates.
    ///
    /// A certificate that is trusted here ends a chain, whether it is a root, an intermediate, or the certificate of
    /// one server.
    public struct Trust: Sendable {
        /// The source of trusted certificates.
        package enum Source: Sendable {
            case system(readsEnvironment: Bool)
            case bytes(Data)
            case file(String)
        }

        /// The places where trusted certificates are found; all of them are used.
        package let sources: [Source]

        /// Whether chains and names are verified.
        package let isVerifying: Bool
    }
}

extension TLSConfiguration.Trust {
    /// The certificate authorities of the system; the environment is not read.
    public static let system = system(readsEnvironment: false)

    /// Returns trust in the certificate authorities of the system.
    ///
    /// - Parameter readsEnvironment: Whether the variables SSL_CERT_FILE and SSL_CERT_DIR replace the system's
    ///   certificate authorities. It is an error if the file, or all folders that they name, cannot be read.
    /// - Returns: The trust in these certificate authorities.
    public static func system(readsEnvironment: Bool) -> Self {
        Self(sources: [.system(readsEnvironment: readsEnvironment)], isVerifying: true)
    }

    /// Creates trust in certificates in memory.
    ///
    /// - Parameter bytes: One or more certificates as PEM (RFC 7468), or as DER one behind the other. Bytes that
    ///   contain no certificate, or an invalid one, are an error before anything is sent.
    /// - Returns: The trust in these certificates only.
    public static func certificates(_ bytes: Data) -> Self {
        Self(sources: [.bytes(bytes)], isVerifying: true)
    }

    /// Creates trust in certificates in a file.
    ///
    /// - Parameter path: The path of a file with one or more certificates as PEM or DER. It is read before the first
    ///   connection; a file that is missing or contains no certificate is an error then.
    /// - Returns: The trust in these certificates only.
    public static func certificates(atPath path: String) -> Self {
        Self(sources: [.file(path)], isVerifying: true)
    }

    /// No verification: **anyone on the network can read and change what is sent and received.**
    ///
    /// Any certificate for any name is accepted. Use it only against a server of your own in a test; to trust one
    /// certificate, use ``certificates(_:)`` instead. Pins are still checked, against the certificate of the server.
    public static let insecureSkipsVerification = Self(sources: [], isVerifying: false)

    /// Returns the trust in the certificates of both; without verification if either skips it.
    ///
    /// - Parameter other: Further trusted certificates.
    /// - Returns: The combination.
    public func adding(_ other: Self) -> Self {
        Self(sources: sources + other.sources, isVerifying: isVerifying && other.isVerifying)
    }
}
