extension ResponseHead {
    /// Creates a head from Foundation's response.
    ///
    /// The fields are sorted by name, because Foundation keeps no order. Values that Foundation has joined stay joined,
    /// except those of Set-Cookie and Location, which are separated again. Foundation changes the spelling of known
    /// names (`Etag`); lookups ignore case.
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
        if name == .setCookie { return SetCookieList.split(value).map { Field(name: name, value: $0) } }
        guard name == .location else { return [Field(name: name, value: value)] }
        // A reference may contain a comma but not a space (RFC 3986 §2), so the two together separate fields.
        return split(value).map { Field(name: name, value: $0) }
    }
}

extension ResponseHead {
    /// Returns the parts of `joined` that are separated by a comma and a space.
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
    /// Creates Foundation's response with the status and the fields of `head`; nil if Foundation rejects them.
    ///
    /// Repeated fields are joined, Set-Cookie with a comma and a space, as Foundation itself does.
    public convenience init?(_ head: ResponseHead) {
        var fields = head.header.dictionaryValue
        for name in fields.keys where Field.Name.setCookie ~= name {
            fields[name] = head.header.values(of: .setCookie).joined(separator: ", ")
        }
        self.init(url: head.url, statusCode: head.status.code, httpVersion: "HTTP/1.1", headerFields: fields)
    }
}

/// A function that separates Set-Cookie fields joined with commas, which dates in them contain as well (RFC 6265 §3).
package enum SetCookieList {
    /// Returns the cookies of `joined`: a comma separates two of them if a name and `=` follow it.
    package static func split(_ joined: String) -> [String] {
        var cookies: [String] = []
        // By octets, because a combining mark after a comma or an equals sign forms another Character with it.
        var remainder = joined.utf8[...]
        var searchStart = remainder.startIndex
        while let comma = remainder[searchStart...].firstIndex(of: UInt8(ascii: ",")) {
            let following = remainder[remainder.index(after: comma)...].drop(while: isBlank)
            searchStart = following.startIndex
            guard beginsCookie(following) else { continue }
            cookies.append(String(Substring(remainder[..<comma])))
            remainder = following
        }
        cookies.append(String(Substring(remainder)))
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
