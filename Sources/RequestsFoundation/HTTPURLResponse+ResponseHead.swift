extension ResponseHead {
    /// Creates a head from Foundation's response.
    ///
    /// The fields are sorted by name, because Foundation keeps no order. White space around values is removed (RFC 9110
    /// §5.5). Foundation joins the values of repeated fields. They stay joined, except in Set-Cookie and Location,
    /// which are separated again where the text shows the place. Foundation changes the spelling of known names
    /// (`Etag`); lookups ignore case.
    ///
    /// - Throws: `RequestError` with `invalidRequest` if the response has no URL with a host.
    public init(_ response: HTTPURLResponse) throws(RequestError) {
        guard let url = response.url else {
            throw RequestError(.invalidRequest(.malformedURL), detail: "the response has no URL")
        }
        let target: TargetURI
        do {
            target = try TargetURI(url.absoluteString)
        } catch {
            throw RequestError(.invalidRequest(error))
        }
        let fields = response.allHeaderFields.flatMap { key, value in
            Self.fields(named: Field.Name("\(key)"), value: "\(value)")
        }
        self.init(
            status: HTTPStatus(response.statusCode),
            header: Header(fields.sorted { $0.name.canonicalName < $1.name.canonicalName }), target: target)
    }

    private static func fields(named name: Field.Name, value: String) -> [Field] {
        let values =
            switch name {
            case .setCookie: JoinedFields.cookies(of: value)
            case .location: JoinedFields.locations(of: value)
            default: [value]
            }
        return values.map { Field(name: name, value: JoinedFields.trimming($0)) }
    }
}

extension HTTPURLResponse {
    /// Creates Foundation's response with the status and the fields of `head`; nil if Foundation rejects them.
    ///
    /// Repeated fields are joined, Set-Cookie with a comma and a space, as Foundation itself does. The response has no
    /// version of HTTP, because a head has none.
    public convenience init?(_ head: ResponseHead) {
        var fields = head.header.dictionaryValue
        for name in fields.keys where Field.Name.setCookie ~= name {
            fields[name] = head.header.values(of: .setCookie).joined(separator: ", ")
        }
        self.init(url: head.url, statusCode: head.status.code, httpVersion: nil, headerFields: fields)
    }
}

/// The values of repeated fields, which Foundation joins with a comma and a space although the values may contain these
/// as well.
package enum JoinedFields {
    /// Returns the values of Location.
    ///
    /// A comma and a space separate two of them if `/` or a scheme with `://` follows.
    ///
    /// A valid reference contains no space (RFC 3986 §2), but servers send others, such as `/find?by=Doe, John`.
    package static func locations(of joined: String) -> [String] {
        split(joined) { place in
            let scheme = place.following.prefix(while: isInScheme)
            return place.isSpaced
                && (place.following.first == UInt8(ascii: "/")
                    || !scheme.isEmpty && place.following[scheme.endIndex...].starts(with: "://".utf8))
        }
    }

    /// Returns the values of Set-Cookie (RFC 6265 §4.1).
    ///
    /// A comma separates two of them if a name and `=` follow it. If a space follows it and the value before it ends in
    /// an attribute, it separates two of them as well, unless it is in the date of Expires.
    package static func cookies(of joined: String) -> [String] {
        split(joined) { place in
            if beginsCookie(place.following) { return true }
            guard place.isSpaced, let attribute = place.attribute?.drop(while: isBlank) else { return false }
            // Expires=Thu, 01 Jan 1970 00:00:00 GMT
            let isInDate =
                place.following.first.map(isDigit) == true
                && ASCIIFolding.areEqual(String(Substring(attribute.prefix(8))), "expires=")
                && !attribute.contains(where: isDigit)
            return !isInDate
        }
    }

    /// Returns `value` without spaces and tabs at its ends.
    package static func trimming(_ value: String) -> String {
        let start = value.utf8.drop(while: isBlank)
        guard let last = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(Substring(start[...last]))
    }

    /// A comma between two texts that are not empty.
    private struct Place {
        /// The text from the last semicolon of the value before the comma; nil if there is none.
        let attribute: Substring.UTF8View?
        /// Whether blanks follow the comma.
        let isSpaced: Bool
        /// The text after the comma and the blanks.
        let following: Substring.UTF8View
    }

    /// Splits `joined` at each comma that `separates` two values.
    private static func split(_ joined: String, where separates: (Place) -> Bool) -> [String] {
        var values: [String] = []
        // By octets, because a combining mark after a comma or an equals sign forms another Character with it.
        var remainder = joined.utf8[...]
        var searchStart = remainder.startIndex
        var semicolon: Substring.UTF8View.Index?
        while let comma = remainder[searchStart...].firstIndex(of: UInt8(ascii: ",")) {
            // Only the text since the last comma, so that the time stays proportional to the length.
            semicolon = remainder[searchStart..<comma].lastIndex(of: UInt8(ascii: ";")) ?? semicolon
            let end = remainder.index(after: comma)
            let following = remainder[end...].drop(while: isBlank)
            searchStart = following.startIndex
            let attribute = semicolon.map { remainder[remainder.index(after: $0)..<comma] }
            let place = Place(attribute: attribute, isSpaced: searchStart != end, following: following)
            guard !following.isEmpty, separates(place) else { continue }
            values.append(String(Substring(remainder[..<comma])))
            remainder = following
            semicolon = nil
        }
        values.append(String(Substring(remainder)))
        return values
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isInScheme(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || isDigit(byte) || "+-.".utf8.contains(byte)
    }

    private static func beginsCookie(_ text: Substring.UTF8View) -> Bool {
        guard let end = text.firstIndex(where: { "=;,".utf8.contains($0) }), text[end] == UInt8(ascii: "=") else {
            return false
        }
        return !text[..<end].isEmpty && !text[..<end].contains(where: isBlank)
    }
}
