package import RequestsPOSIX

/// The codings of a body, in the order in which they were applied (RFC 9110 §8.4).
package struct ContentCodingList: Sendable {
    /// The names that mean no coding; the second is not registered, but servers send it.
    private static let none = ["identity", "none"]

    /// The names, as the server wrote them; empty when there is nothing to undo.
    package let names: [String]

    /// The codings that Content-Encoding names in `header`.
    package init(_ header: Header) {
        names = header.values(of: .contentEncoding).flatMap { value in
            // Bytes: a combining mark behind a comma would make another `Character` of it.
            value.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring(Self.trimmed($0))) }.filter { name in
                !name.isEmpty && !Self.none.contains { ASCIIFolding.areEqual($0, name) }
            }
        }
    }

    private static func trimmed(_ member: Substring.UTF8View) -> Substring.UTF8View {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var member = member.drop(while: isBlank)
        while let last = member.last, isBlank(last) { member.removeLast() }
        return member
    }

    /// The first 80 scalars of `text`, which one character alone may exceed.
    private static func beginning(of text: String) -> String {
        String(Substring(text.unicodeScalars.prefix(80)))
    }

    /// The codings, when all of them are of `known` and there are not too many.
    ///
    /// - Throws: `RequestError` with `protocolViolation`.
    package func codings(of known: [ContentCoding], limit: Int) throws(RequestError) -> [ContentCoding] {
        guard names.count <= limit else {
            let text = Self.beginning(of: names.joined(separator: ", "))
            throw RequestError(ContentCodingError(coding: text, problem: .tooMany(limit: limit), offset: 0))
        }
        var codings: [ContentCoding] = []
        for name in names {
            guard let coding = ContentCoding(named: name), known.contains(coding) else {
                let text = Self.beginning(of: name)
                throw RequestError(ContentCodingError(coding: text, problem: .unknown, offset: 0))
            }
            codings.append(coding)
        }
        return codings
    }
}
