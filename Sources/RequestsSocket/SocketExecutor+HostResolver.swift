import Requests
package import RequestsPOSIX

extension SocketExecutor {
    /// A resolver, which returns the addresses of host names.
    ///
    /// ```swift
    /// var configuration = SocketExecutor.Configuration()
    /// configuration.hostResolver = .mapping(["api.example.com": "127.0.0.1:8080"])
    /// ```
    /// Addresses are cached for 5 s. IP addresses in URLs, and `localhost` and the names below it, are never looked up.
    public struct HostResolver: Sendable {
        package let resolver: Resolver

        package init(_ resolver: Resolver) {
            self.resolver = resolver
        }

        /// The resolver of the system, which all executors share.
        public static let system = HostResolver(.shared)

        /// Creates a resolver that calls `lookup` for each host name.
        ///
        /// - Parameter lookup: Returns the addresses of a host, in the order in which they are tried: IPv4 or IPv6
        ///   addresses, each with an optional port that replaces the port of the URL, such as `192.0.2.1`,
        ///   `192.0.2.1:8080`, `2001:db8::1` or `[2001:db8::1]:8080`. The name is in lower case. The function runs on a
        ///   thread of the resolver and may block; at most four calls run at once, and one for each name. If it throws,
        ///   returns no address or returns other text, the request fails with
        ///   ``/Requests/RequestError/Reason/hostNotFound``.
        public init(_ lookup: @escaping @Sendable (_ host: String) throws -> [String]) {
            self.init(
                Resolver { host throws(ResolverError) in
                    let texts: [String]
                    do {
                        texts = try lookup(host)
                    } catch {
                        throw .failed("\(error)")
                    }
                    guard !texts.isEmpty else { throw .hostNotFound("the resolver returned no address") }
                    return try texts.map { text throws(ResolverError) in try SocketAddress(resolved: text) }
                })
        }

        /// Returns a resolver with fixed addresses for some hosts, and the system's for all others.
        ///
        /// - Parameter addresses: The address of each host, written as for ``init(_:)``. Case and a dot at the
        ///   end of a name are ignored, and a name outside ASCII is the same as its form with `xn--`. If the mapping
        ///   contains several spellings of one name, any of their addresses is used.
        /// - Returns: The resolver.
        public static func mapping(_ addresses: [String: String]) -> HostResolver {
            let known = Dictionary(
                addresses.map { (HostText.canonical($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
            return HostResolver(
                Resolver { host throws(ResolverError) in
                    guard let text = known[HostText.canonical(host)] else { return try Resolver.system(host) }
                    return [try SocketAddress(resolved: text)]
                })
        }
    }
}

extension SocketAddress {
    /// Creates an address from the text that a resolver returned, with port 0 if the text has none.
    fileprivate init(resolved text: String) throws(ResolverError) {
        guard let address = Self.parsed(text) else {
            throw .failed("the resolver returned \(ErrorText.quoted(text)), which is not an IP address")
        }
        self = address
    }

    private static func parsed(_ text: String) -> SocketAddress? {
        // A port can follow an IPv6 address only if that is in brackets.
        if let address = SocketAddress(ipLiteral: text, port: 0) { return address }
        let isBracketed = text.hasBytePrefix("[")
        let parts = text.droppingFirstBytes(isBracketed ? 1 : 0)
            .splitBytes(at: isBracketed ? "]" : ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = parts.first, var port = parts.dropFirst().first else { return nil }
        if isBracketed {
            if port.isEmpty { return SocketAddress(ipLiteral: host, port: 0) }
            guard port.hasBytePrefix(":") else { return nil }
            port = port.droppingFirstBytes(1)
        }
        let isDecimal = port.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isDecimal, let number = UInt16(port), number > 0 else { return nil }
        return SocketAddress(ipLiteral: host, port: number)
    }
}
