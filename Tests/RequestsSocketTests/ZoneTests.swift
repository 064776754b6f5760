import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

private let hasIPv6 = (try? Socket.listening(on: .loopbackIPv6())) != nil

/// A zone identifies the network of an address: it is part of the socket's address and is never sent.
@Suite("Zones over sockets", .timeLimit(.minutes(10)), .enabled(if: hasIPv6, "no IPv6 on the loopback"))
struct ZoneTests {
    @Test("an address with a zone has its own connections, and Host does not contain the zone", .rows("R-4", "R-51"))
    func zones() async throws {
        let peer = try ScriptedPeer(on: .loopbackIPv6()) { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(String(request.split(separator: "\r\n")[1]))
                line.send(ok)
            }
        }
        let port = try #require(peer.address.port)
        let executor = SocketExecutor()
        for round in 0..<2 {
            for host in ["[::1%251]", "[::1]"] {
                let request = PreparedRequest(target: try TargetURI("http://\(host):\(port)/"))
                let response = try await executor.execute(request)
                #expect(response.metrics.isReusedConnection == (round == 1))
            }
        }
        #expect(peer.notes == Array(repeating: "Host: [::1]:\(port)", count: 4))
        #expect(peer.connections == 2)
        let nowhere = PreparedRequest(target: try TargetURI("http://[::1%25nowhere0]:\(port)/"))
        let error = await executor.failure(of: nowhere)
        #expect(error?.reason == .hostNotFound)
        #expect(error?.mayHaveReachedServer == false)
    }

    /// The name of the loopback interface, whose number is 1.
    private static let interface = {
        #if os(Linux)
        "lo"
        #else
        "lo0"
        #endif
    }()

    @Test(
        "secrets are sent only to the zone of their origin, and another zone has its own connection",
        .rows("R-27", "R-28"),
        arguments: [("%25\(interface)", true), ("%251", false), ("", false)])
    func redirects(zone: String, isSameOrigin: Bool) async throws {
        let peer = try ScriptedPeer(on: .loopbackIPv6()) { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(request)
                let location = "http://[::1\(zone)]:\(peer.address.port ?? 0)/next"
                line.send(
                    request.contains("/next")
                        ? ok : "HTTP/1.1 307 Moved\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let port = try #require(peer.address.port)
        let base = try #require(URL(string: "http://[::1%25\(Self.interface)]:\(port)"))
        let secrets = ["Authorization", "Cookie", "X-API-Key"].map { Field(name: Field.Name($0), value: "hunter2") }
        let text = try await SocketExecutor().perform(
            AnonymousRequestProvider(baseURL: base).get(.text, from: "/").adding(headerFields: secrets))
        #expect(text == "ok")
        #expect(peer.notes.map { $0.contains("hunter2") } == [true, isSameOrigin])
        #expect(peer.notes.allSatisfy { $0.contains("\r\nHost: [::1]:\(port)\r\n") })
        #expect(peer.connections == (isSameOrigin ? 1 : 2))
    }
}
