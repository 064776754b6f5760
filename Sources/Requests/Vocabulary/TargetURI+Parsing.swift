extension TargetURI {
    /// Reads an absolute URI with an authority (RFC 3986 §3).
    ///
    /// Bytes that may not stand in a path or query are percent-encoded; valid `%XX` is kept. The segments `.` and `..`
    /// are resolved, escaped ones too. A host that ends in a number must be an IPv4 address in its usual form, because
    /// resolvers read the others (`0x7f.1`, `2130706433`) each in their own way.
    ///
    /// The zone of an IPv6 address is text for user interfaces (RFC 9844). It is read after `%25` (RFC 6874), and after
    /// `%` where the next two characters are not hexadecimal digits; nothing in it is decoded, and another `%` is refused.
    ///
    /// - Throws: `InvalidRequest.malformedURL`, `.invalidHost`, `.nonASCIIHost` or `.controlByteInPath`.
    public init(_ text: String) throws(InvalidRequest) {
        let bytes = Array(text.utf8)[...]
        guard let scheme = Self.scheme(of: bytes) else { throw .malformedURL }
        let afterScheme = bytes.dropFirst(scheme.utf8.count + 1)
        guard afterScheme.starts(with: "//".utf8) else { throw .malformedURL }
        let parts = URIReference(afterScheme)
        guard let authority = parts.authority else { throw .malformedURL }
        try self.init(scheme: scheme, authority: authority, parts: parts)
    }

    init(scheme: String, authority: ArraySlice<UInt8>, parts: URIReference) throws(InvalidRequest) {
        let authority = try Authority(authority)
        self.init(
            scheme: scheme, userinfo: authority.userinfo, host: authority.host, zone: authority.zone,
            port: authority.port, path: Self.removingDotSegments(from: try Self.encoded(parts.path, with: .path)),
            query: try parts.query.map { query throws(InvalidRequest) in try Self.encoded(query, with: .query) },
            fragment: try parts.fragment.map { text throws(InvalidRequest) in try Self.encoded(text, with: .query) })
    }

    static func encoded(_ text: ArraySlice<UInt8>, with encoding: PercentEncoding) throws(InvalidRequest) -> String {
        guard !text.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .controlByteInPath }
        return encoding.encodeKeepingEscapes(text)
    }

    /// The scheme that `text` begins with, in lower case (RFC 3986 §3.1); nil when it begins with none.
    static func scheme(of text: ArraySlice<UInt8>) -> String? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = text[..<colon]
        if name.elementsEqual("https".utf8) { return "https" }
        if name.elementsEqual("http".utf8) { return "http" }
        guard let first = name.first, isLetter(first), name.allSatisfy(isSchemeByte) else { return nil }
        return String(decoding: name.map(ASCIIFolding.folded), as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }
}

/// A URI reference cut into its parts, nothing decoded (RFC 3986 §4.1); the scheme has been taken off before.
struct URIReference {
    var authority: ArraySlice<UInt8>?
    var path: ArraySlice<UInt8>
    var query: ArraySlice<UInt8>?
    var fragment: ArraySlice<UInt8>?

    init(_ text: ArraySlice<UInt8>) {
        var rest = text
        if let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[(mark + 1)...]
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[(mark + 1)...]
            rest = rest[..<mark]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = rest[..<end]
            rest = rest[end...]
        }
        path = rest
    }
}

/// The authority of a URI in its parts (RFC 3986 §3.2).
private struct Authority {
    var userinfo: String?
    var host: String
    var zone: String?
    var port: Int?

    init(_ text: ArraySlice<UInt8>) throws(InvalidRequest) {
        var rest = text
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            guard !rest[..<at].contains(where: Self.isAmbiguous) else { throw .invalidHost }
            userinfo = String(decoding: rest[..<at], as: UTF8.self)
            rest = rest[(at + 1)...]
        }
        let portStart: Int
        if rest.first == UInt8(ascii: "[") {
            guard let bracket = rest.firstIndex(of: UInt8(ascii: "]")) else { throw .invalidHost }
            portStart = bracket + 1
            (host, zone) = try Self.literal(rest[(rest.startIndex + 1)..<bracket])
        } else {
            portStart = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            host = try Self.name(rest[..<portStart])
        }
        port = try Self.port(rest[portStart...])
    }

    /// Whether other readers would end the authority at `byte` and so see another host.
    private static func isAmbiguous(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "\\")
    }

    private static func port(_ text: ArraySlice<UInt8>) throws(InvalidRequest) -> Int? {
        guard let first = text.first else { return nil }
        let digits = text.dropFirst()
        guard first == UInt8(ascii: ":"), digits.allSatisfy({ $0 &- 0x30 < 10 }) else { throw .malformedURL }
        guard !digits.isEmpty else { return nil }
        guard let number = UInt16(String(decoding: digits, as: UTF8.self)) else { throw .malformedURL }
        return Int(number)
    }

    /// Reads an IPv6 address and its zone.
    private static func literal(_ text: ArraySlice<UInt8>) throws(InvalidRequest) -> (host: String, zone: String?) {
        let percent = text.firstIndex(of: UInt8(ascii: "%"))
        let address = String(decoding: text[..<(percent ?? text.endIndex)], as: UTF8.self)
        guard let canonical = IPAddressText.canonicalIPv6(address[...]) else { throw .invalidHost }
        guard let percent else { return ("[\(canonical)]", nil) }
        return ("[\(canonical)]", try zone(text[(percent + 1)...]))
    }

    /// Reads the text after the `%` of an IPv6 address, in which nothing may be a percent-encoding but a leading `%25`.
    private static func zone(_ text: ArraySlice<UInt8>) throws(InvalidRequest) -> String {
        let isEscaped = text.starts(with: "25".utf8)
        let zone = isEscaped ? text.dropFirst(2) : text
        // `%31` would be a zone to this reader and the character `1` to another.
        let isAmbiguous = !isEscaped && zone.count > 1 && zone.prefix(2).allSatisfy { Hex.value(of: $0) != nil }
        guard !isAmbiguous, Token.isToken(zone), !zone.contains(UInt8(ascii: "%")) else { throw .invalidHost }
        return String(decoding: zone, as: UTF8.self)
    }

    /// A registered name or IPv4 address; nothing is decoded, because no decoded byte would be a host's.
    private static func name(_ text: ArraySlice<UInt8>) throws(InvalidRequest) -> String {
        guard !text.isEmpty else { throw .invalidHost }
        guard text.allSatisfy(isHostByte) else {
            throw text.contains { $0 >= 0x80 } || holdsNonASCIIEscape(text) ? .nonASCIIHost : .invalidHost
        }
        let host = ASCIIFolding.folded(String(decoding: text, as: UTF8.self))
        if mayEndInNumber(text), IPAddressText.endsInNumber(host[...]), !IPAddressText.isIPv4(host[...]) {
            throw .invalidHost
        }
        return host
    }

    /// Whether a digit begins the last label: cheap, and true for every host that ends in a number.
    private static func mayEndInNumber(_ text: ArraySlice<UInt8>) -> Bool {
        let labels = text.last == UInt8(ascii: ".") ? text.dropLast() : text
        let label = labels[((labels.lastIndex(of: UInt8(ascii: ".")) ?? labels.startIndex - 1) + 1)...]
        return label.first.map { $0 &- UInt8(ascii: "0") < 10 } ?? false
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "~")
    }

    /// Whether the text holds a `%XX` for a byte outside ASCII.
    private static func holdsNonASCIIEscape(_ text: ArraySlice<UInt8>) -> Bool {
        text.indices.contains { index in
            guard text[index] == UInt8(ascii: "%"), index + 1 < text.endIndex else { return false }
            return Hex.value(of: text[index + 1]).map { $0 >= 8 } ?? false
        }
    }
}
