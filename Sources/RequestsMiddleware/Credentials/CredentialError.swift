internal import RequestsPOSIX

/// The reason why credentials or a signature are unavailable: the underlying error of a `RequestError` with the reason
/// `credentialsUnavailable`.
@nonexhaustive
public enum CredentialError: Error, Sendable {
    /// The library of the system for hashes could not be loaded; the text names the packages to install.
    case libraryUnavailable(String)
    /// The system does not provide the hash with this name.
    case hashUnavailable(String)
    /// The function that renews credentials returned none.
    case refreshRefused
    /// The renewed credentials had expired when the refresh ended, by the clock of this system.
    case renewedCredentialExpired
    /// Credentials were requested explicitly within the function that renews them.
    case refreshWithinRefresh
    /// A value for a signature, which the text names, is empty or invalid.
    case invalidSigningValue(String)
    /// The path has a segment `.` or `..`, encoded or not, and might not be below the base URL of the credentials.
    case ambiguousPath
    /// The server offers only alternatives that ``DigestAuthenticator`` does not allow.
    case fallbackNotAllowed(DigestAuthenticator.Fallbacks)
    /// The server sent a response digest (`rspauth`) that only someone without the password computes (RFC 7616 §3.5).
    case serverNotAuthenticated
    /// A ``CredentialStore`` could not be read or written; the text has the place and the reason, without secrets.
    case storeFailed(String)
}

extension CredentialError: CustomStringConvertible {
    /// The reason in one line, with what to do.
    public var description: String {
        switch self {
        case .libraryUnavailable(let text): text
        case .hashUnavailable(let name): "the hash \(name) is unavailable on this system"
        case .refreshRefused: "the credentials could not be renewed; sign in again"
        case .renewedCredentialExpired:
            "the renewed credentials have expired already; check the clock of this system and their lifetime"
        case .refreshWithinRefresh: "credentials were requested within the function that renews them"
        case .invalidSigningValue(let name): "invalid value for a signature: \(name)"
        case .ambiguousPath:
            "the path has a segment “.” or “..” and might not be below the base URL of the credentials; use an "
                + "environment at the root of the server"
        case .fallbackNotAllowed(let fallbacks):
            "the server offers only \(fallbacks.names), which must be allowed: "
                + "DigestAuthenticator(username:password:allowing: \(fallbacks.code))"
        case .serverNotAuthenticated:
            "the server does not prove that it knows the password: wrong response digest (RFC 7616 §3.5)"
        case .storeFailed(let text): "could not use the stored credentials: \(text)"
        }
    }
}

extension DigestAuthenticator.Fallbacks {
    /// The names of the alternatives, with the risk of allowing them.
    fileprivate var names: String {
        let md5 = contains(.md5) ? ["Digest with MD5"] : []
        return (md5 + (contains(.basic) ? ["Basic, which sends the password"] : [])).joined(separator: " and ")
    }

    /// The set as it is written in Swift.
    fileprivate var code: String {
        self == .md5 ? ".md5" : self == .basic ? ".basic" : ".md5 or .basic"
    }
}

extension RequestError {
    /// Creates the error for a hash that could not be computed, before anything was sent.
    init(_ error: HashError) {
        let cause: CredentialError =
            switch error {
            case .libraryMissing(let failure): .libraryUnavailable(failure.description)
            case .unsupported(let algorithm): .hashUnavailable(algorithm.rawValue)
            }
        self = RequestError(.credentialsUnavailable, detail: cause.description, underlying: cause).beforeSending()
    }
}
