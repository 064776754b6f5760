extension CookieJar {
    /// The attribute SameSite of a cookie (RFC 6265bis §5.6.7).
    ///
    /// It concerns requests that a page of another site causes. A client without pages has none of these, so a jar
    /// keeps the attribute and sends the cookie regardless of it.
    @nonexhaustive
    public enum SameSite: String, Hashable, Sendable {
        /// Sent only within the site.
        case strict = "Strict"
        /// Sent within the site, and when the user follows a link to it.
        case lax = "Lax"
        /// Sent with every request.
        case unrestricted = "None"
    }

    /// A cookie with the requests that it belongs to (RFC 6265bis §5.7).
    public struct StoredCookie: Sendable {
        /// The name, compared case-sensitively; empty for a cookie that consists of a value only.
        public let name: String
        /// The value, as it was set.
        public let value: String
        /// The host, or the domain, in lower case.
        public let domain: String
        /// Whether the cookie is sent to ``domain`` only, not to the hosts below it.
        public let isHostOnly: Bool
        /// The path that the path of a request must be, or be below.
        public let path: String
        /// Whether the cookie is sent only over TLS or within this machine.
        public let isSecure: Bool
        /// Whether the cookie is hidden from the scripts of a page, which has no effect here.
        public let isHTTPOnly: Bool
        /// The attribute SameSite, which has no effect here; nil if it is missing or unknown.
        public let sameSite: SameSite?
        /// The date at which the cookie expires; nil for a session cookie.
        public internal(set) var expires: Date?
        /// The date when the cookie was first set; a cookie that replaces an expired one counts as new.
        public internal(set) var created: Date
        /// The date when the cookie was last set or sent.
        public internal(set) var lastUsed: Date

        /// Creates a cookie for an import into a jar; nil if its text is invalid, or a date is not finite.
        ///
        /// - Parameters:
        ///   - name: The name; without `=`, `;` and control characters.
        ///   - value: The value; without `;` and control characters. Name and value must not be empty both, nor begin
        ///     or end with white space.
        ///   - domain: The host or domain; ASCII. It is stored in lower case, without a leading dot.
        ///   - isHostOnly: Whether the hosts below `domain` are excluded; always true for an IP address.
        ///   - path: The path, which must begin with a slash and have at most 1,024 bytes.
        ///   - isSecure: Whether the cookie needs TLS.
        ///   - isHTTPOnly: Whether the cookie is hidden from scripts.
        ///   - sameSite: The attribute SameSite.
        ///   - expires: The date of expiry; nil for a session cookie.
        ///   - created: The date of creation, which determines the order of cookies whose paths have the same length.
        public init?(
            name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
            isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil, expires: Date? = nil,
            created: Date
        ) {
            let isDotted = domain.utf8.first == UInt8(ascii: ".")
            let host = ASCIIFolding.folded(String(domain.droppingFirstBytes(isDotted ? 1 : 0)))
            guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), host.utf8.count <= Self.domainLimit,
                created.timeIntervalSince1970.isFinite, expires?.timeIntervalSince1970.isFinite != false,
                path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= SetCookie.attributeLimit,
                !(name.isEmpty && value.isEmpty), !name.containsByte("="), Self.isText(name), Self.isText(value),
                Self.isText(path)
            else { return nil }
            self.init(
                name: name, value: value, domain: host, isHostOnly: isHostOnly || CookieScope.isAddress(host),
                path: path, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite, expires: expires,
                created: created, lastUsed: created)
        }

        init(
            name: String, value: String, domain: String, isHostOnly: Bool, path: String, isSecure: Bool,
            isHTTPOnly: Bool, sameSite: SameSite?, expires: Date?, created: Date, lastUsed: Date
        ) {
            self.name = name
            self.value = value
            self.domain = domain
            self.isHostOnly = isHostOnly
            self.path = path
            self.isSecure = isSecure
            self.isHTTPOnly = isHTTPOnly
            self.sameSite = sameSite
            self.expires = expires?.savable
            self.created = created.savable
            self.lastUsed = lastUsed.savable
        }
    }
}

extension CookieJar.StoredCookie {
    /// The value of a Set-Cookie field that sets this cookie, such as `id=7; Domain=example.com; Path=/`.
    ///
    /// It contains the value of the cookie, which is a secret.
    package var setCookieValue: String {
        var text = pair
        if !isHostOnly { text += "; Domain=\(domain)" }
        text += "; Path=\(path)"
        if let expires { text += "; Expires=\(HTTPDate(expires))" }
        if isSecure { text += "; Secure" }
        if isHTTPOnly { text += "; HttpOnly" }
        if let sameSite { text += "; SameSite=\(sameSite.rawValue)" }
        return text
    }

    /// The head of a response that sets this cookie; nil if the domain is not a host of a URL.
    ///
    /// `RequestsFoundation` reads its cookies as `HTTPCookie`: `stored.settingHead?.cookies.first`.
    public var settingHead: ResponseHead? {
        guard let target = try? TargetURI("\(isSecure ? "https" : "http")://\(domain)/") else { return nil }
        return ResponseHead(status: 200, header: [Field(name: .setCookie, value: setCookieValue)], target: target)
    }

    /// The value in a free slot of a table.
    static let vacant = CookieJar.StoredCookie(
        name: "", value: "", domain: "", isHostOnly: true, path: "", isSecure: false, isHTTPOnly: false, sameSite: nil,
        expires: nil, created: .distantPast, lastUsed: .distantPast)

    /// The maximum length of a domain in bytes, as for a DNS name with its dots.
    static let domainLimit = 255

    /// Returns whether a name, value or path has no semicolon, no control character, and no white space at its ends.
    private static func isText(_ text: String) -> Bool {
        let edges = [text.utf8.first, text.utf8.last]
        return !edges.contains(0x20) && !edges.contains(0x09)
            && !text.utf8.contains { SetCookie.isControl($0) || $0 == UInt8(ascii: ";") }
    }

    /// The number of bytes of the name and the value.
    var size: Int { name.utf8.count + value.utf8.count }

    /// The number of bytes of ``pair``.
    var pairSize: Int { size + (name.isEmpty ? 0 : 1) }

    /// The name that a server reads in ``pair``.
    ///
    /// For a cookie without a name, it is the part of the value before `=`, after any `=` at its beginning.
    var sentName: String {
        name.isEmpty ? String(value.splitBytes(at: "=", maxSplits: 1).first ?? "") : name
    }

    /// The text in the Cookie field: `name=value`, or the value alone.
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// The name, the domain and the path; a jar contains each combination only once.
    var key: Key { Key(name: name, domain: domain, path: path, isHostOnly: isHostOnly) }

    struct Key: Hashable, Sendable {
        let name: String
        let domain: String
        let path: String
        let isHostOnly: Bool

        /// The key of a cookie without a name for the same requests.
        var withoutName: Key { Key(name: "", domain: domain, path: path, isHostOnly: isHostOnly) }

        static func == (left: Self, right: Self) -> Bool {
            left.isHostOnly == right.isHostOnly && left.name.hasSameBytes(as: right.name)
                && left.path.hasSameBytes(as: right.path) && left.domain.hasSameBytes(as: right.domain)
        }

        func hash(into hasher: inout Hasher) {
            name.hashBytes(into: &hasher)
            domain.hashBytes(into: &hasher)
            path.hashBytes(into: &hasher)
        }
    }
}

extension CookieJar.StoredCookie: Hashable {
    /// Returns whether all parts are equal; text is compared byte by byte.
    public static func == (left: Self, right: Self) -> Bool {
        left.isSame(as: right) && left.created == right.created && left.lastUsed == right.lastUsed
    }

    /// Returns whether all parts but the times of creation and use are equal.
    func isSame(as other: Self) -> Bool {
        key == other.key && value.hasSameBytes(as: other.value) && isSecure == other.isSecure
            && isHTTPOnly == other.isHTTPOnly && sameSite == other.sameSite && expires == other.expires
    }

    /// Hashes the name, the domain and the path.
    public func hash(into hasher: inout Hasher) { key.hash(into: &hasher) }
}

extension CookieJar.StoredCookie: CustomStringConvertible, CustomReflectable {
    /// The name, the domain and the path, without the value, which is a secret.
    public var description: String {
        let scope = "\(isHostOnly ? "" : ".")\(domain)\(LogText.escaped(path))"
        return "\(ErrorText.quoted(name))=\(Redaction.placeholder) for \(scope)"
    }

    /// The mirror that `dump` prints, without the value.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}

extension Date {
    /// The nearest date that stays the same when it is saved as seconds since 1970.
    ///
    /// `Date` counts from 2001, and the two numbers round differently; converting a second time changes nothing.
    var savable: Date { Date(timeIntervalSince1970: timeIntervalSince1970) }
}
