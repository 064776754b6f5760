import CRequestsPOSIX

extension Resolver {
    /// The system's lookup (getaddrinfo), which reads the hosts file and queries name servers as configured.
    package static let system: Lookup = { host throws(ResolverError) in
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = rp_stream
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw ResolverError(code: code) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry?.pointee {
            let bytes = UnsafeRawBufferPointer(start: current.ai_addr, count: Int(current.ai_addrlen))
            if let address = SocketAddress.read(bytes), !addresses.contains(address) { addresses.append(address) }
            entry = current.ai_next
        }
        guard !addresses.isEmpty else { throw .hostNotFound("no IPv4 or IPv6 address") }
        return addresses
    }
}

extension ResolverError {
    fileprivate init(code: Int32) {
        let text = gai_strerror(code).map { String(cString: $0) } ?? "getaddrinfo error \(code)"
        switch code {
        case EAI_AGAIN: self = .temporaryFailure(text)
        case EAI_SYSTEM: self = .system(.last("getaddrinfo"))
        case _ where rp_is_unknown_host(code) == 1: self = .hostNotFound(text)
        default: self = .failed(text)
        }
    }
}
