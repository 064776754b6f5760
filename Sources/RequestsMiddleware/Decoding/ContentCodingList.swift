package import RequestsPOSIX

/// The codings of a body, in the order in which they were applied (RFC 9110 §8.4).
package struct ContentCodingList: Sendable {
    /// What a server means that names one of these; the second is no coding, but is sent.
    private static let none: Set = ["identity", "none"]

    /// The names, as the server wrote them; empty when there is nothing to undo.
    package let names: [String]

    /// The codings that Content-Encoding names in `header`.
    package init(_ header: Header) {
        names = header.values(of: .contentEncoding).flatMap { value in
            value.splitBytes(at: ",").map(Self.trimmed).filter {
                !$0.isEmpty && !Self.none.contains(ASCIIFolding.folded($0))
            }
        }
    }

    private static func trimmed(_ member: Substring) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let rest = member.utf8.drop(while: isBlank)
        let end = rest.lastIndex { !isBlank($0) }.map { rest.index(after: $0) } ?? rest.startIndex
        return String(Substring(rest[..<end]))
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
