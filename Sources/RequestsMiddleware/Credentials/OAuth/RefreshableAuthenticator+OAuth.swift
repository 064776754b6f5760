@_spi(Lock) internal import Requests

extension RefreshableAuthenticator where Credential == OAuthCredential {
    /// Creates an authenticator with the tokens of an authorization server, and a function that renews them.
    ///
    /// ```swift
    /// let authenticator = RefreshableAuthenticator(nil) { _ in
    ///     try await tokens.perform { $0.clientCredentials() }
    /// }
    /// ```
    ///
    /// Requests with a token of another type than Bearer fail with `credentialsUnavailable` before they are sent.
    ///
    /// - Parameters:
    ///   - credential: The credential; with nil, the first request waits for a refresh.
    ///   - leeway: The time before the expiry at which a refresh begins, while requests still use the old token. It
    ///     should be shorter than the lifetime of the tokens: otherwise each token is renewed when it is first used.
    ///   - holdsDuringRefresh: Whether requests that begin during a refresh wait for it.
    ///   - clock: The clock that the expiry is compared with.
    ///   - refresh: A function that returns a new credential for the old one, or nil if there is none.
    public convenience init(
        _ credential: OAuthCredential?, leeway: Duration = .seconds(60), holdsDuringRefresh: Bool = false,
        clock: Retrying.Clock = .system,
        refresh: @escaping @Sendable (OAuthCredential?) async throws -> OAuthCredential?
    ) {
        self.init(
            credential, expiration: { $0.expiration }, leeway: leeway, holdsDuringRefresh: holdsDuringRefresh,
            now: clock.date, fields: { [try $0.authorizationField()] }, refresh: refresh)
    }

    /// Creates an authenticator that renews the tokens of an authorization server with their refresh token.
    ///
    /// ```swift
    /// let authenticator = RefreshableAuthenticator(credential, from: tokens)
    /// let client = Client(api, executor: executor)
    ///     .authenticating(with: authenticator)
    /// ```
    ///
    /// A refresh first reads the store: if it contains another access token that has not expired, such as one from
    /// another process, the refresh uses it. Otherwise the tokens are renewed, and the new credential is stored before
    /// requests use it.
    ///
    /// - If the store cannot be read, the refresh does not use it.
    /// - If a credential cannot be stored, requests use it nevertheless, because the server may have revoked the old
    ///   one. The store is then not read until a later credential has been stored.
    /// - After ``replaceCredential(with:)``, the store is not read either, so that signing out does not restore a
    ///   stored credential. Clear the store yourself.
    /// - If two processes begin a refresh at the same moment, both send the refresh token. A server that accepts each
    ///   token only once refuses one of them.
    ///
    /// - Parameters:
    ///   - credential: The credential; with nil, the first request reads the store.
    ///   - tokens: The client of the authorization server. It must not use this authenticator.
    ///   - leeway: The time before the expiry at which a refresh begins, while requests still use the old token. It
    ///     should be shorter than the lifetime of the tokens: otherwise each token is renewed when it is first used.
    ///   - holdsDuringRefresh: Whether requests that begin during a refresh wait for it.
    ///   - store: The store of the credential, or nil.
    ///   - onStoreFailure: A function that receives the reason why the store could not be read, or a new credential
    ///     could not be stored.
    public convenience init(
        _ credential: OAuthCredential?, from tokens: Client<OAuthServer>, leeway: Duration = .seconds(60),
        holdsDuringRefresh: Bool = false, store: (any CredentialStore<OAuthCredential>)? = nil,
        onStoreFailure: (@Sendable (CredentialError) -> Void)? = nil
    ) {
        let clock = tokens.api.clock
        let storing = Storing()
        self.init(
            credential, expiration: { $0.expiration }, leeway: leeway, holdsDuringRefresh: holdsDuringRefresh,
            now: clock.date, onReplacement: { storing.replace() }, fields: { [try $0.authorizationField()] }
        ) { old in
            let replacements = storing.state.withLock(\.replacements)
            let stored: OAuthCredential?
            do throws(CredentialError) {
                stored = storing.state.withLock(\.isNewerThanStore) ? nil : try await store?.load()
            } catch {
                guard old != nil else { throw error }
                onStoreFailure?(error)
                stored = nil
            }
            // Only another access token helps; a store may keep other values less exactly.
            let isOther = stored.map { old?.accessToken.hasSameBytes(as: $0.accessToken) != true } ?? false
            if isOther, let stored, !stored.isExpired(at: clock.date()) { return stored }
            guard let current = stored ?? old else { throw RequestError(OAuthServer.Failure.signInRequired) }
            let new = try await tokens.perform { $0.refresh(current) }
            do throws(CredentialError) {
                // After signing out, the result is discarded, and must not be in the store either.
                _ = try await store?.update { old in
                    storing.state.withLock { $0.replacements == replacements } ? new : old
                }
                storing.state.withLock { if $0.replacements == replacements { $0.isNewerThanStore = false } }
            } catch {
                storing.state.withLock { $0.isNewerThanStore = true }
                onStoreFailure?(error)
            }
            return new
        }
    }
}

private final class Storing: Sendable {
    struct State {
        /// Whether the store must not be read.
        ///
        /// It lacks a credential that could not be stored, or still contains the credential of a user who has signed
        /// out.
        var isNewerThanStore = false
        var replacements = 0
    }

    let state = Lock(State())

    func replace() {
        state.withLock { state in
            state.isNewerThanStore = true
            state.replacements += 1
        }
    }
}
