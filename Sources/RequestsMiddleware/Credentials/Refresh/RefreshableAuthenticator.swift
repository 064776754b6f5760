@_spi(Lock) public import Requests

/// An authenticator whose credentials are renewed when the server rejects them or when they expire, such as access
/// tokens.
///
/// ```swift
/// let authenticator = RefreshableAuthenticator(bearerToken: token) { _ in
///     try await tokens.perform { $0.post(.none, to: "/token", receiving: .text) }
/// }
/// let client = Client(api, executor: executor)
///     .authenticating(with: authenticator)
/// ```
///
/// There is one refresh at a time. A request whose credentials have been replaced meanwhile is sent again at once. Any
/// other request that receives a 401 begins a refresh or waits for it. If the refresh returns new credentials, the
/// request is sent again; if it returns nil, the request returns its 401; if it throws an error, the request fails with
/// `credentialsUnavailable` and that error. A request that was sent before a refresh failed does not begin another one.
///
/// The cancellation or the deadline of a waiting request ends only its own wait. Requests that the refresh performs are
/// sent without these credentials, so they never wait for it. Tasks that it creates are part of it until it ends,
/// except for detached ones. When the authenticator is released, the refresh is cancelled.
///
/// Requests that begin during a refresh are sent with the old credentials unless `holdsDuringRefresh` is true. Without
/// credentials, or with expired ones, requests wait for a refresh before they are sent. A refresh that returns
/// expired credentials fails with ``CredentialError/renewedCredentialExpired``: they are not sent, but the next refresh
/// receives them. A 403 is not handled.
public final class RefreshableAuthenticator<Credential: Sendable>: Authenticator {
    /// A token that identifies the credentials of one request.
    public struct Token: Sendable {
        /// The identity of the credentials; nil for a request of the refresh itself, which has none.
        let value: RefreshState<Credential>.Token?
    }

    /// Fields that are ready for nearly every request.
    let ready: ReadyFields
    let renewal: CredentialRenewal<Credential>
    let fields: @Sendable (Credential) throws -> Header
    let expiration: (@Sendable (Credential) -> Date?)?
    let leeway: TimeInterval
    let holdsDuringRefresh: Bool
    let now: @Sendable () -> Date
    /// A function that is called after the credentials were replaced; nil for none.
    private let onReplacement: (@Sendable () -> Void)?
    private let replacementSeed = UInt64.random(in: .min ... .max)
    /// The fields that were created last.
    let cache = Lock<(generation: Int, fields: Header)?>(nil)

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - credential: The credentials; with nil, the first request waits for a refresh.
    ///   - expiration: A function that returns when credentials expire, or nil if that is unknown.
    ///   - leeway: The time before the expiry at which a refresh begins, while requests still use the old credentials;
    ///     0 by default. A refresh that fails is not repeated before the expiry.
    ///   - holdsDuringRefresh: Whether requests that begin during a refresh wait for it.
    ///   - fields: A function that returns the fields of credentials, such as Authorization; its result is
    ///     kept until the credentials change.
    ///   - refresh: A function that returns new credentials for the old ones, or nil if there are none. Requests that
    ///     it performs must have time limits, because it has none itself.
    public convenience init(
        _ credential: Credential?, expiration: (@Sendable (Credential) -> Date?)? = nil, leeway: Duration = .zero,
        holdsDuringRefresh: Bool = false, fields: @escaping @Sendable (Credential) throws -> Header,
        refresh: @escaping @Sendable (Credential?) async throws -> Credential?
    ) {
        self.init(
            credential, expiration: expiration, leeway: leeway, holdsDuringRefresh: holdsDuringRefresh,
            now: { Date() }, fields: fields, refresh: refresh)
    }

    package init(
        _ credential: Credential?, expiration: (@Sendable (Credential) -> Date?)?, leeway: Duration,
        holdsDuringRefresh: Bool, now: @escaping @Sendable () -> Date,
        onReplacement: (@Sendable () -> Void)? = nil,
        fields: @escaping @Sendable (Credential) throws -> Header,
        refresh: @escaping @Sendable (Credential?) async throws -> Credential?
    ) {
        self.onReplacement = onReplacement
        ready = ReadyFields(now: now)
        let isExpired: @Sendable (Credential) -> Bool = { credential in
            expiration?(credential).map { $0 <= now() } ?? false
        }
        renewal = CredentialRenewal(credential, ready, isExpired: isExpired, refresh: refresh)
        self.fields = fields
        self.expiration = expiration
        self.leeway = max(0, leeway / .seconds(1))
        self.holdsDuringRefresh = holdsDuringRefresh
        self.now = now
    }

    deinit { renewal.abandon() }

    /// The present credentials; nil before the first refresh and after signing out.
    public var credential: Credential? { renewal.step(\.credential) }

    /// Replaces the credentials, for example with nil for signing out; the result of an active refresh is discarded.
    public func replaceCredential(with credential: Credential?) {
        renewal.step { $0.replace(with: credential) }
        onReplacement?()
    }

    /// Renews the credentials now, or waits for the active refresh.
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` if there are no new credentials, or if the function that
    ///   renews them calls this one; with `cancelled` if the task is cancelled.
    public func refresh() async throws(RequestError) {
        if renewal.isRefreshingHere {
            throw RequestError(.credentialsUnavailable, underlying: CredentialError.refreshWithinRefresh)
                .beforeSending()
        }
        let number = renewal.step { $0.activeRefresh() }
        try await renewal.outcome(ofRefresh: number, until: .distantFuture).checkRenewal()
    }
}

/// An authenticator that can change to the credentials of another user.
protocol ReplaceableCredentials {
    /// A text that changes when the credentials are replaced; empty for the first ones.
    ///
    /// It contains a random number, because a cache on a disk outlives the program.
    var replacement: String { get }
}

extension RefreshableAuthenticator: ReplaceableCredentials {
    var replacement: String {
        let count = renewal.step(\.replacements)
        return count == 0 ? "" : "\(replacementSeed)-\(count)"
    }
}

extension RefreshableAuthenticator where Credential == String {
    /// Creates an authenticator with a bearer token (RFC 6750).
    ///
    /// A token that is empty, or contains a character other than visible ASCII characters (RFC 6749 A.12), is an error
    /// of the request: `invalidBearerToken`.
    ///
    /// - Parameters:
    ///   - token: The token; with nil, the first request waits for a refresh.
    ///   - refresh: A function that returns a new token for the old one, or nil if there is none.
    public convenience init(
        bearerToken token: String?, refresh: @escaping @Sendable (String?) async throws -> String?
    ) {
        self.init(
            token,
            fields: { token in
                if let error = BearerToken.error(of: token) { throw error }
                return [.authorization(bearerToken: token)]
            }, refresh: refresh)
    }
}

extension RefreshableAuthenticator: CustomStringConvertible, CustomReflectable {
    /// The kind of the credentials, without their values.
    public var description: String { "refreshable credentials" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}
