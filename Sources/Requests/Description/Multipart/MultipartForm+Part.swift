extension MultipartForm {
    /// One part of a multipart form (RFC 7578): a header and content.
    ///
    /// In the name and the filename, quotation marks and control characters (U+0000 to U+001F and U+007F) are sent as
    /// `%XX`; all other text is sent as UTF-8.
    ///
    /// ```swift
    /// let parts: [MultipartForm.Part] = [
    ///     .text("Hello", name: "message"), .file(at: photo, name: "photo"),
    /// ]
    /// api.post(.multipart(parts), to: "/posts")
    /// ```
    public struct Part: Sendable {
        enum Content: Sendable {
            case body(RequestBody)
            case file(URL, range: Range<Int>?)
            case deferred(DeferredParts)
        }

        let content: Content
        /// The name and the filename; nil when `fields` is the whole header.
        let disposition: (name: String, filename: String?)?
        /// The content type; nil to use the default of the form's style.
        let contentType: MediaType?
        private(set) var fields: Header

        private init(
            _ content: Content, disposition: (name: String, filename: String?)?, contentType: MediaType?,
            fields: Header = .empty
        ) {
            self.content = content
            self.disposition = disposition
            self.contentType = contentType
            self.fields = fields
        }

        /// Returns `text` with quotation marks and all control characters escaped as `%XX`.
        ///
        /// Of the control characters, browsers escape only CR and LF (decision 0023).
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
}

extension MultipartForm.Part {
    /// Returns a part with `text` in UTF-8; without a `contentType`, the form's style decides.
    public static func text(_ text: String, name: String, contentType: MediaType? = nil) -> MultipartForm.Part {
        MultipartForm.Part(
            .body(.bytes(Data(text.utf8))), disposition: (name, nil), contentType: contentType)
    }

    /// Returns a part with the bytes of `data`.
    public static func data(
        _ data: Data, name: String, filename: String? = nil, contentType: MediaType = .binary
    ) -> MultipartForm.Part {
        MultipartForm.Part(.body(.bytes(data)), disposition: (name, filename), contentType: contentType)
    }

    /// Returns a part with the file at `url`, or with the bytes of the file in `range`.
    ///
    /// The file is read while it is sent.
    ///
    /// Without a `filename` it has the last path component of the URL, and without a `contentType`, the filename
    /// extension decides. Preparing the request throws when `url` is not a file URL or the file cannot be read.
    public static func file(
        at url: URL, name: String, filename: String? = nil, contentType: MediaType? = nil, range: Range<Int>? = nil
    ) -> MultipartForm.Part {
        MultipartForm.Part(
            .file(url, range: range), disposition: (name, filename ?? url.lastPathComponent),
            contentType: contentType ?? MediaType(filename: url.lastPathComponent))
    }

    /// Returns a part with `body`, such as a stream; a declared length is checked while the body is sent.
    public static func body(
        _ body: RequestBody, name: String, filename: String? = nil, contentType: MediaType = .binary
    ) -> MultipartForm.Part {
        MultipartForm.Part(.body(body), disposition: (name, filename), contentType: contentType)
    }

    /// Returns a part with `body` and the complete header `header`, which includes Content-Disposition.
    public static func part(_ body: RequestBody, header: Header) -> MultipartForm.Part {
        MultipartForm.Part(.body(body), disposition: nil, contentType: nil, fields: header)
    }

    /// Returns a placeholder for parts that `make` creates when the body is first sent.
    ///
    /// `make` is called once, even if the body is sent again. The length of a form with such parts is unknown until
    /// then. An error of `make` ends the exchange, and the next transmission calls it again. A cancelled call does not
    /// cancel `make`, because other calls may wait for its parts.
    public static func deferred(
        _ make: @escaping @Sendable () async throws -> [MultipartForm.Part]
    ) -> MultipartForm.Part {
        MultipartForm.Part(.deferred(DeferredParts(make)), disposition: nil, contentType: nil)
    }

    /// Returns this part with `headerField` added to its header.
    ///
    /// Preparing the request throws when the name is not a token or the value contains a control character.
    public func adding(headerField: Field) -> MultipartForm.Part {
        var copy = self
        copy.fields.add(headerField)
        return copy
    }
}

extension MultipartForm.Part {
    /// Appends the header of the part and the empty line after it.
    ///
    /// - Throws: `BodyProvider.BodyError.invalidPartField` for a field that is not allowed in a message.
    func appendHeader(in style: MultipartForm.Style, to bytes: inout [UInt8]) throws(BodyProvider.BodyError) {
        if let disposition {
            bytes.append(contentsOf: "Content-Disposition: form-data; name=\"".utf8)
            bytes.append(contentsOf: Self.escaped(disposition.name).utf8)
            if let filename = disposition.filename {
                bytes.append(contentsOf: "\"; filename=\"".utf8)
                bytes.append(contentsOf: Self.escaped(filename).utf8)
            }
            bytes.append(contentsOf: "\"\r\n".utf8)
            // A Content-Type among the added fields takes precedence.
            if let type = contentType ?? style.textType, !fields.contains(.contentType) {
                try Self.append(.contentType(type), to: &bytes)
            }
        }
        for field in fields { try Self.append(field, to: &bytes) }
        bytes.append(contentsOf: "\r\n".utf8)
    }

    private static func append(_ field: Field, to bytes: inout [UInt8]) throws(BodyProvider.BodyError) {
        guard field.name.isValid, !field.value.utf8.contains(where: Token.isForbiddenInValue) else {
            throw .invalidPartField
        }
        bytes.append(contentsOf: field.name.rawValue.utf8)
        bytes.append(contentsOf: ": ".utf8)
        bytes.append(contentsOf: field.value.utf8)
        bytes.append(contentsOf: "\r\n".utf8)
    }
}
