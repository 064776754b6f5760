/// A cookie of a request: a name and a value (RFC 6265 §4.2).
///
/// A cookie has no domain, path or expiry date: you decide which requests include it.
public struct Cookie: Sendable {
    /// The name, a token that is compared with regard to case.
    public let name: String

    /// The value, sent unchanged.
    public let value: String

    /// Creates a cookie.
    ///
    /// - Parameters:
    ///   - name: The name, which must be a token.
    ///   - value: The value. It must not contain `;` or a control character, nor begin or end with white space, because
    ///     a server would read another value.
    /// - Throws: ``RequestError/InvalidRequest/invalidCookie`` if the name or the value is invalid.
    public init(name: String, value: String) throws(RequestError.InvalidRequest) {
        let edges = [value.utf8.first, value.utf8.last]
        guard Token.isToken(name), Token.isFieldValue(value), !value.utf8.contains(Self.semicolon),
            !edges.contains(0x20), !edges.contains(0x09)
        else { throw .invalidCookie }
        self.name = name
        self.value = value
    }

    fileprivate static var semicolon: UInt8 { 0x3B }
}

extension Cookie: Hashable {
    /// Returns whether the cookies have the same name and value, compared byte by byte.
    public static func == (left: Self, right: Self) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.value.hasSameBytes(as: right.value)
    }

    /// Hashes the bytes, so that equal cookies hash alike.
    public func hash(into hasher: inout Hasher) {
        name.hashBytes(into: &hasher)
        value.hashBytes(into: &hasher)
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// The name and ``Redaction/placeholder``, because the value is a secret.
    public var description: String { "\(name)=\(Redaction.placeholder)" }

    /// The mirror that `dump` prints, without the value.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}

extension Header {
    /// Adds `cookie` to the Cookie field, replacing a cookie of the same name.
    ///
    /// A replaced cookie keeps its position; a new one is added last. Other cookies stay unchanged. The header then has
    /// one Cookie field (RFC 6265 §5.4).
    public mutating func set(cookie: Cookie) {
        let pair = "\(cookie.name)=\(cookie.value)"
        var pairs = (self[.cookie] ?? "").utf8.split(separator: Cookie.semicolon)
            .map { String(Substring($0.trimmingBlanks)) }
            .filter { !$0.isEmpty }
        let place = pairs.firstIndex { Self.isNamed(cookie.name, $0) } ?? pairs.endIndex
        pairs.removeAll { Self.isNamed(cookie.name, $0) }
        pairs.insert(pair, at: place)
        self[.cookie] = pairs.joined(separator: "; ")
    }

    /// Returns whether the bytes of `pair` before the first equals sign equal `name`.
    private static func isNamed(_ name: String, _ pair: String) -> Bool {
        pair.utf8.prefix { $0 != UInt8(ascii: "=") }.elementsEqual(name.utf8)
    }
}
