import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Resolvers and local addresses", .timeLimit(.minutes(10)))
struct HostResolverTests {
    private struct Refusal: Error, CustomStringConvertible { let description = "no such service" }

    private static func request(_ host: String, _ port: Int? = nil) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("http://\(host)\(port.map { ":\($0)" } ?? "")/"))
    }

    private static func echo() throws -> ScriptedPeer {
        try ScriptedPeer { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(request.split(separator: "\r\n").first { $0.hasPrefix("Host") }.map(String.init) ?? "-")
                line.send(ok)
            }
        }
    }

    @Test("a mapped host is connected to at its address and port, and keeps its name in Host")
    func mapping() async throws {
        let peer = try Self.echo()
        let executor = SocketExecutor.with { $0.hostResolver = .mapping(["API.example.com": peer.authority]) }
        #expect(try await executor.execute(Self.request("api.example.com")).text == "ok")
        #expect(try await executor.execute(Self.request("Api.Example.Com", 81)).text == "ok")
        #expect(peer.notes == ["Host: api.example.com", "Host: api.example.com:81"])
    }

    @Test(
        "a mapped name and the host of the URL are compared in their canonical form",
        arguments: [
            ("a.example.", "a.example"), ("a.example", "a.example."), ("A.EXAMPLE.", "a.Example"),
            ("bücher.test", "xn--bcher-kva.test"), ("Bücher.TEST.", "XN--BCHER-KVA.test"),
        ])
    func spellings(key: String, host: String) async throws {
        let peer = try Self.echo()
        let executor = SocketExecutor.with { $0.hostResolver = .mapping([key: peer.authority]) }
        #expect(try await executor.execute(Self.request(host)).text == "ok")
    }

    @Test("an address without a port has the port of the URL, and all addresses are tried")
    func ports() async throws {
        let peer = try Self.echo()
        let port = try #require(peer.address.port)
        let names = SharedCounter()
        let executor = SocketExecutor.with {
            $0.hostResolver = SocketExecutor.HostResolver { host in
                names.add()
                // Nothing listens at the first address.
                return host == "a.example" ? ["127.0.0.9:1", "127.0.0.1"] : ["[::ffff:127.0.0.1]:\(port)"]
            }
        }
        #expect(try await executor.execute(Self.request("A.example", Int(port))).text == "ok")
        #expect(try await executor.execute(Self.request("127.0.0.1", Int(port))).text == "ok")
        #expect(try await executor.execute(Self.request("localhost", Int(port))).text == "ok")
        #expect(names.value == 1)
    }

    @Test(
        "text that is not an address is an error that names it, and nothing is sent",
        arguments: [
            "", "localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:+80", "127.0.0.1:8 0",
            "127.0.0.1:80:80", "127.1", "[::1", "[::1]80", "[::1]:", "::1]:80", "[]", "[]:80", "1.2.3.4\u{0}",
            "[::1]:８0",
            "127.0.0.1:80\u{301}",
        ])
    func malformed(text: String) async throws {
        let executor = SocketExecutor.with { $0.hostResolver = .mapping(["a.example": text]) }
        let error = await executor.failure(of: try Self.request("a.example"))
        #expect(error?.reason == .hostNotFound && error?.mayHaveReachedServer == false)
        #expect(error?.detail?.contains("which is not an IP address") == true, "\(error as Any)")
    }

    @Test("a resolver that throws or finds nothing is an error with its cause")
    func failures() async throws {
        let refusing = SocketExecutor.with { $0.hostResolver = .init { _ in throw Refusal() } }
        let refused = await refusing.failure(of: try Self.request("a.example"))
        #expect(refused?.reason == .hostNotFound && refused?.detail == "no such service")
        let empty = SocketExecutor.with { $0.hostResolver = .init { _ in [] } }
        let nothing = await empty.failure(of: try Self.request("a.example"))
        #expect(nothing?.reason == .hostNotFound && nothing?.detail == "the resolver returned no address")
    }

    @Test("connections are established from the local address")
    func localAddress() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            let address = try? line.socket.peerAddress()
            peer.note(address.map { "\($0)" } ?? "-")
            line.respondToAll(ok)
        }
        for address in ["127.0.0.1", "127.0.0.5"] {
            let executor = SocketExecutor.with { $0.localAddress = address }
            #expect(try await executor.execute(try peer.request()).text == "ok")
        }
        let addresses = peer.notes.map { $0.split(separator: ":").first }
        #expect(addresses == ["127.0.0.1", "127.0.0.5"])
    }

    @Test(
        "a local address that cannot be used is an error before anything is sent",
        arguments: [
            ("x", RequestError.Reason.invalidRequest(.invalidLocalAddress)),
            ("127.0.0.1:80", .invalidRequest(.invalidLocalAddress)), ("", .invalidRequest(.invalidLocalAddress)),
            ("::1", .connectionFailed), ("192.0.2.1", .connectionFailed),
        ])
    func unusable(address: String, reason: RequestError.Reason) async throws {
        let peer = try Self.echo()
        let executor = SocketExecutor.with { $0.localAddress = address }
        let error = await executor.failure(of: try peer.request())
        #expect(error?.reason == reason && error?.mayHaveReachedServer == false, "\(error as Any)")
        #expect(peer.connections == 0)
    }

    @Test(
        "probes are enabled with whole seconds within their bounds",
        arguments: [
            (SocketExecutor.KeepAliveProbes(), [60, 10, 5]),
            (.init(idleTime: .milliseconds(1_500), interval: .milliseconds(1), count: 3), [2, 1, 3]),
            (.init(idleTime: .seconds(-1), interval: .zero, count: 0), [1, 1, 1]),
            (.init(idleTime: .seconds(Int64.min), interval: .nanoseconds(Int64.min), count: .min), [1, 1, 1]),
            (.init(idleTime: .seconds(Int64.max), interval: .seconds(100_000), count: .max), [32_767, 32_767, 127]),
        ] as [(SocketExecutor.KeepAliveProbes, [Int32])])
    func probes(probes: SocketExecutor.KeepAliveProbes, expected: [Int32]) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor.with { $0.keepAliveProbes = probes }
        _ = try await executor.execute(try peer.request())
        let values = try #require(executor.idleKeepAlive)
        #expect(values.isEnabled && [values.idle, values.interval, values.count] == expected)
        let plain = SocketExecutor()
        _ = try await plain.execute(try peer.request())
        #expect(plain.idleKeepAlive?.isEnabled == false)
    }
}
