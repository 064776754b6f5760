extension MultipartForm {
    /// The delimiter between the parts of a multipart form.
    ///
    /// A random boundary is generated each time the request is prepared: 128 bits of the system's secure random number
    /// generator, which no content can predict. A fixed boundary, written as a literal, is for tests.
    public struct Boundary: Sendable, ExpressibleByStringLiteral {
        private let make: @Sendable () -> String
        /// Whether generating it again may result in another boundary.
        let isGenerated: Bool

        /// A boundary that consists of the prefix of the form's style and 128 bits from the system's secure random
        /// number generator.
        public static let random = MultipartForm.Boundary { "" }

        /// Returns a boundary that `make` generates each time the request is prepared.
        public static func made(by make: @escaping @Sendable () -> String) -> MultipartForm.Boundary {
            MultipartForm.Boundary(make)
        }

        /// Creates a fixed boundary.
        ///
        /// It must have 1 to 70 characters that RFC 2046 §5.1.1 allows, and must not end in a space; otherwise
        /// preparing the request fails with ``BodyProvider/BodyError/invalidBoundary`` as the underlying error.
        public init(_ text: String) {
            make = { text }
            isGenerated = false
        }

        /// Creates a fixed boundary from a literal.
        public init(stringLiteral value: String) {
            self.init(value)
        }

        private init(_ make: @escaping @Sendable () -> String) {
            self.make = make
            isGenerated = true
        }

        /// Returns the boundary for one body.
        ///
        /// - Throws: `BodyProvider.BodyError.invalidBoundary` for a boundary that is not allowed in a message.
        package func drawn(prefix: String) throws(BodyProvider.BodyError) -> String {
            let made = make()
            // `random` generates no text of its own, because it depends on the prefix.
            let text = made.isEmpty && isGenerated ? prefix + Self.randomDigits() : made
            guard (1...70).contains(text.utf8.count), text.utf8.last != 0x20, text.utf8.allSatisfy(Self.isAllowed)
            else {
                throw .invalidBoundary
            }
            return text
        }

        /// Returns 128 random bits as 32 hexadecimal digits.
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
}

extension MultipartForm {
    /// A style of multipart form, for the differences between HTTP clients.
    public struct Style: Hashable, Sendable {
        /// The content type of text parts and fields without their own; nil sends no Content-Type.
        package var textType: MediaType?
        /// The prefix of random boundaries.
        package var boundaryPrefix: String
        /// Whether a form without parts is sent as its closing delimiter.
        ///
        /// If false, there is no body and no content type.
        package var sendsEmptyForms: Bool

        /// A style that sends text parts as `text/plain; charset=utf-8`, and a form without parts as its closing
        /// delimiter.
        public static let standard = MultipartForm.Style(
            textType: .plainText, boundaryPrefix: "----RequestsFormBoundary", sendsEmptyForms: true)

        /// A style that sends text parts without a content type, as browsers do.
        public static let browser = MultipartForm.Style(
            textType: nil, boundaryPrefix: "----RequestsFormBoundary", sendsEmptyForms: true)

        /// A style that sends text parts without a content type and a form without parts as no body, as AFNetworking
        /// does.
        public static let afnetworking = MultipartForm.Style(
            textType: nil, boundaryPrefix: "Boundary+", sendsEmptyForms: false)
    }
}
