/// The names of fields, query items, form items and JSON members whose values are secrets.
///
/// Every description, dump, wire text and curl command of this library is redacted unless you pass
/// ``Secrets/revealed``. Values are not redacted: a header, or a request that a mock has recorded, contains its
/// secrets.
///
/// Names are compared without regard to ASCII case and punctuation: `accessToken`, `access_token` and `Access-Token`
/// are one name.
public struct Redaction: Hashable, Sendable {
    /// The keys of names that this redaction adds to the standard names.
    private var ownKeys: Set<[UInt8]>

    /// Creates a redaction of the standard names and of `names`, such as `["key", "pin"]`.
    ///
    /// A name without an ASCII letter or digit, or a character outside ASCII, is ignored.
    public init(also names: [String] = []) {
        ownKeys = Set(names.map { SecretNames.key(of: $0.utf8) }.filter { !$0.isEmpty })
    }

    /// The redaction of the standard names.
    ///
    /// They are Authorization, Proxy-Authorization, Cookie, Set-Cookie, and the usual names of passwords, API keys,
    /// tokens, signatures and session identifiers.
    ///
    /// Everyday names such as `key`, `code`, `state`, `pin` and `id` are not among them, nor are tokens that only
    /// continue a list, such as `pageToken`.
    public static let standard = Redaction()

    /// The text that replaces a secret, `<redacted>`.
    public static let placeholder = "<redacted>"

    /// Returns whether the values of fields, query items, form items and JSON members named `name` are never shown.
    public func isSecret(_ name: String) -> Bool { isSecret(name.utf8) }

    /// Returns whether the values of fields named `name` are never shown.
    public func isSecret(_ name: Field.Name) -> Bool { isSecret(name.rawValue.utf8) }

    private func isSecret(_ name: String.UTF8View) -> Bool {
        // No secret name is longer, and the key of a peer's name must not be large.
        guard name.count <= 1 << 10 else { return false }
        let key = SecretNames.key(of: name)
        return SecretNames.contains(key) || ownKeys.contains(key)
    }
}

extension Redaction {
    /// The treatment of secrets in text.
    public enum Secrets: Hashable, Sendable {
        /// Secrets are replaced by ``Redaction/placeholder``.
        case redacted
        /// Secrets are shown. The text must not be logged or shared.
        case revealed
    }
}

/// The table of names whose values are secrets (decision 0063).
///
/// It decides what is redacted, and what a redirect to another origin removes. A name is found by its key: its letters
/// and digits in lower case, without digits at the end.
private enum SecretNames {
    /// The keys of names that are secret only if the whole key is equal.
    private static let keys = Set(
        ["auth", "authcode", "cookie", "csrf", "hmac", "session", "setcookie", "sig", "xauth", "xsession", "xsrf"]
            .map { Array($0.utf8) })

    /// Endings that make a key secret, by their last byte.
    private static let endings = Dictionary(
        grouping: [
            "accesskey", "apikey", "applicationkey", "assertion", "authkey", "authorization",
            "authorizationcode", "codeverifier", "devicecode", "functionskey", "jwt", "otp", "passcode", "passphrase",
            "passwd", "password", "passwordagain", "passwordconfirm", "passwordconfirmation", "passwordrepeat",
            "privatekey", "pwd", "samlresponse", "secret", "secretkey", "sessid", "sessionid", "sessionkey",
            "sharedkey", "signature", "signingkey", "subscriptionkey", "token",
        ].map { Array($0.utf8) }
    ) { $0.last }

    /// Endings that make a key public although it ends in one of ``endings``: places in a list, and identifiers of
    /// requests.
    private static let publicEndings = [
        "canceltoken", "clientrequesttoken", "continuationtoken", "continuetoken", "cursortoken", "nexttoken",
        "pagetoken", "paginationtoken", "previoustoken", "prevtoken", "resumetoken", "startingtoken", "synctoken",
    ].map { Array($0.utf8) }

    /// Returns the key of a name; empty if it has only punctuation.
    static func key(of name: String.UTF8View) -> [UInt8] {
        name.lazy.map(ASCIIFolding.folded).filter { byte in
            byte >= 0x80 || byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
        }
    }

    /// Returns whether the table contains the name with `key`.
    static func contains(_ key: [UInt8]) -> Bool {
        // A number distinguishes several secrets, as in “password2”, or names an algorithm.
        let count = key.lastIndex { $0 &- UInt8(ascii: "0") >= 10 }.map { $0 + 1 } ?? 0
        let name = key[..<count]
        if keys.contains(Array(name)) { return true }
        guard let endings = endings[name.last], endings.contains(where: { hasEnding(name, $0) }) else { return false }
        return !publicEndings.contains { hasEnding(name, $0) }
    }

    private static func hasEnding(_ name: ArraySlice<UInt8>, _ ending: [UInt8]) -> Bool {
        name.count >= ending.count && name.suffix(ending.count).elementsEqual(ending)
    }
}
