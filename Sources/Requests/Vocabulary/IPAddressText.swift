/// The text forms of IP addresses (RFC 3986 §3.2.2, RFC 4291 §2.2).
package enum IPAddressText {
    /// Whether `text` is an IPv6 address: eight groups of one to four hexadecimal digits, of which one run may be left out as
    /// `::` and the last two may be an IPv4 address.
    package static func isIPv6(_ text: Substring) -> Bool {
        guard let gap = text.firstRange(of: "::") else { return count(text) == 8 }
        guard let left = count(text[..<gap.lowerBound], isLast: false) else { return false }
        guard let right = count(text[gap.upperBound...]) else { return false }
        return left + right < 8
    }

    /// How many groups the text is, or nil when one of them is none; the last may be an IPv4 address.
    private static func count(_ text: Substring, isLast: Bool = true) -> Int? {
        if text.isEmpty { return 0 }
        var groups = text.split(separator: ":", omittingEmptySubsequences: false)
        var count = 0
        if isLast, let last = groups.last, last.utf8.contains(UInt8(ascii: ".")) {
            guard isIPv4(last) else { return nil }
            groups.removeLast()
            count = 2
        }
        guard groups.allSatisfy(isGroup) else { return nil }
        return count + groups.count
    }

    private static func isGroup(_ text: Substring) -> Bool {
        1...4 ~= text.utf8.count && text.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    /// Whether `text` is an IPv4 address: four decimal numbers of 0 to 255 without leading zeros.
    package static func isIPv4(_ text: Substring) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4
            && numbers.allSatisfy { number in
                1...3 ~= number.utf8.count && number.utf8.allSatisfy(isDigit) && UInt8(number) != nil
                    && (number.utf8.count == 1 || number.utf8.first != UInt8(ascii: "0"))
            }
    }

    /// Whether the last label of `host` is a decimal or hexadecimal number, which no name of a host ends in.
    package static func endsInNumber(_ host: Substring) -> Bool {
        var labels = host.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels.last == "" { labels.removeLast() }
        guard let last = labels.last, !last.isEmpty else { return false }
        if last.utf8.allSatisfy(isDigit) { return true }
        guard last.hasPrefix("0x") || last.hasPrefix("0X") else { return false }
        return last.utf8.dropFirst(2).allSatisfy { Hex.value(of: $0) != nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}
