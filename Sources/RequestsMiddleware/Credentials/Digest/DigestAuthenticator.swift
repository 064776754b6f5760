@_spi(Lock) internal import Requests
package import RequestsPOSIX

/// An authenticator for Digest access authentication (RFC 7616), with SHA-256 and SHA-512-256, and MD5 if allowed.
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor()).authenticating(
///     with: DigestAuthenticator(username: "me", password: secret))
/// ```
///
/// The first request has no credentials; the server challenges it with a 401. Of several challenges, the strongest one
/// whose hash this system has is met. If the server offers only MD5 or Basic, which are not allowed by default, the
/// call fails with `credentialsUnavailable` and ``CredentialError/fallbackNotAllowed(_:)``. Later requests have
/// credentials at once: parallel requests share the server's nonce, each with its own count. A server can replace the
/// nonce with `stale` or with Authentication-Info. Because of 401 responses, a request is sent at most three times.
///
/// With `auth-int`, the credentials protect the body too. It is used if the server offers nothing else or
/// `prefersIntegrity` is true; a body that is a file or a stream is then read once more before it is sent, and one
/// that can be sent only once fails with `bodyNotReplayable`.
///
/// If the server proves in Authentication-Info that it knows the password (`rspauth`), the proof is verified; a wrong
/// one ends the call with `credentialsUnavailable` and ``CredentialError/serverNotAuthenticated``. With `auth-int` the
/// proof covers the body, so it is verified only for a body in memory whose content coding was not decoded. A server
/// that announces `charset=UTF-8` receives user name and password in normalization form C (RFC 7616 §4).
///
/// It also meets the challenges of proxies, as the authorization of a socket executor's proxy:
/// `authorization: .init(with: DigestAuthenticator(username: "me", password: secret))`.
///
/// On Linux, the system's libcrypto computes the hashes. Without it, requests fail with `credentialsUnavailable` and
/// a ``CredentialError`` that names the packages to install, before anything is sent. Apple's CryptoKit has no
/// SHA-512-256, so other challenges are met there.
public final class DigestAuthenticator: Authenticator {
    /// A less secure alternative that the server may choose.
    public struct Fallbacks: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Digest with MD5, whose collisions can be computed (RFC 6151).
        public static let md5 = Fallbacks(rawValue: 1)
        /// Basic, which sends the password, if the server offers no Digest challenge that can be met.
        ///
        /// Anyone who can change an `http` response can request it.
        public static let basic = Fallbacks(rawValue: 2)
    }

    /// A token that identifies the session of one request.
    ///
    /// It is never printed, because it contains a key that is equivalent to the password.
    public struct Token: Sendable, CustomStringConvertible, CustomReflectable {
        /// The generation of the session; 0 without credentials.
        let generation: Int
        /// The nonce; nil without credentials.
        let nonce: String?
        /// The values with which the server proves that it knows the password; nil without credentials.
        var proof: DigestCredentials.Proof?

        /// A placeholder without the values.
        public var description: String { "Digest token" }
        /// A mirror without the values.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    enum State: Sendable {
        case none
        case digest(DigestSession)
        case basic(generation: Int)

        var generation: Int {
            switch self {
            case .none: 0
            case .digest(let session): session.generation
            case .basic(let generation): generation
            }
        }
    }

    let username: String
    let password: String
    let fallbacks: Fallbacks
    let hashes: any HashProvider
    let makeClientNonce: @Sendable () -> String
    let state = Lock(State.none)
    /// An authenticator for each proxy, because proxies have separate challenges.
    let proxies = Lock<[String: DigestAuthenticator]>([:])

    /// Whether `auth-int` is used where the server offers both qualities of protection.
    package let prefersIntegrity: Bool

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - username: The user name. A control character in it, or in the password, is an error of each request:
    ///     `invalidFieldValue`.
    ///   - password: The password, which is never sent unless Basic is allowed.
    ///   - fallbacks: The less secure alternatives that the server may choose; none by default.
    ///   - prefersIntegrity: Whether the body is protected where the server offers that.
    public convenience init(
        username: String, password: String, allowing fallbacks: Fallbacks = [], prefersIntegrity: Bool = false
    ) {
        self.init(
            username: username, password: password, allowing: fallbacks, prefersIntegrity: prefersIntegrity,
            hashes: SystemHashes.shared, makeClientNonce: Self.randomNonce)
    }

    /// Creates an authenticator with its hashes and its source of random nonces.
    package init(
        username: String, password: String, allowing fallbacks: Fallbacks = [], prefersIntegrity: Bool = false,
        hashes: any HashProvider, makeClientNonce: @escaping @Sendable () -> String
    ) {
        self.username = username
        self.password = password
        self.fallbacks = fallbacks
        self.prefersIntegrity = prefersIntegrity
        self.hashes = hashes
        self.makeClientNonce = makeClientNonce
    }

    /// Returns 128 random bits in hexadecimal.
    private static func randomNonce() -> String {
        HexadecimalText.of((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }
}

extension DigestAuthenticator: CustomStringConvertible, CustomReflectable {
    /// The name of the scheme, without user name and password.
    public var description: String { "Digest credentials" }

    /// The mirror that `dump` prints: the name of the scheme only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": "Digest"]) }
}
