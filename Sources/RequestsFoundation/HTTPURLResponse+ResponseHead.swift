extension ResponseHead {
    /// The head of a response of Foundation's.
    ///
    /// The fields come in the order of their names, because Foundation keeps none. What Foundation joined stays joined,
    /// except Set-Cookie and Location, which are cut into their values again. Foundation spells known names its own way (`Etag`);
    /// looking them up does not mind.
    ///
    /// - Throws: `RequestError` with `invalidRequest` when the response has no URL of a host.
    public init(_ response: HTTPURLResponse) throws(RequestError) {
        guard let url = response.url else { throw RequestError(.invalidRequest(.malformedURL), detail: "no URL") }
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
        if name == .setCookie { return SetCookieList.split(value).map { Field(name: name, value: $0) } }
        guard name == .location else { return [Field(name: name, value: value)] }
        // A reference may contain a comma but not a space (RFC 3986 §2), so the two together separate fields.
        return split(value).map { Field(name: name, value: $0) }
    }
}

extension ResponseHead {
    /// The parts of `joined` between a comma and a space.
    private static func split(_ joined: String) -> [String] {
        var values: [[UInt8]] = [[]]
        for byte in joined.utf8 {
            if byte == UInt8(ascii: " "), values.last?.last == UInt8(ascii: ",") {
                values[values.count - 1].removeLast()
                values.append([])
            } else {
                values[values.count - 1].append(byte)
            }
        }
        return values.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension HTTPURLResponse {
    /// The head of a response as Foundation's type; nil when Foundation refuses it.
    ///
    /// Repeated fields are joined, those of Set-Cookie with a comma and a space, as Foundation itself does.
    public convenience init?(_ head: ResponseHead) {
        var fields = head.header.dictionaryValue
        for name in fields.keys where Field.Name.setCookie ~= name {
            fields[name] = head.header.values(of: .setCookie).joined(separator: ", ")
        }
        self.init(url: head.url, statusCode: head.status.code, httpVersion: "HTTP/1.1", headerFields: fields)
    }
}

/// Set-Cookie fields that were joined with commas, which the dates in them hold as well (RFC 6265 §3).
package enum SetCookieList {
    /// The cookies of `joined`: a comma separates two where a name and `=` follow it.
    package static func split(_ joined: String) -> [String] {
        var cookies: [String] = []
        // By octets: a mark behind a comma or an equals sign makes another Character of it.
        var rest = joined.utf8[...]
        var searchStart = rest.startIndex
        while let comma = rest[searchStart...].firstIndex(of: UInt8(ascii: ",")) {
            let following = rest[rest.index(after: comma)...].drop(while: isBlank)
            searchStart = following.startIndex
            guard beginsCookie(following) else { continue }
            cookies.append(String(Substring(rest[..<comma])))
            rest = following
        }
        cookies.append(String(Substring(rest)))
        return cookies
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func beginsCookie(_ text: Substring.UTF8View) -> Bool {
        guard let end = text.firstIndex(where: { "=;,".utf8.contains($0) }), text[end] == UInt8(ascii: "=") else {
            return false
        }
        return !text[..<end].isEmpty && !text[..<end].contains(where: isBlank)
    }
}
