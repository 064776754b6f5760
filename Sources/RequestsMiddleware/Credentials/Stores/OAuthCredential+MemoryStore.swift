@_spi(Lock) internal import Requests

extension OAuthCredential {
    /// A store in memory, for tests and for programs that sign in each time.
    public final class MemoryStore: CredentialStore {
        private let credential: Lock<OAuthCredential?>

        /// Creates a store that contains `credential`.
        public init(_ credential: OAuthCredential? = nil) {
            self.credential = Lock(credential)
        }

        /// Returns the stored credential, nil if there is none; never throws.
        public func load() async throws(CredentialError) -> OAuthCredential? { credential.withLock { $0 } }

        /// Replaces the stored credential by the result of `change`, and returns it; never throws.
        public func update(
            _ change: @Sendable (OAuthCredential?) -> OAuthCredential?
        ) async throws(CredentialError) -> OAuthCredential? {
            credential.withLock { credential in
                credential = change(credential)
                return credential
            }
        }
    }
}

extension OAuthCredential.MemoryStore: CustomStringConvertible, CustomReflectable {
    /// The kind of the store, without its content.
    public var description: String { "credential store in memory" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}
