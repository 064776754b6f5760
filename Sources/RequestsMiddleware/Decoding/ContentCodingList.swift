package import RequestsPOSIX

/// The content codings of a body, in the order in which they were applied (RFC 9110 §8.4).
package struct ContentCodingList: Sendable {
    /// Names that mean no coding.
    ///
    /// “none” is not registered, but servers send it.
    private static let none = ["identity", "none"]

    /// The names, as the server wrote them; empty if there is nothing to decode.
    package let names: [String]

    /// Creates the list of the codings that Content-Encoding names in `header`.
    package init(_ header: Header) {
        names = header.values(of: .contentEncoding).flatMap { value in
            // By bytes, because a combining mark after a comma forms another `Character` with it.
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

    /// Returns the first 80 scalars of `text`, because a single character has no maximum length.
    private static func beginning(of text: String) -> String {
        String(Substring(text.unicodeScalars.prefix(80)))
    }

    /// Returns the codings if all of them are in `known` and there are at most `limit`.
    ///
    /// - Throws: `RequestError` with `protocolViolation` otherwise.
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
