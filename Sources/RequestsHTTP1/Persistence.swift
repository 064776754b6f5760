package import Requests

/// Whether a connection persists after a message of `version` and `header` (RFC 9112 §9.3).
///
/// Not with `Connection: close`, not after a body that ends with the connection; in HTTP/1.0 only with
/// `Connection: keep-alive`.
package func persists(after version: HTTPVersion, _ header: Header, _ framing: BodyFraming) -> Bool {
    if framing == .untilClose || header.listContains("close", in: .connection) { return false }
    return version >= .http11 || header.listContains("keep-alive", in: .connection)
}

/// What a peer says about an idle connection (RFC 2068 §19.7.1.1).
package struct KeepAlive: Hashable, Sendable {
    /// Seconds that the peer keeps an idle connection, nil when it does not say.
    package var timeout: Int?
    /// Requests that the peer will still answer, nil when it does not say.
    package var max: Int?

    /// The parameters of the Keep-Alive field, or nil when there is none.
    ///
    /// A parameter that is no decimal number, or too large for one, is taken as absent.
    package init?(_ header: Header) {
        guard let value = header[.keepAlive] else { return nil }
        for parameter in listElements(value) {
            let parts = parameter.split(separator: "=", maxSplits: 1)
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
