/// The rules that decide whether a cookie belongs to a request (RFC 6265bis §5.1).
enum CookieScope {
    /// Returns whether `domain` is `host` or one of the domains above it; an IP address has none above it.
    ///
    /// Both are ASCII in lower case.
    static func domain(_ domain: String, matches host: String) -> Bool {
        let (domain, name) = (domain.utf8, host.utf8)
        guard name.count > domain.count else { return name.elementsEqual(domain) }
        return !domain.isEmpty && name.suffix(domain.count).elementsEqual(domain)
            && name.dropLast(domain.count).last == UInt8(ascii: ".") && !isAddress(host)
    }

    /// Returns whether a cookie's path is `path` or above it.
    static func path(_ cookiePath: String, matches path: String) -> Bool {
        guard path.hasBytePrefix(cookiePath) else { return false }
        return path.utf8.count == cookiePath.utf8.count || cookiePath.utf8.last == UInt8(ascii: "/")
            || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
    }

    /// Returns the path for a cookie without one: the request's path up to its last slash.
    static func defaultPath(of path: String) -> String {
        let bytes = path.utf8
        guard bytes.first == UInt8(ascii: "/"), let last = bytes.lastIndex(of: UInt8(ascii: "/")),
            last > bytes.startIndex
        else { return "/" }
        return String(path[..<last])
    }

    /// Returns whether a host in lower case is an IP address.
    static func isAddress(_ host: String) -> Bool {
        guard let last = host.utf8.last else { return false }
        // Nearly every other host ends in a letter, so its text need not be read.
        return last == UInt8(ascii: "]") || (last &- UInt8(ascii: "0") < 10 && IPAddressText.octets(host) != nil)
    }

    /// Returns whether `target` can have cookies: only HTTP has them.
    static func isHTTP(_ target: TargetURI) -> Bool {
        target.scheme.hasSameBytes(as: "https") || target.scheme.hasSameBytes(as: "http")
    }

    /// Returns whether `target` may receive and set secure cookies: over TLS, or within this machine.
    ///
    /// Browsers and curl regard the loopback as trustworthy too, because no one else can read it.
    static func isSecure(_ target: TargetURI) -> Bool {
        if target.scheme.hasSameBytes(as: "https") { return true }
        let host = target.host
        guard !host.hasSameBytes(as: "localhost"), !host.hasByteSuffix(".localhost") else { return true }
        return host.hasSameBytes(as: "[::1]") || IPAddressText.range("127.0.0.0/8", contains: host)
    }

    /// Returns the domains above `host`, from the longest to the last label; none for an IP address.
    static func parents(of host: String) -> [Substring] {
        guard !isAddress(host) else { return [] }
        var parents: [Substring] = []
        var remainder = host[...]
        while let dot = remainder.utf8.firstIndex(of: UInt8(ascii: ".")) {
            remainder = remainder[remainder.utf8.index(after: dot)...]
            if !remainder.isEmpty { parents.append(remainder) }
        }
        return parents
    }
}
