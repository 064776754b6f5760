// The signatures of swift-http-types that the adaptors use.

package struct HTTPField: Sendable, Hashable {
    package struct Name: Sendable, Hashable {
        package let rawName: String

        /// Refuses a name that is not a token.
        package init?(_ name: String) {
            guard isToken(name) else { return nil }
            rawName = name
        }
    }

    package var name: Name
    private var bytes: [UInt8]

    package init(name: Name, value: String) { self.init(name: name, value: value.utf8) }

    package init(name: Name, value: some Collection<UInt8>) { (self.name, bytes) = (name, Array(value)) }

    /// The value as UTF-8, with the bytes that are not replaced.
    package var value: String { String(decoding: bytes, as: UTF8.self) }

    package func withUnsafeBytesOfValue<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // A rethrowing function loses the type of the error.
        let result = bytes.withUnsafeBufferPointer { buffer in
            Swift.Result<Result, Failure> { () throws(Failure) in try body(buffer) }
        }
        return try result.get()
    }
}

package struct HTTPFields: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
    private var fields: [HTTPField] = []

    package init() {}

    package init(dictionaryLiteral elements: (HTTPField.Name, String)...) {
        fields = elements.map { HTTPField(name: $0.0, value: $0.1) }
    }

    package mutating func append(_ field: HTTPField) { fields.append(field) }

    package var startIndex: Int { fields.startIndex }
    package var endIndex: Int { fields.endIndex }
    package subscript(index: Int) -> HTTPField { fields[index] }

    package subscript(name: HTTPField.Name) -> String? {
        get {
            let values = fields.filter { $0.name == name }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { $0.name == name }
            if let newValue { append(HTTPField(name: name, value: newValue)) }
        }
    }
}

package struct HTTPRequest: Sendable, Hashable {
    package struct Method: Sendable, Hashable, RawRepresentable {
        package let rawValue: String

        /// Refuses a method that is not a token.
        package init?(rawValue: String) {
            guard isToken(rawValue) else { return nil }
            self.rawValue = rawValue
        }

        package static var get: Self { Self(unchecked: "GET") }
        package static var post: Self { Self(unchecked: "POST") }
        package static var put: Self { Self(unchecked: "PUT") }

        private init(unchecked value: String) { rawValue = value }
    }

    package var method: Method
    package var scheme: String?
    package var authority: String?
    package var path: String?
    package var headerFields: HTTPFields

    package init(
        method: Method, scheme: String?, authority: String?, path: String?, headerFields: HTTPFields = [:]
    ) {
        (self.method, self.scheme, self.authority) = (method, scheme, authority)
        (self.path, self.headerFields) = (path, headerFields)
    }
}

package struct HTTPResponse: Sendable, Hashable {
    package struct Status: Sendable, Hashable {
        package let code: Int
        package let reasonPhrase: String

        package init(code: Int, reasonPhrase: String = "") {
            precondition((0...999).contains(code), "Invalid status code")
            (self.code, self.reasonPhrase) = (code, reasonPhrase)
        }
    }

    package var status: Status
    package var headerFields: HTTPFields

    package init(status: Status, headerFields: HTTPFields = [:]) {
        (self.status, self.headerFields) = (status, headerFields)
    }
}

private func isToken(_ text: String) -> Bool {
    !text.isEmpty
        && text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
}
