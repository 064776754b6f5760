extension Caching {
    /// The key of an entry in a store.
    ///
    /// It can contain credentials and other fields of requests. A store that writes keys to a disk must replace them by
    /// a digest with a secret key, as ``DiskStore`` does.
    public struct Key: Hashable, Sendable {
        /// The text of the key, compared byte by byte.
        public let text: String

        /// Creates a key from its text.
        public init(text: String) {
            self.text = text
        }

        /// Creates the key of the responses for `target` in the partition whose keys begin with `prefix`.
        init(_ target: TargetURI, in prefix: String) {
            self.init(text: target.text(after: prefix))
        }

        /// Creates the key of the responses for the target of `request`, as ``init(_:in:)`` does for a target.
        init(_ request: PreparedRequest, in prefix: String) {
            self.init(text: request.targetText(after: prefix))
        }

        /// Returns whether the texts have the same bytes.
        public static func == (left: Self, right: Self) -> Bool {
            left.text.hasSameBytes(as: right.text)
        }

        /// Hashes the bytes of the text.
        public func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
    }
}

extension Caching.Key: CustomStringConvertible, CustomReflectable {
    /// The kind of the value, because the text can contain secrets.
    public var description: String { "cache key" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}

extension Caching.Key {
    /// Returns the key of the response to `request`, one of the variants for this URI.
    ///
    /// - Parameters:
    ///   - generation: The number of the list of variants.
    ///   - names: The folded names of the fields that Vary lists.
    ///   - exchange: The request, whose credentials are part of the key as well.
    /// - Returns: The key.
    func variant(_ generation: UInt64, _ names: [String], of exchange: CacheExchange) -> Caching.Key {
        let request = exchange.request
        var text = variantWithoutFields(generation).text
        for name in names {
            text += "\n\(name)"
            guard let value = request.header[Field.Name(name)] else { continue }
            text += ":\(Self.normalized(value))"
        }
        text += request.credentialText
        if !exchange.caller.isEmpty { text += "\n\n#\(exchange.caller)" }
        return Caching.Key(text: text)
    }

    /// Returns the key of the response that does not depend on fields, to requests without credentials.
    func variantWithoutFields(_ generation: UInt64) -> Caching.Key { Caching.Key(text: "\(text) \(generation)") }

    /// Returns `value` without white space around commas, which does not change a list (RFC 9111 §4.1).
    private static func normalized(_ value: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(value.utf8.count)
        var spaces: [UInt8] = []
        for byte in value.utf8 {
            if byte == 0x20 || byte == 0x09 {
                spaces.append(byte)
            } else {
                let isBesideComma = byte == UInt8(ascii: ",") || bytes.isEmpty || bytes.last == UInt8(ascii: ",")
                if !isBesideComma { bytes += spaces }
                spaces = []
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Field.Name {
    /// Whether the field may identify a user: its name has a word such as token or key, or ``Redaction/standard``
    /// contains it.
    var isCredential: Bool {
        // User-Agent names the program, and nearly every request has it.
        (hasCredentialWord || Redaction.standard.isSecret(self)) && self != .userAgent
    }

    /// The words in lower case.
    private static let credentialWords = [
        "auth", "token", "key", "secret", "session", "credential", "cookie", "user", "account",
    ].map { Array($0.utf8) }

    private var hasCredentialWord: Bool {
        rawValue.utf8.withContiguousStorageIfAvailable(Self.haveCredentialWord)
            ?? Array(rawValue.utf8).withUnsafeBufferPointer(Self.haveCredentialWord)
    }

    private static func haveCredentialWord(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for start in bytes.indices {
            // The first letters of the words; most positions fail this check.
            switch bytes[start] | 0x20 {
            case UInt8(ascii: "a"), UInt8(ascii: "c"), UInt8(ascii: "k"), UInt8(ascii: "s"), UInt8(ascii: "t"),
                UInt8(ascii: "u"):
                break
            default: continue
            }
            let isFound = credentialWords.contains { word in
                word.count <= bytes.count - start && word.indices.allSatisfy { bytes[start + $0] | 0x20 == word[$0] }
            }
            if isFound { return true }
        }
        return false
    }
}

extension PreparedRequest {
    /// Whether the response may be meant for one user.
    ///
    /// The request has credentials that this cache can see, which are secret fields or userinfo, or it is sent without
    /// cookies.
    var hasCredentials: Bool {
        if hasUserinfo || declinesCookies { return true }
        guard hasFields else { return false }
        let own = redirectPolicy.sensitiveFields
        return header.contains { $0.name.isCredential || !own.isEmpty && own.contains($0.name) }
    }

    /// The request's credentials as lines of a key; empty if there are none.
    fileprivate var credentialText: String {
        guard hasCredentials else { return "" }
        var text = "\n"
        if let userinfo = target.userinfo { text += "\n@\(userinfo)" }
        if declinesCookies { text += "\n-cookies" }
        let own = redirectPolicy.sensitiveFields
        for field in header where field.name.isCredential || own.contains(field.name) {
            text += "\n\(field.name.canonicalName):\(field.value)"
        }
        return text
    }
}
