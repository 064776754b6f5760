/// Makes the body of a request, and says in the header what it is.
///
/// It is called each time the request is prepared, with a copy of the header that is kept only when nothing was thrown.
public struct BodyProvider: Sendable {
    /// What parameters that are added to the request must know of its body.
    enum Kind: Sendable {
        case none
        case multipart(MultipartForm)
        case other
    }

    let kind: Kind
    private let encode: @Sendable (inout Header) throws -> RequestBody

    /// A provider that makes its body with `encode`, which sets Content-Type.
    public init(encode: @escaping @Sendable (inout Header) throws -> RequestBody) {
        self.init(kind: .other, encode: encode)
    }

    init(kind: Kind, encode: @escaping @Sendable (inout Header) throws -> RequestBody) {
        self.kind = kind
        self.encode = encode
    }

    package func body(updating header: inout Header) throws -> RequestBody {
        try encode(&header)
    }
}

extension BodyProvider {
    /// No body; a Content-Type that the header has is removed, as it would describe nothing.
    public static var none: BodyProvider {
        BodyProvider(kind: .none) { header in
            header.remove(.contentType)
            return .none
        }
    }

    /// The bytes of `data`, which are of `contentType`.
    public static func raw(data: Data, contentType: MediaType = .binary) -> BodyProvider {
        body(.bytes(data), contentType: contentType)
    }

    /// Any body, which is of `contentType`: a file, a stream.
    public static func body(_ body: RequestBody, contentType: MediaType = .binary) -> BodyProvider {
        BodyProvider { header in
            header.set(.contentType(contentType))
            return body
        }
    }

    /// `text` in UTF-8, as `text/plain; charset=utf-8`.
    public static func text(_ text: String) -> BodyProvider {
        raw(data: Data(text.utf8), contentType: .plainText)
    }

    /// `value` as JSON, encoded each time the request is prepared.
    ///
    /// The encoder is made for each use, because encoders are not safe to share; the usual one sorts keys and leaves
    /// slashes as they are, so that equal values give equal bytes. What it throws becomes
    /// ``RequestError/Reason/bodyNotEncoded`` with the encoder's error underneath.
    public static func json(
        _ value: some Encodable & Sendable,
        using makeEncoder: @escaping @Sendable () -> JSONEncoder = BodyProvider.deterministicEncoder
    ) -> BodyProvider {
        BodyProvider { header in
            let data = try makeEncoder().encode(value)
            header.set(.contentType(.json))
            return .bytes(data)
        }
    }

    /// `value` as JSON, encoded at once by `encoder`; what that throws is thrown when the request is prepared.
    ///
    /// The form of Requests 0.3.2, for values that are not `Sendable`.
    public static func json(
        encoded value: some Encodable, using encoder: JSONEncoder = BodyProvider.deterministicEncoder()
    ) -> BodyProvider {
        let result = Result { try encoder.encode(value) }
        return BodyProvider { header in
            let data = try result.get()
            header.set(.contentType(.json))
            return .bytes(data)
        }
    }
}

extension BodyProvider {
    /// An encoder whose output follows from the value alone: keys sorted, slashes not escaped.
    public static let deterministicEncoder: @Sendable () -> JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

/// Why text could not become a body.
public enum TextBodyEncodingError: Error, Hashable, Sendable {
    /// The text has no form in UTF-8; no Swift string lacks one, so only hand-written providers throw this.
    case utf8EncodingFailed
}
