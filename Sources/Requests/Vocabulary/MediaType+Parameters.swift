extension MediaType {
    /// The parameters of a media type: names and values, in order.
    public struct Parameters: Hashable, Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
        /// One parameter.
        public struct Element: Hashable, Sendable {
            /// The name, compared without regard to ASCII case by ``MediaType/parameter(_:)``.
            public let name: String
            /// The value, unquoted.
            public let value: String

            /// A parameter of `name` and `value`; the value is quoted on output where it must be.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }

            /// Whether names and values are the same, byte for byte.
            public static func == (left: Self, right: Self) -> Bool {
                left.name.hasSameBytes(as: right.name) && left.value.hasSameBytes(as: right.value)
            }
        }

        private let elements: [Element]

        /// The parameters in the order of `elements`.
        public init(_ elements: [Element]) {
            self.elements = elements
        }

        /// The parameters in the order they are written.
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

extension MediaType {
    /// Any media type: `*/*`.
    public static var any: MediaType { MediaType(type: .any, subtype: .any) }
    /// `application/octet-stream`.
    public static var binary: MediaType { MediaType(type: .application, subtype: .octetStream) }
    /// `text/css; charset=utf-8`.
    public static let css = MediaType(type: .text, subtype: .css, parameters: utf8)
    /// `image/gif`.
    public static var gif: MediaType { MediaType(type: .image, subtype: .gif) }
    /// `text/html; charset=utf-8`.
    public static let html = MediaType(type: .text, subtype: .html, parameters: utf8)
    /// `image/jpeg`.
    public static var jpeg: MediaType { MediaType(type: .image, subtype: .jpeg) }
    /// `application/json`; RFC 8259 §11 defines no charset.
    public static var json: MediaType { MediaType(type: .application, subtype: .json) }
    /// `application/json; charset=utf-8`, for servers that insist.
    public static let jsonUTF8 = MediaType(type: .application, subtype: .json, parameters: utf8)
    /// `text/plain; charset=utf-8`.
    public static let plainText = MediaType(type: .text, subtype: .plain, parameters: utf8)
    /// `image/png`.
    public static var png: MediaType { MediaType(type: .image, subtype: .png) }
    /// `image/svg+xml`.
    public static var svg: MediaType { MediaType(type: .image, subtype: .svg) }
    /// `application/x-www-form-urlencoded; charset=utf-8`.
    public static let urlEncodedForm = MediaType(type: .application, subtype: .urlEncodedForm, parameters: utf8)
    /// `application/xml; charset=utf-8`.
    public static let xml = MediaType(type: .application, subtype: .xml, parameters: utf8)

    /// `multipart/form-data` with `boundary` (RFC 7578).
    public static func formData(boundary: String) -> MediaType {
        MediaType(type: .multipart, subtype: .formData, parameters: ["boundary": boundary])
    }

    private static let utf8: Parameters = ["charset": "utf-8"]
}
