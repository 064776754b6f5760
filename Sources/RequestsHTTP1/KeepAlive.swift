import Requests

/// What a peer says about an idle connection (RFC 2068 §19.7.1.1).
package struct KeepAlive: Hashable, Sendable {
    /// Seconds that the peer keeps an idle connection, nil when it does not say.
    package var timeout: Int?
    /// Requests that the peer will still answer, nil when it does not say.
    package var max: Int?

    /// The parameters of a Keep-Alive field.
    ///
    /// A parameter that is no decimal number, or too large for one, is taken as absent.
    package init(_ value: String) {
        for parameter in TokenList(value).elements {
            let parts = parameter.splitBytes(at: "=", maxSplits: 1)
            guard parts.count == 2, let number = Self.number(parts[1]) else { continue }
            switch ASCIIFolding.folded(String(parts[0])) {
            case "timeout": timeout = number
            case "max": max = number
            default: break
            }
        }
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy(Octet.isDigit) ? Int(text) : nil
    }
}
