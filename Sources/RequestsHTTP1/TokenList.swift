package import Requests

/// A comma-separated list of tokens (RFC 9110 §5.6.1), such as the value of Connection or Transfer-Encoding.
struct TokenList {
    static let comma: UInt8 = 0x2C

    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The elements without surrounding white space; empty elements are omitted.
    var elements: [String] {
        guard text.utf8.contains(where: { $0 == Self.comma || Octet.isBlank($0) }) else {
            return text.isEmpty ? [] : [text]
        }
        return text.utf8.split(separator: Self.comma).map(\.trimmingBlanks).filter { !$0.isEmpty }.map {
            String(Substring($0))
        }
    }

    /// Returns whether an element equals `token`, ignoring ASCII case.
    func contains(_ token: String) -> Bool {
        ASCIIFolding.areEqual(text, token) || elements.contains { ASCIIFolding.areEqual($0, token) }
    }
}

extension Header {
    /// Returns whether the fields called `name` list `token`, ignoring ASCII case.
    package func listContains(_ token: String, in name: Field.Name) -> Bool {
        self[name].map { TokenList($0).contains(token) } ?? false
    }
}
