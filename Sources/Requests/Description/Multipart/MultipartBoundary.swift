/// The line that separates the parts of a multipart form.
///
/// A random one is drawn from the system's generator each time the request is prepared: 128 bits that no content can
/// foresee. A fixed one, written as a literal, is for tests.
public struct MultipartBoundary: Sendable, ExpressibleByStringLiteral {
    private let make: @Sendable () -> String
    /// Whether drawing again may give another.
    let isDrawn: Bool

    /// A boundary drawn from the system's secure generator, after the prefix of the form's style.
    public static let random = MultipartBoundary { "" }

    /// A boundary made by `make` each time the request is prepared.
    public static func made(by make: @escaping @Sendable () -> String) -> MultipartBoundary {
        MultipartBoundary(make)
    }

    /// Always `text`, which must be 1 to 70 of the characters of RFC 2046 §5.1.1 and not end in a space.
    public init(_ text: String) {
        make = { text }
        isDrawn = false
    }

    /// Always the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    private init(_ make: @escaping @Sendable () -> String) {
        self.make = make
        isDrawn = true
    }

    /// A boundary for one body.
    ///
    /// - Throws: `InvalidBody.invalidBoundary` for one that no message may have.
    package func drawn(prefix: String) throws(InvalidBody) -> String {
        let made = make()
        let text = made.isEmpty && isDrawn ? prefix + Self.randomDigits() : made
        guard (1...70).contains(text.utf8.count), text.utf8.last != 0x20, text.utf8.allSatisfy(Self.isAllowed) else {
            throw .invalidBoundary
        }
        return text
    }

    private static func randomDigits() -> String {
        var generator = SystemRandomNumberGenerator()
        var digits: [UInt8] = []
        for _ in 0..<2 {
            let word = generator.next()
            for shift in stride(from: 0, to: 64, by: 4) {
                digits.append(Hex.digit(UInt8(truncatingIfNeeded: word >> UInt64(shift)) & 15))
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
            || "'()+_,-./:=? ".utf8.contains(byte)
    }
}

/// What the systems that came before do differently in a multipart form.
public struct MultipartStyle: Hashable, Sendable {
    /// The content type of text parts and fields that were given none; nil for no Content-Type.
    public var textType: MediaType?
    /// What a random boundary begins with.
    public var boundaryPrefix: String
    /// Whether a form without parts is sent as its closing line; otherwise there is no body and no content type.
    public var sendsEmptyForms: Bool

    /// Text parts as `text/plain; charset=utf-8`; a form without parts is its closing line.
    public static let standard = MultipartStyle(
        textType: .plainText, boundaryPrefix: "----RequestsFormBoundary", sendsEmptyForms: true)

    /// Text parts without a content type, as browsers send them.
    public static let browser = MultipartStyle(
        textType: nil, boundaryPrefix: "----RequestsFormBoundary", sendsEmptyForms: true)

    /// As AFNetworking: text parts without a content type; a form without parts leaves the request without a body.
    public static let afnetworking = MultipartStyle(
        textType: nil, boundaryPrefix: "Boundary+", sendsEmptyForms: false)
}
