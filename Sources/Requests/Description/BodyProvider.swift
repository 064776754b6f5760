/// A provider of a request body and of the fields that describe it.
///
/// It runs each time the request is prepared, with a copy of the header. When it throws, the copy is discarded.
public struct BodyProvider: Sendable {
    /// The kind of a body, which determines whether parameters of the request can be added to it.
    enum Kind: Sendable {
        case none
        case multipart(MultipartForm)
        case other
    }

    let kind: Kind
    /// Whether the kind is `none`; stored, because reading the kind would copy it.
    let isNone: Bool
    private let encode: Encode

    /// A function that produces the body; its second parameter creates the JSON encoder of the API.
    typealias Encode = @Sendable (inout Header, () -> JSONEncoder) throws -> RequestBody

    /// Creates a provider that produces the body with `encode`, which also sets Content-Type.
    public init(encode: @escaping @Sendable (inout Header) throws -> RequestBody) {
        self.init(kind: .other) { header, _ in try encode(&header) }
    }

    init(kind: Kind, encode: @escaping Encode) {
        self.kind = kind
        isNone = if case .none = kind { true } else { false }
        self.encode = encode
    }

    /// Returns the body, and sets the fields of `header` that describe it.
    ///
    /// `makeEncoder` creates the JSON encoder for a provider that has no encoder of its own.
    package func body(
        updating header: inout Header,
        encodingJSONWith makeEncoder: () -> JSONEncoder = BodyProvider.makeDeterministicEncoder
    ) throws -> RequestBody {
        try encode(&header, makeEncoder)
    }
}

extension BodyProvider {
    /// A provider without a body.
    ///
    /// It removes Content-Type from the header, because there is no content to describe.
    public static var none: BodyProvider {
        BodyProvider(kind: .none) { header, _ in
            header.remove(.contentType)
            return .none
        }
    }

    /// Returns a provider of `data` with the media type `contentType`.
    public static func raw(data: Data, contentType: MediaType = .binary) -> BodyProvider {
        raw(body: .bytes(data), contentType: contentType)
    }

    /// Returns a provider of `body`, such as a file or a stream, with the media type `contentType`.
    public static func raw(body: RequestBody, contentType: MediaType = .binary) -> BodyProvider {
        BodyProvider(kind: .other) { header, _ in
            header.set(.contentType(contentType))
            return body
        }
    }

    /// Returns a provider of `text` in UTF-8, with the media type `text/plain; charset=utf-8`.
    public static func text(_ text: String) -> BodyProvider {
        raw(data: Data(text.utf8), contentType: .plainText)
    }

    /// Returns a provider of `value` as JSON, encoded each time the request is prepared.
    ///
    /// Pass `type` for an API whose JSON has its own media type, such as `application/merge-patch+json`. `makeEncoder`
    /// is called for each use, because encoders are not safe to share. Without it, the encoder of the API is used
    /// (``RequestProviding/makeJSONEncoder()``), which by default sorts keys and does not escape slashes, so that equal
    /// values produce equal bytes. An error of the encoder becomes ``RequestError/Reason/bodyEncodingFailed``, with
    /// that error as ``RequestError/underlying``.
    public static func json(
        _ value: some Encodable & Sendable, as type: MediaType = .json,
        using makeEncoder: (@Sendable () -> JSONEncoder)? = nil
    ) -> BodyProvider {
        BodyProvider(kind: .other) { header, makeDefaultEncoder in
            let data = try (makeEncoder?() ?? makeDefaultEncoder()).encode(value)
            header.set(.contentType(type))
            return .bytes(data)
        }
    }

    /// Returns a provider of `value`, which can be a literal with values of several types: `["id": 1, "name": "x"]`.
    ///
    /// The parameters are the same as for other values. The names in `value` are sent as they are, whatever the key
    /// strategy of the encoder is.
    public static func json(
        _ value: JSONValue, as type: MediaType = .json, using makeEncoder: (@Sendable () -> JSONEncoder)? = nil
    ) -> BodyProvider {
        // Typed as the generic parameter, which selects the function above.
        func provider(_ value: some Encodable & Sendable) -> BodyProvider { json(value, as: type, using: makeEncoder) }
        return provider(value)
    }

    /// Returns a provider of `value` as JSON, encoded immediately by `encoder`.
    ///
    /// An error of the encoder is thrown when the request is prepared. The encoder of the API is not used, because the
    /// API is unknown when the value is encoded. This is the form of Requests 0.3.2, for values that are not
    /// `Sendable`.
    public static func json(
        encoded value: some Encodable, using encoder: JSONEncoder = BodyProvider.makeDeterministicEncoder()
    ) -> BodyProvider {
        let result = Result { try encoder.encode(value) }
        return BodyProvider(kind: .other) { header, _ in
            let data = try result.get()
            header.set(.contentType(.json))
            return .bytes(data)
        }
    }
}

extension BodyProvider {
    /// A function that creates an encoder whose output depends only on the value: keys are sorted, and slashes are not
    /// escaped.
    public static let makeDeterministicEncoder: @Sendable () -> JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

/// The error of text that cannot be encoded as a body.
public enum TextBodyEncodingError: Error, Hashable, Sendable {
    /// The text has no UTF-8 form. Every Swift string has one, so only custom providers throw this error.
    case utf8EncodingFailed
}
