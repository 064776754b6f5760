/// One field of a header or trailer section: a name and a value (RFC 9110 §5).
///
/// Names compare without regard to case, values byte for byte.
public struct Field: Hashable, Sendable {
    /// The field's name.
    public var name: Name

    /// The field's value as text.
    ///
    /// A received value that is not UTF-8 is read as ISO-8859-1; ``valueBytes`` gives its bytes without loss.
    public var value: String {
        didSet { isLatin1 = false }
    }

    private var isLatin1 = false

    /// A field of `name` and `value`; both are validated when the request is prepared.
    public init(name: Name, value: String) {
        self.name = name
        self.value = value
    }

    /// A field as received: the value is text when it is UTF-8, ISO-8859-1 otherwise.
    package init(name: Name, receivedBytes bytes: some Collection<UInt8>) {
        self.name = name
        if let text = String(validating: bytes, as: UTF8.self) {
            value = text
        } else {
            value = String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
            isLatin1 = true
        }
    }

    /// The bytes of the value: as received, or the UTF-8 of ``value``.
    public var valueBytes: [UInt8] {
        isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
    }
}

extension Field {
    /// Whether the names are the same without regard to case and the values byte for byte.
    public static func == (left: Self, right: Self) -> Bool {
        left.name == right.name && left.isLatin1 == right.isLatin1 && left.value.hasSameBytes(as: right.value)
    }
}

extension Field: CustomStringConvertible, CustomReflectable {
    /// What `dump` sees: the redacted line, never a secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["field": description])
    }

    /// `Name: value`, the value in the clear only when the field is no secret.
    public var description: String {
        "\(name): \(Redaction.standard.isSecret(name) ? Redaction.mark : value)"
    }
}

extension Field {
    /// Content-Type (RFC 9110 §8.3).
    public static func contentType(_ type: MediaType) -> Field { Field(name: .contentType, value: type.rawValue) }

    /// Accept (RFC 9110 §12.5.1).
    public static func accept(_ type: MediaType) -> Field { Field(name: .accept, value: type.rawValue) }

    /// Accept-Language (RFC 9110 §12.5.4).
    public static func acceptLanguage(_ value: String) -> Field { Field(name: .acceptLanguage, value: value) }

    /// User-Agent (RFC 9110 §10.1.5).
    public static func userAgent(_ value: String) -> Field { Field(name: .userAgent, value: value) }
}

/// The name and the value of `field` as plain strings.
public func explode(_ field: Field) -> (name: String, value: String) {
    (field.name.rawValue, field.value)
}
