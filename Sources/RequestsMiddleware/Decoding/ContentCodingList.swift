package import RequestsPOSIX

/// The codings of a body, in the order in which they were applied (RFC 9110 §8.4).
package struct ContentCodingList: Sendable {
    /// What a server means that names one of these; the second is no coding, but is sent.
    private static let none = ["identity", "none"]

    /// The names, as the server wrote them; empty when there is nothing to undo.
    package let names: [String]

    /// The codings that Content-Encoding names in `header`.
    package init(_ header: Header) {
        names = header.values(of: .contentEncoding).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).map(Self.trimmed).filter { name in
                !name.isEmpty && !Self.none.contains { ASCIIFolding.areEqual($0, name) }
            }
        }
    }

    private static func trimmed(_ member: Substring.UTF8View) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let end = member.lastIndex { !isBlank($0) }.map(member.index(after:)) ?? member.startIndex
        return String(Substring(member[..<end].drop(while: isBlank)))
    }

    /// The codings, when all of them are of `known` and there are not too many.
    ///
    /// - Throws: `RequestError` with `protocolViolation`.
    package func codings(of known: [ContentCoding], limit: Int) throws(RequestError) -> [ContentCoding] {
        guard names.count <= limit else {
            let text = names.joined(separator: ", ").prefix(80)
            throw RequestError(ContentCodingError(coding: String(text), problem: .tooMany(limit: limit), offset: 0))
        }
        var codings: [ContentCoding] = []
        for name in names {
            guard let coding = ContentCoding(named: name), known.contains(coding) else {
                let text = String(name.prefix(80))
                throw RequestError(ContentCodingError(coding: text, problem: .unknown, offset: 0))
            }
            codings.append(coding)
        }
        return codings
    }
}
