// The signatures of swift-http-types that the adaptors use.

package struct HTTPField: Sendable, Hashable {
    package struct Name: Sendable, Hashable {
        package let rawName: String

        package init?(_ name: String) {
            guard !name.isEmpty else { return nil }
            rawName = name
        }
    }

    package var name: Name
    package var value: String

    package init(name: Name, value: String) { (self.name, self.value) = (name, value) }
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
}

package struct HTTPRequest: Sendable, Hashable {
    package struct Method: Sendable, Hashable, RawRepresentable {
        package let rawValue: String

        package init?(rawValue: String) {
            guard !rawValue.isEmpty else { return nil }
            self.rawValue = rawValue
        }
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

        package init(code: Int, reasonPhrase: String = "") { (self.code, self.reasonPhrase) = (code, reasonPhrase) }
    }

    package var status: Status
    package var headerFields: HTTPFields

    package init(status: Status, headerFields: HTTPFields = [:]) {
        (self.status, self.headerFields) = (status, headerFields)
    }
}
