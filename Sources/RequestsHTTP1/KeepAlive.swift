import Requests

/// The parameters of a Keep-Alive field: a peer's limits for an idle connection (RFC 2068 §19.7.1.1).
package struct KeepAlive: Hashable, Sendable {
    /// The time in seconds for which the peer keeps an idle connection; nil if not given.
    package var timeout: Int?
    /// The number of further requests that the peer accepts; nil if not given.
    package var max: Int?

    /// Creates the parameters from the value of a Keep-Alive field.
    ///
    /// A parameter that is not a decimal number, or is too large for `Int`, is treated as absent.
    package init(_ value: String) {
        for parameter in TokenList(value).elements {
            // Split as bytes: with a combining mark after it, “=” is another `Character` (decision 0023).
            let parts = parameter.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let number = Self.number(parts[1]) else { continue }
            let name = String(Substring(parts[0]))
            if ASCIIFolding.areEqual(name, "timeout") { timeout = number }
            if ASCIIFolding.areEqual(name, "max") { max = number }
        }
    }

    /// Returns how long a connection may be used, in nanoseconds, if its peer keeps it for `seconds`.
    ///
    /// It is 1 s less, or half of a shorter time, so that no request is sent at the moment at which the peer closes.
    package static func usableNanoseconds(ofSeconds seconds: Int) -> Int64 {
        // The seconds are limited before the multiplication, which could overflow (decision 0022).
        let announced = Int64(Swift.max(0, min(seconds, 1_000_000_000))) * 1_000_000_000
        return announced - min(1_000_000_000, announced / 2)
    }

    private static func number(_ text: Substring.UTF8View) -> Int? {
        text.allSatisfy(Octet.isDigit) ? Int(Substring(text)) : nil
    }
}
