// The forms of a request target (RFC 9112 §3.2), checked byte by byte: a target is never handled as text, which has
// canonical equivalence (decision 0023).
extension Span<UInt8> {
    /// Returns whether the bytes from `start` to before `end` are a request target that their method allows.
    ///
    /// The method consists of the bytes from `method` to one before `start`. CONNECT requires a host and a port; `*` is
    /// valid for OPTIONS only; every other target is a path with an optional query, or an absolute URI. Fragments are
    /// not allowed.
    func isRequestTarget(from start: Int, to end: Int, method: Int) -> Bool {
        guard start < end else { return false }
        if hasBytes("CONNECT", from: method, to: start &- 1) {
            return endOfAuthority(from: start, to: end, needsPort: true) == end
        }
        switch self[start] {
        case UInt8(ascii: "/"): return isPathAndQuery(from: start, to: end)
        case UInt8(ascii: "*") where end &- start == 1: return hasBytes("OPTIONS", from: method, to: start &- 1)
        default: return isAbsoluteURI(from: start, to: end)
        }
    }

    /// Whether the bytes are a valid value of Host (RFC 9110 §7.2): empty, or a host with an optional port.
    var isHostField: Bool { isEmpty || endOfAuthority(from: 0, to: count, needsPort: false) == count }

    /// Returns whether the bytes are a URI with a host, without userinfo or a fragment (RFC 9110 §4.2.1, §4.2.4).
    ///
    /// A URI without a host, such as `a:1`, is rejected for every scheme: it could be taken for an authority.
    private func isAbsoluteURI(from start: Int, to end: Int) -> Bool {
        var colon = start
        while colon < end, Octet.isSchemeByte(self[colon]) { colon &+= 1 }
        guard colon < end, self[colon] == Octet.colon, Octet.isLetter(self[start]) else { return false }
        let path = colon &+ 1
        guard end &- path >= 2, self[path] == UInt8(ascii: "/"), self[path &+ 1] == UInt8(ascii: "/"),
            let authorityEnd = endOfAuthority(from: path &+ 2, to: end, needsPort: false)
        else { return false }
        let next = authorityEnd < end ? self[authorityEnd] : UInt8(ascii: "/")
        return (next == UInt8(ascii: "/") || next == UInt8(ascii: "?")) && isPathAndQuery(from: authorityEnd, to: end)
    }

    /// Returns whether the bytes are a path and, after the first `?`, a query (RFC 3986 §3.3, §3.4).
    private func isPathAndQuery(from start: Int, to end: Int) -> Bool {
        var position = start
        while position < end {
            let byte = self[position]
            if byte == Octet.percent {
                guard isEscape(at: position, before: end) else { return false }
                position &+= 2
            } else if !Octet.isURIByte(byte) {
                return false
            }
            position &+= 1
        }
        return true
    }

    /// Returns the position after a host and an optional port (RFC 3986 §3.2.2, §3.2.3).
    ///
    /// - Returns: Nil if the host is empty or invalid, the port is above 65535, or `needsPort` is true and there is
    ///   none.
    private func endOfAuthority(from start: Int, to end: Int, needsPort: Bool) -> Int? {
        guard let hostEnd = endOfHost(from: start, to: end), hostEnd > start else { return nil }
        guard hostEnd < end, self[hostEnd] == Octet.colon else { return needsPort ? nil : hostEnd }
        var (position, port) = (hostEnd &+ 1, 0)
        while position < end, Octet.isDigit(self[position]) {
            port = port &* 10 &+ Int(self[position] &- Octet.zero)
            guard port <= 65_535 else { return nil }
            position &+= 1
        }
        return needsPort && position == hostEnd &+ 1 ? nil : position
    }

    /// Returns the position after an IPv6 address in brackets or after the bytes of a name; nil for unclosed brackets.
    private func endOfHost(from start: Int, to end: Int) -> Int? {
        var position = start
        if position < end, self[position] == UInt8(ascii: "[") {
            position &+= 1
            while position < end, Octet.isAddressByte(self[position]) { position &+= 1 }
            guard position < end, self[position] == UInt8(ascii: "]"), position > start &+ 2 else { return nil }
            return position &+ 1
        }
        while position < end {
            if self[position] == Octet.percent {
                guard isEscape(at: position, before: end) else { return nil }
                position &+= 3
            } else if Octet.isNameByte(self[position]) {
                position &+= 1
            } else {
                break
            }
        }
        return position
    }

    /// Returns whether two hexadecimal digits follow the percent sign at `position`, before `end`.
    private func isEscape(at position: Int, before end: Int) -> Bool {
        end &- position > 2 && Octet.hexDigit(self[position &+ 1]) != nil && Octet.hexDigit(self[position &+ 2]) != nil
    }

    /// Returns whether the bytes from `start` to before `end` are `text`.
    private func hasBytes(_ text: StaticString, from start: Int, to end: Int) -> Bool {
        guard end &- start == text.utf8CodeUnitCount else { return false }
        for offset in 0..<text.utf8CodeUnitCount where self[start &+ offset] != text.utf8Start[offset] {
            return false
        }
        return true
    }
}

extension Octet {
    fileprivate static let percent = UInt8(ascii: "%")

    fileprivate static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    fileprivate static func isSchemeByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    fileprivate static func isAddressByte(_ byte: UInt8) -> Bool {
        hexDigit(byte) != nil || byte == colon || byte == UInt8(ascii: ".")
    }

    /// Returns whether `byte` is a letter, a digit, or one of `-._~` and `!$&'()*+,;=` (RFC 3986 §3.2.2).
    fileprivate static func isNameByte(_ byte: UInt8) -> Bool {
        // One bit for each ASCII byte: 0 to 63 in `low`, 64 to 127 in `high`.
        let low: UInt64 = 0x2BFF_7FD2_0000_0000
        let high: UInt64 = 0x47FF_FFFE_87FF_FFFE
        return byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 != 0
    }

    /// Returns whether `byte` is a byte of a name or one of `:@/?` (RFC 3986 §3.4).
    fileprivate static func isURIByte(_ byte: UInt8) -> Bool {
        isNameByte(byte) || byte == colon || byte == UInt8(ascii: "@") || byte == UInt8(ascii: "/")
            || byte == UInt8(ascii: "?")
    }
}
