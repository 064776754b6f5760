/// One field of a header or trailer section: a name and a value (RFC 9110 §5).
///
/// Names are compared without regard to ASCII case, values byte by byte.
public struct Field: Sendable {
    /// The name of the field.
    public var name: Name

    /// The value of the field as text.
    ///
    /// A received value that is not UTF-8 is decoded as ISO-8859-1; ``valueBytes`` returns the original bytes.
    public var value: String {
        didSet { isLatin1 = false }
    }

    /// Whether the value was received as bytes that are not UTF-8.
    private(set) var isLatin1 = false

    /// Creates a field; its name and value are validated when the request is prepared.
    public init(name: Name, value: String) {
        self.name = name
        self.value = value
    }

    /// Creates a field with the bytes of a value, which ``valueBytes`` returns unchanged.
    ///
    /// The ``value`` is decoded as UTF-8, or as ISO-8859-1 if it is not valid UTF-8. Name and bytes are validated when
    /// the request is prepared.
    public init(name: Name, valueBytes bytes: some Collection<UInt8>) {
        self.name = name
        if let text = String(validating: bytes, as: UTF8.self) {
            value = text
        } else {
            value = String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
            isLatin1 = true
        }
    }

    /// The bytes of the value: the received bytes, or the UTF-8 bytes of ``value``.
    public var valueBytes: [UInt8] {
        isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
    }

    /// Appends ``valueBytes`` to `buffer`; UTF-8 bytes are appended without an intermediate array.
    package func appendValueBytes(to buffer: inout [UInt8]) {
        if isLatin1 { buffer.append(contentsOf: valueBytes) } else { buffer.append(contentsOf: value.utf8) }
    }
}

extension Field: Hashable {
    /// Returns whether the names are equal, ignoring ASCII case, and the values byte by byte.
    public static func == (left: Self, right: Self) -> Bool {
        // Bytes that are not UTF-8 differ from the UTF-8 bytes of every text, even of the same characters.
        left.isLatin1 == right.isLatin1 && left.name == right.name && left.value.hasSameBytes(as: right.value)
    }

    /// Hashes the folded name and the bytes of the value, so that equal fields hash alike.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        value.hashBytes(into: &hasher)
    }
}

extension Field: CustomStringConvertible, CustomReflectable {
    /// The mirror that `dump` prints: the redacted line.
    public var customMirror: Mirror {
        Mirror(self, children: ["field": description])
    }

    /// The line `Name: value`, with the value of a secret field, and secrets in the URLs of Location and similar
    /// fields, replaced by ``Redaction/placeholder``.
    public var description: String {
        "\(name): \(ExchangeRedaction(nil).value(of: self))"
    }
}

extension Field {
    /// Returns a Content-Type field (RFC 9110 §8.3).
    public static func contentType(_ type: MediaType) -> Field { Field(name: .contentType, value: type.rawValue) }

    /// Returns an Accept field of one media type (RFC 9110 §12.5.1).
    public static func accept(_ type: MediaType) -> Field { Field(name: .accept, value: type.rawValue) }

    /// Returns an Accept-Language field with `value` as written (RFC 9110 §12.5.4).
    public static func acceptLanguage(_ value: String) -> Field { Field(name: .acceptLanguage, value: value) }

    /// Returns an Authorization field with `value` as written, a scheme and its credentials (RFC 9110 §11.6.2).
    ///
    /// After the scheme `Bearer`, only a token that ``authorization(bearerToken:)`` accepts can be sent.
    /// For credentials of a request, prefer ``Request/authenticated(with:)``.
    public static func authorization(_ value: String) -> Field { Field(name: .authorization, value: value) }

    /// Returns an Authorization field with `Bearer` and `token` (RFC 6750 §2.1).
    ///
    /// A token that is empty, or contains a character other than visible ASCII characters (RFC 6749 A.12), is an error
    /// of the request: ``RequestError/InvalidRequest/invalidBearerToken``.
    public static func authorization(bearerToken token: String) -> Field { authorization("Bearer \(token)") }

    /// Returns a User-Agent field (RFC 9110 §10.1.5).
    public static func userAgent(_ value: String) -> Field { Field(name: .userAgent, value: value) }
}
