/// One part of a multipart form (RFC 7578): a header and content.
///
/// In its name and file name the quotation mark and every control character, NUL to U+001F and U+007F, are sent as `%XX`;
/// all other text is sent as UTF-8.
///
/// ```swift
/// api.post(.multipart([.text("Hello", name: "message"), .file(at: photo, name: "photo")]), to: "/posts")
/// ```
public struct MultipartPart: Sendable {
    enum Content: Sendable {
        case body(RequestBody)
        case file(URL, range: Range<Int>?)
        case deferred(DeferredParts)
    }

    let content: Content
    /// The value of Content-Disposition, already escaped; nil when the header says it all.
    let disposition: String?
    /// The type to send; nil for what the form's style gives.
    private let contentType: MediaType?
    private var fields: Header

    private init(_ content: Content, disposition: String?, contentType: MediaType?, fields: Header = .empty) {
        self.content = content
        self.disposition = disposition
        self.contentType = contentType
        self.fields = fields
    }

    private static func disposition(_ name: String, _ fileName: String?) -> String {
        let file = fileName.map { "; filename=\"\(escaped($0))\"" } ?? ""
        return "form-data; name=\"\(escaped(name))\"\(file)"
    }

    /// Escapes the quotation mark, every control of C0 and DEL as `%XX`; browsers escape only CR and LF of the controls
    /// (Docs/Decisions/0023-protocol-text-is-bytes.md).
    private static func escaped(_ text: String) -> String {
        let isEscaped = { (byte: UInt8) in byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\"") }
        guard text.utf8.contains(where: isEscaped) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isEscaped(byte) {
                bytes += [UInt8(ascii: "%"), Hex.digit(byte >> 4), Hex.digit(byte & 15)]
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension MultipartPart {
    /// `text` in UTF-8; the form's style says which content type it gets when none is given.
    public static func text(_ text: String, name: String, contentType: MediaType? = nil) -> MultipartPart {
        MultipartPart(
            .body(.bytes(Data(text.utf8))), disposition: disposition(name, nil), contentType: contentType)
    }

    /// The bytes of `data`.
    public static func data(
        _ data: Data, name: String, fileName: String? = nil, contentType: MediaType = .binary
    ) -> MultipartPart {
        MultipartPart(.body(.bytes(data)), disposition: disposition(name, fileName), contentType: contentType)
    }

    /// The file at `url`, or the `range` of its bytes, read while it is sent.
    ///
    /// The file name is the URL's last component and the content type that usual for its extension, unless others are
    /// given. A URL that names no file, or a file that cannot be read, makes preparing the request throw.
    public static func file(
        at url: URL, name: String, fileName: String? = nil, contentType: MediaType? = nil, range: Range<Int>? = nil
    ) -> MultipartPart {
        MultipartPart(
            .file(url, range: range), disposition: disposition(name, fileName ?? url.lastPathComponent),
            contentType: contentType ?? MediaType(forFileName: url.lastPathComponent))
    }

    /// Any body: a stream, with its length if that is known; the length is checked while it is sent.
    public static func body(
        _ body: RequestBody, name: String, fileName: String? = nil, contentType: MediaType = .binary
    ) -> MultipartPart {
        MultipartPart(.body(body), disposition: disposition(name, fileName), contentType: contentType)
    }

    /// Any body under a header of one's own, Content-Disposition included.
    public static func part(_ body: RequestBody, header: Header) -> MultipartPart {
        MultipartPart(.body(body), disposition: nil, contentType: nil, fields: header)
    }

    /// Parts that are made when the body is first sent, in this place; `make` is run once, whatever retries follow.
    ///
    /// The length of a form with such a part is not known before. An error `make` throws ends the exchange, and the next
    /// sending runs it again; a cancelled call does not cancel it, as another may wait for its parts.
    public static func deferred(_ make: @escaping @Sendable () async throws -> [MultipartPart]) -> MultipartPart {
        MultipartPart(.deferred(DeferredParts(make)), disposition: nil, contentType: nil)
    }

    /// This part with `headerField` added to its header.
    ///
    /// A name that is no token or a value with a control byte makes preparing the request throw.
    public func adding(headerField: Field) -> MultipartPart {
        var copy = self
        copy.fields.add(headerField)
        return copy
    }
}

extension MultipartPart {
    /// Appends the part's header and the empty line after it.
    ///
    /// - Throws: `InvalidBody.invalidPartField`.
    func appendHeader(in style: MultipartStyle, to bytes: inout [UInt8]) throws(InvalidBody) {
        if let disposition {
            bytes.append(contentsOf: "Content-Disposition: ".utf8)
            bytes.append(contentsOf: disposition.utf8)
            bytes.append(contentsOf: "\r\n".utf8)
            if let type = contentType ?? style.textType, !fields.contains(.contentType) {
                try Self.append(.contentType(type), to: &bytes)
            }
        }
        for field in fields { try Self.append(field, to: &bytes) }
        bytes.append(contentsOf: "\r\n".utf8)
    }

    private static func append(_ field: Field, to bytes: inout [UInt8]) throws(InvalidBody) {
        guard field.name.isValid, !field.value.utf8.contains(where: Token.isForbiddenInValue) else {
            throw .invalidPartField
        }
        bytes.append(contentsOf: field.name.rawValue.utf8)
        bytes.append(contentsOf: ": ".utf8)
        bytes.append(contentsOf: field.value.utf8)
        bytes.append(contentsOf: "\r\n".utf8)
    }
}
