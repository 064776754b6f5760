import RequestsPOSIX
import TestSupport
import Testing

@Suite("SocketAddress")
struct SocketAddressTests {
    @Test(
        "an IP literal is parsed",
        arguments: [
            ("127.0.0.1", "127.0.0.1:80"), ("0.0.0.0", "0.0.0.0:80"), ("255.255.255.255", "255.255.255.255:80"),
            ("::1", "[::1]:80"), ("::", "[::]:80"), ("2001:DB8::0:1", "[2001:db8::1]:80"),
            ("::ffff:1.2.3.4", "[::ffff:1.2.3.4]:80"), ("fe80::1%7", "[fe80::1%7]:80"),
            ("1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:80"),
        ])
    func literals(text: String, description: String) throws {
        let address = try #require(SocketAddress(ipLiteral: text, port: 80))
        #expect(address.description == description)
        #expect(address.port == 80)
    }

    @Test(
        "text that is not an IP literal is not parsed",
        arguments: [
            "", "localhost", "1", "1.2.3", "1.2.3.4.5", "256.0.0.1", "0x7f.0.0.1", "127.0.0.1 ", " 127.0.0.1",
            "1.2.3.4%1",
            "[::1]", "::1::", ":::", "12345::", "fe80::1%", "fe80::1%no-such-interface", "fe80::1%99999999999",
            "1.2.3.4\0",
            "::1%1\0", "1:2:3:4:5:6:7:8:9", "%1", "127.0.0.1:80", "१२७.0.0.1",
        ])
    func notLiterals(text: String) {
        #expect(SocketAddress(ipLiteral: text, port: 80) == nil)
    }

    @Test("changing the port keeps the rest of the address")
    func withPort() throws {
        let six = try #require(SocketAddress(ipLiteral: "fe80::1%7", port: 1))
        #expect(six.with(port: 2) == SocketAddress(ipLiteral: "fe80::1%7", port: 2))
        #expect(six.host == "fe80::1%7")
        let path = try SocketAddress(unixPath: "/a")
        #expect(path.with(port: 2) == path)
        #expect(path.port == nil)
    }

    @Test(
        "only loopback addresses and unix paths are local",
        arguments: [
            ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("128.0.0.1", false), ("10.0.0.1", false),
            ("0.0.0.0", false), ("::", false), ("::2", false), ("fe80::1", false), ("2001:db8::1", false),
        ])
    func local(text: String, isLocal: Bool) throws {
        #expect(try #require(SocketAddress(ipLiteral: text, port: 80)).isLocal == isLocal)
        #expect(try SocketAddress(unixPath: "/a").isLocal)
    }

    @Test("a unix path that is too long, is empty or contains NUL is a typed error", .rows("R-59"))
    func paths() throws {
        let limit = SocketAddress.longestPath
        let longest = String(repeating: "x", count: limit)
        #expect(try SocketAddress(unixPath: longest).description == "unix:\(longest)")
        #expect(throws: SocketAddress.PathError.tooLong(bytes: limit + 1, limit: limit)) {
            try SocketAddress(unixPath: longest + "x")
        }
        #expect(throws: SocketAddress.PathError.tooLong(bytes: limit + 1, limit: limit)) {
            try SocketAddress(unixPath: String(repeating: "é", count: (limit + 1) / 2))
        }
        #expect(throws: SocketAddress.PathError.empty) { try SocketAddress(unixPath: "") }
        #expect(throws: SocketAddress.PathError.containsNUL) { try SocketAddress(unixPath: "/a\0b") }
        #expect(try SocketAddress(unixPath: "./@a").host == "./@a")
    }

    #if os(Linux)
    @Test("an abstract name begins with @ or NUL", .rows("R-59"))
    func abstractNames() throws {
        #expect(try SocketAddress(unixPath: "@a") == SocketAddress(unixPath: "\0a"))
        #expect(try SocketAddress(unixPath: "@a").description == "unix:@a")
        #expect(throws: SocketAddress.PathError.empty) { try SocketAddress(unixPath: "@") }
        #expect(throws: SocketAddress.PathError.containsNUL) { try SocketAddress(unixPath: "@a\0") }
    }
    #endif
}
