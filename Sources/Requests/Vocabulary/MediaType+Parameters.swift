extension MediaType {
    /// The parameters of a media type, in order.
    public struct Parameters: Hashable, Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
        /// A parameter of a media type.
        public struct Element: Sendable {
            /// The name, compared without regard to ASCII case.
            public let name: String
            /// The value, without quotation marks and escapes.
            public let value: String

            /// Creates a parameter; its value is quoted when written if it is not a token.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        private let elements: [Element]

        /// Creates parameters in the order of `elements`.
        public init(_ elements: [Element]) {
            self.elements = elements
        }

        /// Creates parameters in the order of the literal.
        public init(dictionaryLiteral elements: (String, String)...) {
            self.elements = elements.map { Element(name: $0.0, value: $0.1) }
        }

        /// The position of the first parameter.
        public var startIndex: Int { elements.startIndex }

        /// The position after the last parameter.
        public var endIndex: Int { elements.endIndex }

        /// The parameter at `position`, which must be a valid index.
        public subscript(position: Int) -> Element { elements[position] }
    }
}

extension MediaType.Parameters.Element: Hashable {
    /// Returns whether the names are equal, ignoring ASCII case, and the values octet by octet.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIIFolding.areEqual(left.name, right.name) && left.value.hasSameBytes(as: right.value)
    }

    /// Hashes the folded name and the octets of the value, so that equal parameters hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(name, into: &hasher)
        value.hashBytes(into: &hasher)
    }
}

extension MediaType {
    /// The media range of all types, `*/*`.
    public static var any: MediaType { MediaType(type: .any, subtype: .any) }
    /// The media type `application/octet-stream`.
    public static var binary: MediaType { MediaType(type: .application, subtype: .octetStream) }
    /// The media type `text/css; charset=utf-8`.
    public static let css = MediaType(type: .text, subtype: .css, parameters: utf8)
    /// The media type `image/gif`.
    public static var gif: MediaType { MediaType(type: .image, subtype: .gif) }
    /// The media type `text/html; charset=utf-8`.
    public static let html = MediaType(type: .text, subtype: .html, parameters: utf8)
    /// The media type `image/jpeg`.
    public static var jpeg: MediaType { MediaType(type: .image, subtype: .jpeg) }
    /// The media type `application/json`, for which RFC 8259 §11 defines no charset.
    public static var json: MediaType { MediaType(type: .application, subtype: .json) }
    /// The media type `application/json; charset=utf-8`, for servers that require the parameter.
    public static let jsonUTF8 = MediaType(type: .application, subtype: .json, parameters: utf8)
    /// The media type `text/plain; charset=utf-8`.
    public static let plainText = MediaType(type: .text, subtype: .plain, parameters: utf8)
    /// The media type `image/png`.
    public static var png: MediaType { MediaType(type: .image, subtype: .png) }
    /// The media type `image/svg+xml`.
    public static var svg: MediaType { MediaType(type: .image, subtype: .svg) }
    /// The media type `application/x-www-form-urlencoded; charset=utf-8`.
    public static let urlEncodedForm = MediaType(type: .application, subtype: .urlEncodedForm, parameters: utf8)
    /// The media type `application/xml; charset=utf-8`.
    public static let xml = MediaType(type: .application, subtype: .xml, parameters: utf8)

    /// Returns the media type `multipart/form-data` with `boundary` (RFC 7578).
    public static func formData(boundary: String) -> MediaType {
        MediaType(type: .multipart, subtype: .formData, parameters: ["boundary": boundary])
    }

    private static let utf8: Parameters = ["charset": "utf-8"]
}
