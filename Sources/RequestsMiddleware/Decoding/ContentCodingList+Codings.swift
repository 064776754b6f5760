package import RequestsPOSIX

extension ContentCodingList {
    /// Returns the first 80 Unicode scalars of `text`; a single character has no maximum length.
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
