import CRequestsPOSIX
import Requests

/// An address to bind or connect a socket to: IPv4 or IPv6 with a port, or a unix path.
package struct SocketAddress: Hashable, Sendable {
    enum Storage: Hashable, Sendable {
        /// The address in network byte order, as in `in_addr`.
        case ipv4(UInt32, port: UInt16)
        /// The two halves of the 16 bytes, in memory order.
        case ipv6(UInt64, UInt64, port: UInt16, scope: UInt32)
        /// The bytes of `sun_path` without the final NUL; an abstract name begins with NUL.
        case unix([UInt8])
    }

    let storage: Storage

    init(_ storage: Storage) {
        self.storage = storage
    }
}

extension SocketAddress {
    package enum Family: Sendable {
        case ipv4, ipv6, unix
    }

    package enum PathError: Error, Hashable, Sendable, CustomStringConvertible {
        case empty
        case containsNUL
        /// The path has more bytes than the kernel's address allows: 107 on Linux, 103 on Darwin.
        case tooLong(bytes: Int, limit: Int)
        /// The name is abstract (`@name`), which only Linux supports.
        case abstractNameUnsupported

        package var description: String {
            switch self {
            case .empty: "the path is empty"
            case .containsNUL: "the path contains NUL"
            case .tooLong(let bytes, let limit): "the path has \(bytes) bytes, the limit is \(limit) bytes"
            case .abstractNameUnsupported: "abstract names are supported on Linux only"
            }
        }
    }

    package var family: Family {
        switch storage {
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        case .unix: .unix
        }
    }

    /// The port; nil for a unix path.
    package var port: UInt16? {
        switch storage {
        case .ipv4(_, let port), .ipv6(_, _, let port, _): port
        case .unix: nil
        }
    }

    /// Returns the address with another port; a unix path is returned unchanged.
    package func with(port: UInt16) -> SocketAddress {
        switch storage {
        case .ipv4(let address, _): SocketAddress(.ipv4(address, port: port))
        case .ipv6(let high, let low, _, let scope): SocketAddress(.ipv6(high, low, port: port, scope: scope))
        case .unix: self
        }
    }

    /// Returns this address; if its port is 0, with `port` instead.
    package func withPort(orElse port: UInt16) -> SocketAddress {
        self.port == 0 ? with(port: port) : self
    }

    /// Returns the IPv4 loopback address, 127.0.0.1.
    package static func loopback(port: UInt16 = 0) -> SocketAddress {
        SocketAddress(.ipv4(UInt32(0x7F00_0001).bigEndian, port: port))
    }

    /// Returns the IPv6 loopback address, `::1`.
    package static func loopbackIPv6(port: UInt16 = 0) -> SocketAddress {
        SocketAddress(.ipv6(0, UInt64(1).bigEndian, port: port, scope: 0))
    }

    /// Whether the address is on this machine: a unix path, 127.0.0.0/8 or `::1`.
    package var isLocal: Bool {
        switch storage {
        case .ipv4(let address, _): UInt32(bigEndian: address) >> 24 == 127
        case .ipv6(let high, let low, _, _): high == 0 && UInt64(bigEndian: low) == 1
        case .unix: true
        }
    }

    /// Creates an address from a literal such as `127.0.0.1`, `::1`, `fe80::1%eth0` or `fe80::1%2`, without brackets.
    ///
    /// Returns nil for a host name, an IPv4 address that is not four decimal numbers without leading zeros or that has
    /// a scope, and the name of an interface that does not exist.
    package init?(ipLiteral text: some StringProtocol, port: UInt16) {
        if let address = IPAddressText.ipv4(Substring(text).utf8) {
            self.init(.ipv4(address.bigEndian, port: port))
            return
        }
        guard text.containsByte(":") else { return nil }
        let parts = text.splitBytes(at: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let literal = parts.first.map({ String($0) }), !literal.utf8.contains(0) else { return nil }
        var six = in6_addr()
        guard inet_pton(rp_family_ipv6, literal, &six) == 1 else { return nil }
        guard let scope = parts.count == 2 ? Self.scope(named: String(parts[1])) : 0 else { return nil }
        let (high, low) = Self.halves(of: six)
        self.init(.ipv6(high, low, port: port, scope: scope))
    }

    /// Creates the address of the unix socket at `unixPath`, relative or absolute.
    ///
    /// On Linux a leading `@` or NUL denotes an abstract name, which is not a file; write `./@name` for a file named
    /// so.
    package init(unixPath: String) throws(PathError) {
        var bytes = Array(unixPath.utf8)
        guard let first = bytes.first else { throw .empty }
        let isAbstract = first == 0 || first == UInt8(ascii: "@")
        if isAbstract {
            guard rp_has_abstract_names() == 1 else { throw .abstractNameUnsupported }
            guard bytes.count > 1 else { throw .empty }
            bytes[0] = 0
        }
        guard !bytes.dropFirst(isAbstract ? 1 : 0).contains(0) else { throw .containsNUL }
        guard bytes.count <= Self.longestPath else { throw .tooLong(bytes: bytes.count, limit: Self.longestPath) }
        self.init(.unix(bytes))
    }

    /// The maximum length of a unix path in bytes.
    package static var longestPath: Int { MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1 }

    /// Returns the scope identifier for the number or interface `name`; nil if there is no such interface.
    private static func scope(named name: String) -> UInt32? {
        guard !name.isEmpty, !name.utf8.contains(0) else { return nil }
        if name.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return UInt32(name) }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }

    private static func halves(of address: in6_addr) -> (UInt64, UInt64) {
        withUnsafeBytes(of: address) { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The address as text: `127.0.0.1:80`, `[fe80::1%2]:80`, `unix:/run/engine.sock` or `unix:@abstract`.
    package var description: String {
        switch storage {
        case .ipv4(_, let port): "\(host):\(port)"
        case .ipv6(_, _, let port, _): "[\(host)]:\(port)"
        case .unix: "unix:\(host)"
        }
    }

    /// The address without its port: `127.0.0.1`, `fe80::1%2`, or the path.
    package var host: String {
        switch storage {
        case .ipv4(let address, _):
            var address = in_addr(s_addr: address)
            return Self.text { inet_ntop(rp_family_ipv4, &address, $0, $1) }
        case .ipv6(let high, let low, _, let scope):
            var address = Self.address(high, low)
            let text = Self.text { inet_ntop(rp_family_ipv6, &address, $0, $1) }
            return scope == 0 ? text : "\(text)%\(scope)"
        case .unix(let path):
            let isAbstract = path.first == 0
            return (isAbstract ? "@" : "") + String(decoding: path.dropFirst(isAbstract ? 1 : 0), as: UTF8.self)
        }
    }

    private static func address(_ high: UInt64, _ low: UInt64) -> in6_addr {
        var address = in6_addr()
        withUnsafeMutableBytes(of: &address) { bytes in
            bytes.storeBytes(of: high, as: UInt64.self)
            bytes.storeBytes(of: low, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }

    private static func text(
        _ write: (UnsafeMutablePointer<CChar>, socklen_t) -> UnsafePointer<CChar>?
    ) -> String {
        // The longest text, with its NUL, has 46 bytes (INET6_ADDRSTRLEN).
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, let text = write(start, socklen_t(buffer.count)) else { return "" }
            return String(cString: text)
        }
    }
}

// MARK: The kernel's form

extension SocketAddress {
    /// The address family as the kernel's constant.
    var kernelFamily: Int32 {
        switch storage {
        case .ipv4: rp_family_ipv4
        case .ipv6: rp_family_ipv6
        case .unix: rp_family_unix
        }
    }

    /// Calls `body` with the address in the kernel's form, which is valid only during the call.
    func withKernelAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch storage {
        case .ipv4(let address, let port):
            var kernel = sockaddr_in()
            kernel.sin_family = sa_family_t(rp_family_ipv4)
            kernel.sin_port = port.bigEndian
            kernel.sin_addr = in_addr(s_addr: address)
            return Self.lend(&kernel, socklen_t(MemoryLayout<sockaddr_in>.size), to: body)
        case .ipv6(let high, let low, let port, let scope):
            var kernel = sockaddr_in6()
            kernel.sin6_family = sa_family_t(rp_family_ipv6)
            kernel.sin6_port = port.bigEndian
            kernel.sin6_addr = Self.address(high, low)
            kernel.sin6_scope_id = scope
            return Self.lend(&kernel, socklen_t(MemoryLayout<sockaddr_in6>.size), to: body)
        case .unix(let path):
            var kernel = sockaddr_un()
            kernel.sun_family = sa_family_t(rp_family_unix)
            withUnsafeMutableBytes(of: &kernel.sun_path) { $0.copyBytes(from: path) }
            // The length ends an abstract name; a NUL ends a path.
            let size = Self.pathOffset + path.count + (path.first == 0 ? 0 : 1)
            return Self.lend(&kernel, socklen_t(size), to: body)
        }
    }

    /// Creates an address from the system call `call`; returns nil if it fails or reports another family.
    init?(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &size) }
        }
        guard result == 0 else { return nil }
        let address = withUnsafeBytes(of: &storage) { bytes in
            Self.read(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(size))))
        }
        guard let address else { return nil }
        self = address
    }

    /// Returns the address in the bytes of a `sockaddr`; nil if there are too few, or if they have another family.
    static func read(_ bytes: UnsafeRawBufferPointer) -> SocketAddress? {
        guard bytes.count >= MemoryLayout<sa_family_t>.size + 1 else { return nil }
        var header = sockaddr()
        withUnsafeMutableBytes(of: &header) { $0.copyBytes(from: bytes.prefix($0.count)) }
        switch Int32(header.sa_family) {
        case rp_family_ipv4:
            guard bytes.count >= MemoryLayout<sockaddr_in>.size else { return nil }
            let kernel = bytes.loadUnaligned(as: sockaddr_in.self)
            return SocketAddress(.ipv4(kernel.sin_addr.s_addr, port: UInt16(bigEndian: kernel.sin_port)))
        case rp_family_ipv6:
            guard bytes.count >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let kernel = bytes.loadUnaligned(as: sockaddr_in6.self)
            let (high, low) = halves(of: kernel.sin6_addr)
            let port = UInt16(bigEndian: kernel.sin6_port)
            return SocketAddress(.ipv6(high, low, port: port, scope: kernel.sin6_scope_id))
        case rp_family_unix:
            let path = bytes.dropFirst(pathOffset)
            let end = path.first == 0 ? path.endIndex : path.firstIndex(of: 0) ?? path.endIndex
            return SocketAddress(.unix(Array(path[..<end])))
        default:
            return nil
        }
    }

    private static var pathOffset: Int { MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2 }

    private static func lend<Kernel, Result>(
        _ kernel: inout Kernel, _ size: socklen_t, to body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        // The system calls take all types of addresses as `sockaddr`.
        withUnsafePointer(to: &kernel) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }
}
