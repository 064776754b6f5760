/// A place where a credential is kept between runs of a program, such as a file or the keychain of the platform.
///
/// ``OAuthCredential/FileStore`` and ``OAuthCredential/MemoryStore`` are stores. Several tasks may use one at the same
/// time.
public protocol CredentialStore<Credential>: Sendable {
    /// The type of the credential.
    associatedtype Credential: Sendable

    /// Returns the stored credential; nil if there is none.
    ///
    /// - Throws: ``CredentialError/storeFailed(_:)`` if it cannot be read.
    func load() async throws(CredentialError) -> Credential?

    /// Replaces the stored credential by the result of a function, and returns it; nil removes it.
    ///
    /// Nothing else changes the store between the call of `change` and the end of this function.
    ///
    /// - Parameter change: A function that returns the new credential for the stored one; it must return quickly.
    /// - Returns: The new credential.
    /// - Throws: ``CredentialError/storeFailed(_:)`` if it cannot be read or written; the stored one is then unchanged.
    func update(_ change: @Sendable (Credential?) -> Credential?) async throws(CredentialError) -> Credential?
}
