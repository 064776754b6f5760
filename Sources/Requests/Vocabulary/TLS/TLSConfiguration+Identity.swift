extension TLSConfiguration {
    /// A certificate and its private key, with which one side of a connection identifies itself.
    ///
    /// Descriptions and dumps do not contain the key, the passphrase or the paths.
    public struct Identity: Sendable {
        /// The content, which is in memory or in files.
        package enum Storage: Sendable {
            case bytes(certificates: Data, privateKey: Data)
            case files(certificates: String, privateKey: String)
        }

        package let storage: Storage
        package let passphrase: (@Sendable () throws -> String)?

        /// Creates an identity from bytes.
        ///
        /// - Parameters:
        ///   - certificates: The certificate as PEM, followed by the intermediates that lead to a trusted root; or the
        ///     same as DER.
        ///   - privateKey: The private key of the first certificate: PKCS#8 (RFC 5958), or the traditional formats of
        ///     RSA and EC keys, as PEM or DER.
        ///   - passphrase: Returns the passphrase of an encrypted key, as UTF-8 of at most 1023 bytes. It is called
        ///     when the key is read, at most once for each reading.
        public init(
            certificates: Data, privateKey: Data, passphrase: (@Sendable () throws -> String)? = nil
        ) {
            storage = .bytes(certificates: certificates, privateKey: privateKey)
            self.passphrase = passphrase
        }

        /// Creates an identity from files, which are read before the first connection.
        ///
        /// - Parameters:
        ///   - certificatesPath: The path of the certificates, in the formats of the other initializer.
        ///   - privateKeyPath: The path of the private key, which may be the same file.
        ///   - passphrase: Returns the passphrase of an encrypted key.
        public init(
            certificatesAtPath certificatesPath: String, privateKeyAtPath privateKeyPath: String,
            passphrase: (@Sendable () throws -> String)? = nil
        ) {
            storage = .files(certificates: certificatesPath, privateKey: privateKeyPath)
            self.passphrase = passphrase
        }
    }
}

extension TLSConfiguration.Identity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of the value, without its content.
    public var description: String { "TLS identity \(Redaction.placeholder)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
