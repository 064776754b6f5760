extension TargetURI {
    /// Creates a target from an absolute URI with an authority (RFC 3986 §3).
    ///
    /// Bytes that are not allowed in a path or query are percent-encoded; valid `%XX` is kept. The segments `.` and
    /// `..` are resolved, percent-encoded ones included. A host that ends in a number must be an IPv4 address of four
    /// decimal numbers, because resolvers disagree on other forms such as `0x7f.1` and `2130706433`.
    ///
    /// The zone of an IPv6 address is text for user interfaces (RFC 9844). It follows `%25` (RFC 6874), or `%` if the
    /// next two characters are not hexadecimal digits. The zone is not decoded and must not contain another `%`.
    ///
    /// - Parameter text: The URI.
    /// - Throws: ``RequestError/InvalidRequest/malformedURL``, ``RequestError/InvalidRequest/invalidHost``,
    ///   ``RequestError/InvalidRequest/nonASCIIHost`` or ``RequestError/InvalidRequest/controlCharacterInPath``.
    public init(_ text: String) throws(RequestError.InvalidRequest) {
        let bytes = Array(text.utf8)[...]
        guard let scheme = Self.scheme(of: bytes) else { throw .malformedURL }
        let afterScheme = bytes.dropFirst(scheme.utf8.count + 1)
        guard afterScheme.starts(with: "//".utf8) else { throw .malformedURL }
        let parts = URIReference(afterScheme)
        guard let authority = parts.authority else { throw .malformedURL }
        try self.init(scheme: scheme, authority: authority, parts: parts)
    }

    /// Creates a target from the parts of a URI, which are neither decoded nor validated yet.
    init(scheme: String, authority: ArraySlice<UInt8>, parts: URIReference) throws(RequestError.InvalidRequest) {
        let authority = try Authority(authority)
        self.init(
            scheme: scheme, userinfo: authority.userinfo, host: authority.host, zone: authority.zone,
            port: authority.port, path: Self.removingDotSegments(from: try Self.encoded(parts.path, with: .path)),
            query: try Self.encoded(parts.query), fragment: try Self.encoded(parts.fragment))
    }

    /// Returns the target of another request to the same server, without parsing the authority again.
    ///
    /// - Parameter text: The request target in origin-form (RFC 9112 §3.2.1), which begins with a slash.
    /// - Returns: The target.
    /// - Throws: ``RequestError/InvalidRequest/controlCharacterInPath``.
    package func replacing(requestTarget text: String) throws(RequestError.InvalidRequest) -> TargetURI {
        // Most targets are paths that encoding does not change, and so they are not copied.
        if text.utf8.allSatisfy(PercentEncoding.path.allows) {
            return replacing(path: Self.removingDotSegments(from: text), query: nil, fragment: nil)
        }
        let parts = URIReference(Array(text.utf8)[...], hasAuthority: false)
        return replacing(
            path: Self.removingDotSegments(from: try Self.encoded(parts.path, with: .path)),
            query: try Self.encoded(parts.query), fragment: try Self.encoded(parts.fragment))
    }

    /// Returns a part of a URI, encoded with `encoding`; valid `%XX` is kept.
    static func encoded(
        _ text: ArraySlice<UInt8>, with encoding: PercentEncoding
    ) throws(RequestError.InvalidRequest) -> String {
        guard !text.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .controlCharacterInPath }
        return encoding.encodeKeepingEscapes(text)
    }

    /// Returns a query or a fragment, which allow the same characters, encoded; nil if it is nil.
    static func encoded(_ text: ArraySlice<UInt8>?) throws(RequestError.InvalidRequest) -> String? {
        guard let text else { return nil }
        return try encoded(text, with: .query)
    }

    /// Returns the scheme at the beginning of `text` in lower case (RFC 3986 §3.1), or nil if there is none.
    package static func scheme(of text: some Collection<UInt8>) -> String? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = text[..<colon]
        // The two usual schemes: literals save an allocation.
        if name.elementsEqual("https".utf8) { return "https" }
        if name.elementsEqual("http".utf8) { return "http" }
        return isScheme(name) ? String(decoding: name.map(ASCIIFolding.folded), as: UTF8.self) : nil
    }

    /// Returns whether `name` is a valid URI scheme (RFC 3986 §3.1).
    package static func isScheme(_ name: some Collection<UInt8>) -> Bool {
        guard let first = name.first else { return false }
        return isLetter(first) && name.allSatisfy(isSchemeByte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }
}

/// The parts of a URI reference without its scheme (RFC 3986 §4.1), with nothing decoded.
struct URIReference {
    var authority: ArraySlice<UInt8>?
    var path: ArraySlice<UInt8>
    var query: ArraySlice<UInt8>?
    var fragment: ArraySlice<UInt8>?

    /// Creates a reference from `text`; two slashes at its beginning precede an authority, unless `hasAuthority` is
    /// false.
    init(_ text: ArraySlice<UInt8>, hasAuthority: Bool = true) {
        var remainder = text
        // The fragment first: it may contain `?`, and a query may contain `/`.
        if let mark = remainder.firstIndex(of: UInt8(ascii: "#")) {
            fragment = remainder[(mark + 1)...]
            remainder = remainder[..<mark]
        }
        if let mark = remainder.firstIndex(of: UInt8(ascii: "?")) {
            query = remainder[(mark + 1)...]
            remainder = remainder[..<mark]
        }
        if hasAuthority, remainder.starts(with: "//".utf8) {
            remainder = remainder.dropFirst(2)
            let end = remainder.firstIndex(of: UInt8(ascii: "/")) ?? remainder.endIndex
            authority = remainder[..<end]
            remainder = remainder[end...]
        }
        path = remainder
    }
}

/// The parts of the authority of a URI (RFC 3986 §3.2).
private struct Authority {
    var userinfo: String?
    var host: String
    var zone: String?
    var port: Int?

    init(_ text: ArraySlice<UInt8>) throws(RequestError.InvalidRequest) {
        var remainder = text
        // The last `@`: a password may contain others.
        if let at = remainder.lastIndex(of: UInt8(ascii: "@")) {
            guard !remainder[..<at].contains(where: Self.isAmbiguous) else { throw .invalidHost }
            userinfo = String(decoding: remainder[..<at], as: UTF8.self)
            remainder = remainder[(at + 1)...]
        }
        let portStart: Int
        if remainder.first == UInt8(ascii: "[") {
            guard let bracket = remainder.firstIndex(of: UInt8(ascii: "]")) else { throw .invalidHost }
            portStart = bracket + 1
            (host, zone) = try Self.literal(remainder[(remainder.startIndex + 1)..<bracket])
        } else {
            portStart = remainder.firstIndex(of: UInt8(ascii: ":")) ?? remainder.endIndex
            host = try Self.name(remainder[..<portStart])
        }
        port = try Self.port(remainder[portStart...])
    }

    /// Returns whether other parsers might end the authority at `byte` and so read another host.
    private static func isAmbiguous(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "\\")
    }

    /// Returns the port in `text`, which is a colon and digits; nil if there are no digits.
    private static func port(_ text: ArraySlice<UInt8>) throws(RequestError.InvalidRequest) -> Int? {
        guard let first = text.first else { return nil }
        let digits = text.dropFirst()
        guard first == UInt8(ascii: ":"), digits.allSatisfy({ $0 &- 0x30 < 10 }) else { throw .malformedURL }
        guard !digits.isEmpty else { return nil }
        guard let number = UInt16(String(decoding: digits, as: UTF8.self)) else { throw .malformedURL }
        return Int(number)
    }

    /// Returns an IPv6 address in canonical form with brackets, and its zone.
    private static func literal(
        _ text: ArraySlice<UInt8>
    ) throws(RequestError.InvalidRequest) -> (host: String, zone: String?) {
        let percent = text.firstIndex(of: UInt8(ascii: "%"))
        let address = String(decoding: text[..<(percent ?? text.endIndex)], as: UTF8.self)
        guard let canonical = IPAddressText.canonicalIPv6(address[...]) else { throw .invalidHost }
        guard let percent else { return ("[\(canonical)]", nil) }
        return ("[\(canonical)]", try zone(text[(percent + 1)...]))
    }

    /// Returns the zone of an IPv6 address from the text after its `%`; only a leading `%25` may be encoded.
    private static func zone(_ text: ArraySlice<UInt8>) throws(RequestError.InvalidRequest) -> String {
        let isEscaped = text.starts(with: "25".utf8)
        let zone = isEscaped ? text.dropFirst(2) : text
        // `%31` would be a zone to this parser and the character `1` to another.
        let isAmbiguous = !isEscaped && zone.count > 1 && zone.prefix(2).allSatisfy { Hex.value(of: $0) != nil }
        guard !isAmbiguous, Token.isToken(zone), !zone.contains(UInt8(ascii: "%")) else { throw .invalidHost }
        return String(decoding: zone, as: UTF8.self)
    }

    /// Returns a registered name or IPv4 address in lower case.
    ///
    /// Nothing is decoded, because no byte that needs encoding is allowed in a host.
    private static func name(_ text: ArraySlice<UInt8>) throws(RequestError.InvalidRequest) -> String {
        guard !text.isEmpty else { throw .invalidHost }
        guard text.allSatisfy(isHostByte) else {
            throw text.contains { $0 >= 0x80 } || containsNonASCIIEscape(text) ? .nonASCIIHost : .invalidHost
        }
        let host = ASCIIFolding.folded(String(decoding: text, as: UTF8.self))
        // Resolvers disagree on other numbers as hosts (decision 0004).
        if mayEndInNumber(text), IPAddressText.endsInNumber(host[...]), !IPAddressText.isIPv4(host[...]) {
            throw .invalidHost
        }
        return host
    }

    /// Returns whether the last label begins with a digit: a fast check, true for every host that ends in a number.
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

    /// Returns whether the text contains a `%XX` of a byte outside ASCII.
    private static func containsNonASCIIEscape(_ text: ArraySlice<UInt8>) -> Bool {
        text.indices.contains { index in
            guard text[index] == UInt8(ascii: "%"), index + 1 < text.endIndex else { return false }
            return Hex.value(of: text[index + 1]).map { $0 >= 8 } ?? false
        }
    }
}
