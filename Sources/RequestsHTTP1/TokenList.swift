package import Requests

/// A list of tokens divided by commas (RFC 9110 §5.6.1), as Connection and Transfer-Encoding have.
struct TokenList {
    static let comma: UInt8 = 0x2C

    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The elements without the white space around them; empty ones are left out.
    var elements: [String] {
        guard text.utf8.contains(where: { $0 == Self.comma || Octet.isBlank($0) }) else {
            return text.isEmpty ? [] : [text]
        }
        return text.utf8.split(separator: Self.comma).map(Self.trimmed).filter { !$0.isEmpty }.map {
            String(Substring($0))
        }
    }

    /// Whether an element is `token`, in any case.
    func contains(_ token: String) -> Bool {
        text.hasSameBytes(as: token) || elements.contains { ASCIIFolding.areEqual($0, token) }
    }

    /// `element` without the SP and HTAB around it.
    static func trimmed(_ element: Substring.UTF8View) -> Substring.UTF8View {
        var element = element
        while let first = element.first, Octet.isBlank(first) { element.removeFirst() }
        while let last = element.last, Octet.isBlank(last) { element.removeLast() }
        return element
    }
}

extension Header {
    /// Whether a list of tokens in the fields called `name` has `token`, in any case.
    package func listContains(_ token: String, in name: Field.Name) -> Bool {
        self[name].map { TokenList($0).contains(token) } ?? false
    }
}
