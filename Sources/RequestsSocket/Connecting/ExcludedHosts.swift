import Requests

/// The hosts that are reached without a proxy, parsed once.
struct ExcludedHosts: Sendable {
    private enum Kind: Sendable {
        /// A range of addresses, such as `10.0.0.0/8`.
        case range(String)
        /// A host in canonical form.
        case host(String)
        /// All names that end in this text, which begins with a dot.
        case below(String)
        case all
    }

    private let entries: [(kind: Kind, port: Int?)]

    init(_ texts: [String]) {
        entries = texts.map { text in
            let entry = Self.trimmed(text)
            if entry.containsByte("/") { return (.range(String(entry)), nil) }
            let (host, port) = Self.parts(of: entry)
            if host.hasSameBytes(as: "*") { return (.all, port) }
            // No host contains an asterisk, so `*.example.com` can only mean the names below that host.
            let name = HostText.canonical(host.hasBytePrefix("*.") ? String(host.droppingFirstBytes(1)) : host)
            return (name.hasBytePrefix(".") ? .below(name) : .host(name), port)
        }
    }

    func contains(_ host: String, port: Int?) -> Bool {
        if entries.isEmpty { return false }
        let host = HostText.canonical(host)
        return entries.contains { entry in
            if let only = entry.port, only != port { return false }
            return switch entry.kind {
            case .range(let range): IPAddressText.range(range, contains: host)
            case .host(let name): host.hasSameBytes(as: name)
            case .below(let suffix): host.hasByteSuffix(suffix)
            case .all: true
            }
        }
    }

    /// Returns the host of `entry` and its port; nil if it has none.
    ///
    /// An IPv6 address can have a port only if it is in brackets.
    static func parts(of entry: Substring) -> (host: String, port: Int?) {
        guard IPAddressText.octets(entry) == nil,
            let colon = entry.utf8.lastIndex(of: UInt8(ascii: ":")), colon != entry.startIndex,
            case let digits = entry[entry.utf8.index(after: colon)...],
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(digits), port > 0
        else { return (String(entry), nil) }
        return (String(entry[..<colon]), Int(port))
    }

    private static func trimmed(_ text: String) -> Substring {
        var text = text.utf8[...]
        while let first = text.first, first <= 0x20 { text = text.dropFirst() }
        while let last = text.last, last <= 0x20 { text = text.dropLast() }
        return Substring(text)
    }
}
