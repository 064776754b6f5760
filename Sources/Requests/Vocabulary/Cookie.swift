/// A cookie as a request carries it: a name and a value (RFC 6265 §4.2).
///
/// It has no domain, path or date: which request carries it is for the caller to say.
public struct Cookie: Sendable {
    /// The name, a token; `a` and `A` are two cookies.
    public let name: String

    /// The value, sent as it is.
    public let value: String

    /// A cookie of `name` and `value`.
    ///
    /// - Throws: ``InvalidRequest/invalidCookie`` when the name is no token, or when the value holds `;`, a control byte,
    ///   or white space at either end, which would not arrive as they are.
    public init(name: String, value: String) throws(InvalidRequest) {
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
    /// Whether name and value have the same octets.
    public static func == (left: Self, right: Self) -> Bool {
        OctetText.areEqual(left.name, right.name) && OctetText.areEqual(left.value, right.value)
    }

    /// Hashes the octets, so that equal cookies hash alike.
    public func hash(into hasher: inout Hasher) {
        OctetText.hash(name, into: &hasher)
        OctetText.hash(value, into: &hasher)
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// The name, and a mark in the place of the value, which is a secret.
    public var description: String { "\(name)=\(Redaction.mark)" }

    /// What `dump` sees: never the value.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}

extension Header {
    /// Adds `cookie` to those that the Cookie field has, in the place of one of the same name, else behind them.
    ///
    /// There is one Cookie field then (RFC 6265 §5.4); what stands in it otherwise stays as it is.
    public mutating func set(cookie: Cookie) {
        let pair = "\(cookie.name)=\(cookie.value)"
        var pairs = (self[.cookie] ?? "").utf8.split(separator: Cookie.semicolon)
            .map { Self.trimmed($0) }
            .filter { !$0.isEmpty }
        let place = pairs.firstIndex { Self.isNamed(cookie.name, $0) } ?? pairs.endIndex
        pairs.removeAll { Self.isNamed(cookie.name, $0) }
        pairs.insert(pair, at: place)
        self[.cookie] = pairs.joined(separator: "; ")
    }

    private static func trimmed(_ pair: Substring.UTF8View) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let end = pair.lastIndex { !isBlank($0) }.map(pair.index(after:)) ?? pair.startIndex
        return String(Substring(pair[..<end].drop(while: isBlank)))
    }

    /// Whether the name of `pair` is `name`: its bytes up to the first equals sign, whatever mark follows that.
    private static func isNamed(_ name: String, _ pair: String) -> Bool {
        pair.utf8.prefix { $0 != UInt8(ascii: "=") }.elementsEqual(name.utf8)
    }
}
