extension TargetURI {
    /// Reads an absolute URI with an authority (RFC 3986 §3).
    ///
    /// Bytes that may not stand in a path or query are percent-encoded; valid `%XX` is kept. The segments `.` and `..`
    /// are resolved, escaped ones too. A host that ends in a number must be an IPv4 address in its usual form, because
    /// resolvers read the others (`0x7f.1`, `2130706433`) each in their own way.
    ///
    /// - Throws: `InvalidRequest.malformedURL`, `.invalidHost`, `.nonASCIIHost` or `.controlByteInPath`.
    public init(_ text: String) throws(InvalidRequest) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(text[..<colon]) else {
            throw .malformedURL
        }
        let afterScheme = text[text.utf8.index(after: colon)...]
        guard afterScheme.utf8.starts(with: "//".utf8) else { throw .malformedURL }
        let parts = URIReference(afterScheme)
        guard let authority = parts.authority else { throw .malformedURL }
        try self.init(scheme: ASCIIFolding.folded(String(text[..<colon])), authority: authority, parts: parts)
    }

    init(scheme: String, authority: Substring, parts: URIReference) throws(InvalidRequest) {
        let authority = try Authority(authority)
        self.init(
            scheme: scheme, userinfo: authority.userinfo, host: authority.host, zone: authority.zone,
            port: authority.port, path: Self.removingDotSegments(from: try Self.encoded(parts.path, with: .path)),
            query: try parts.query.map { query throws(InvalidRequest) in try Self.encoded(query, with: .query) },
            fragment: try parts.fragment.map { text throws(InvalidRequest) in try Self.encoded(text, with: .query) })
    }

    static func encoded(_ text: Substring, with encoding: PercentEncoding) throws(InvalidRequest) -> String {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .controlByteInPath }
        return encoding.encodeKeepingEscapes(text)
    }

    static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, ASCIIFolding.folded(first) &- UInt8(ascii: "a") < 26 else { return false }
        return text.utf8.allSatisfy { byte in
            ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == 0x2B
                || byte == 0x2D || byte == 0x2E
        }
    }
}

/// A URI reference cut into its parts, nothing decoded (RFC 3986 §4.1); the scheme has been taken off before.
struct URIReference {
    var authority: Substring?
    var path: Substring
    var query: Substring?
    var fragment: Substring?

    init(_ text: Substring) {
        var rest = text
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[rest.utf8.index(after: mark)...]
            rest = rest[..<mark]
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[rest.utf8.index(after: mark)...]
            rest = rest[..<mark]
        }
        if rest.utf8.starts(with: "//".utf8) {
            rest = rest[rest.utf8.index(rest.startIndex, offsetBy: 2)...]
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
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

    init(_ text: Substring) throws(InvalidRequest) {
        var rest = text
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) {
            guard !rest[..<at].utf8.contains(where: Self.isAmbiguous) else { throw .invalidHost }
            userinfo = String(rest[..<at])
            rest = rest[rest.utf8.index(after: at)...]
        }
        let portStart: Substring.Index
        if rest.utf8.first == UInt8(ascii: "[") {
            guard let bracket = rest.utf8.firstIndex(of: UInt8(ascii: "]")) else { throw .invalidHost }
            portStart = rest.utf8.index(after: bracket)
            (host, zone) = try Self.literal(rest[rest.utf8.index(after: rest.startIndex)..<bracket])
        } else {
            portStart = rest.utf8.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            host = try Self.name(rest[..<portStart])
        }
        port = try Self.port(rest[portStart...])
    }

    /// Whether other readers would end the authority at `byte` and so see another host.
    private static func isAmbiguous(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "\\")
    }

    private static func port(_ text: Substring) throws(InvalidRequest) -> Int? {
        guard let first = text.utf8.first else { return nil }
        let digits = text.dropFirst()
        guard first == UInt8(ascii: ":"), digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { throw .malformedURL }
        guard !digits.isEmpty else { return nil }
        guard let number = UInt16(digits) else { throw .malformedURL }
        return Int(number)
    }

    /// An IPv6 address and its zone, which a URI writes after `%25` (RFC 6874).
    private static func literal(_ text: Substring) throws(InvalidRequest) -> (host: String, zone: String?) {
        let percent = text.utf8.firstIndex(of: UInt8(ascii: "%"))
        let address = text[..<(percent ?? text.endIndex)]
        guard let canonical = IPAddressText.canonicalIPv6(address) else { throw .invalidHost }
        guard let percent else { return ("[\(canonical)]", nil) }
        var zone = text[text.utf8.index(after: percent)...]
        if zone.utf8.starts(with: "25".utf8) { zone = zone.dropFirst(2) }
        guard Token.isToken(zone.utf8) else { throw .invalidHost }
        return ("[\(canonical)]", String(zone))
    }

    /// A registered name or IPv4 address; nothing is decoded, because no decoded byte would be a host's.
    private static func name(_ text: Substring) throws(InvalidRequest) -> String {
        guard !text.isEmpty else { throw .invalidHost }
        if text.utf8.contains(where: { $0 >= 0x80 }) || text.hasNonASCIIEscape { throw .nonASCIIHost }
        guard text.utf8.allSatisfy(isHostByte) else { throw .invalidHost }
        if IPAddressText.endsInNumber(text), !IPAddressText.isIPv4(text) { throw .invalidHost }
        return ASCIIFolding.folded(String(text))
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "~")
    }
}

extension Substring {
    /// Whether the text holds a `%XX` for a byte outside ASCII.
    fileprivate var hasNonASCIIEscape: Bool {
        var rest = utf8[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[rest.index(after: percent)...]
            if let digit = rest.first.flatMap(Hex.value), digit >= 8 { return true }
        }
        return false
    }
}
