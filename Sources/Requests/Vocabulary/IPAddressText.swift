/// The text forms of IP addresses (RFC 3986 §3.2.2, RFC 4291 §2.2).
package enum IPAddressText {
    /// Returns the canonical form of an IPv6 address: lower case, with the longest run of zeros as `::` (RFC 5952 §4).
    ///
    /// - Parameter text: Eight groups of one to four hexadecimal digits. One run of groups may be written as `::`, and
    ///   the last two groups as an IPv4 address, which the result keeps only within `::ffff:0:0/96`.
    /// - Returns: The canonical form without brackets, or nil if `text` is not an IPv6 address.
    package static func canonicalIPv6(_ text: Substring) -> String? {
        guard let groups = ipv6Groups(text) else { return nil }
        if groups.prefix(5).allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
            let bytes = groups.suffix(2).flatMap { [$0 >> 8, $0 & 0xFF] }
            return "::ffff:" + bytes.map { String($0) }.joined(separator: ".")
        }
        let gap = longestZeroRun(in: groups)
        func hexadecimal(_ part: ArraySlice<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        // A single group of zeros is not shortened (RFC 5952 §4.2.2).
        guard gap.count > 1 else { return hexadecimal(groups[...]) }
        return hexadecimal(groups[..<gap.lowerBound]) + "::" + hexadecimal(groups[gap.upperBound...])
    }

    /// Returns the first of the longest runs of zeros (RFC 5952 §4.2.3).
    private static func longestZeroRun(in groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 {
                start = index + 1
            } else if index + 1 - start > longest.count {
                longest = start..<index + 1
            }
        }
        return longest
    }

    /// Returns the eight groups of an IPv6 address, or nil if `text` is not one.
    private static func ipv6Groups(_ text: Substring) -> [UInt16]? {
        let bytes = text.utf8
        guard let gap = bytes.firstRange(of: "::".utf8) else {
            return groups(bytes, isLast: true).flatMap { $0.count == 8 ? $0 : nil }
        }
        guard let left = groups(bytes[..<gap.lowerBound], isLast: false),
            let right = groups(bytes[gap.upperBound...], isLast: true), left.count + right.count < 8
        else { return nil }
        return left + Array(repeating: 0, count: 8 - left.count - right.count) + right
    }

    /// Returns the groups of `text`, or nil if one is malformed.
    ///
    /// - Parameters:
    ///   - text: Groups separated by colons; may be empty.
    ///   - isLast: Whether the text ends the address; its last part may then be an IPv4 address.
    /// - Returns: The groups, in order.
    private static func groups(_ text: Substring.UTF8View, isLast: Bool) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        for part in text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            if isLast, part.endIndex == text.endIndex, let address = ipv4(part) {
                groups += [UInt16(address >> 16), UInt16(truncatingIfNeeded: address)]
                continue
            }
            guard 1...4 ~= part.count, part.allSatisfy({ Hex.value(of: $0) != nil }) else { return nil }
            guard let group = UInt16(Substring(part), radix: 16) else { return nil }
            groups.append(group)
        }
        return groups
    }

    /// Returns whether `text` is an IPv4 address: four decimal numbers of 0 to 255 without leading zeros.
    package static func isIPv4(_ text: Substring) -> Bool {
        ipv4(text.utf8) != nil
    }

    /// Returns an IPv4 address as a number whose most significant byte is the first one; nil if `text` is not an IPv4
    /// address.
    package static func ipv4(_ text: Substring.UTF8View) -> UInt32? {
        var (address, number) = (UInt32(0), UInt32(0))
        var (digits, dots) = (0, 0)
        for byte in text {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, dots < 3 else { return nil }
                address = address << 8 | number
                (number, digits, dots) = (0, 0, dots + 1)
            } else {
                // A number that begins with zero has no other digit.
                guard isDigit(byte), digits == 0 || number > 0 else { return nil }
                number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
                guard number <= 255 else { return nil }
                digits += 1
            }
        }
        return dots == 3 && digits > 0 ? address << 8 | number : nil
    }

    /// Returns the 4 or 16 bytes of an address, with or without brackets; nil if `host` is not an address.
    package static func octets(_ host: some StringProtocol) -> [UInt8]? {
        var bytes = Array(host.utf8)[...]
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") { bytes = bytes.dropFirst().dropLast() }
        let text = String(decoding: bytes, as: UTF8.self)
        if let address = ipv4(text.utf8[...]) {
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: address >> $0) }
        }
        return ipv6Groups(text[...])?.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    /// Returns whether `range`, such as `10.0.0.0/8` or `fd00::/8`, contains the address `host` (RFC 4632 §3.1); false
    /// if one of them is malformed.
    package static func range(_ range: String, contains host: String) -> Bool {
        let parts = range.splitBytes(at: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let base = octets(parts[0]), let address = octets(host), base.count == address.count,
            parts[1].utf8.allSatisfy(isDigit), let length = Int(parts[1]), length <= base.count * 8
        else { return false }
        for (index, octet) in base.enumerated() {
            let bits = UInt8(min(8, max(0, length - index * 8)))
            guard (octet ^ address[index]) >> (8 - bits) == 0 else { return false }
        }
        return true
    }

    /// Returns whether the last label of `host` is a decimal or hexadecimal number.
    ///
    /// Such a host must be an IPv4 address, because resolvers disagree on all other forms (decision 0004).
    package static func endsInNumber(_ host: Substring) -> Bool {
        var labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard let last = labels.last, !last.isEmpty else { return false }
        if last.allSatisfy(isDigit) { return true }
        guard last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8) else { return false }
        return last.dropFirst(2).allSatisfy { Hex.value(of: $0) != nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}
