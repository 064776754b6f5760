import CRequestsPOSIX
import Requests
import RequestsPOSIX
import TestSupport
import Testing

@testable import RequestsSocket
@testable import RequestsTLS

@Suite("The steps on a connected socket as a state machine, without sockets", .timeLimit(.minutes(10)))
struct EstablishmentTests {
    typealias Step = ScriptedStream.Step

    private static let connect = "CONNECT host.example:443 HTTP/1.1\r\nHost: host.example:443\r\n"
    private static let accepted = Step.receives("HTTP/1.1 200 OK\r\n\r\n")

    private static func proxy(
        _ scheme: SocketExecutor.Proxy.Scheme = .http, _ authorization: SocketExecutor.Proxy.Authorization? = nil
    ) -> SocketExecutor.Proxy {
        .init(scheme: scheme, host: "proxy.example", port: 3128, authorization: authorization)
    }

    /// Returns a new connection to a host with one address, which accepts at once; each attempt has the next stream.
    private static func steps(
        to url: String = "https://host.example/", through proxy: SocketExecutor.Proxy? = nil, total: Duration? = nil,
        _ streams: [Step]...
    ) throws -> ConnectionSteps {
        let address = try #require(SocketAddress(ipLiteral: "10.0.0.1", port: 443))
        let context = TLSContext(client: TLSConfiguration())
        return try ConnectionSteps(to: url, through: proxy, total: total) {
            $0.settings = [.origin: [.done(context)], .proxy: [.done(context)]]
            $0.lookups = Array(repeating: .done([address]), count: streams.count)
            $0.streams = streams
        }
    }

    // MARK: TLS

    @Test("the settings of TLS are loaded before the lookup, and needed until they have been", .rows("R-48"))
    func loading() throws {
        let steps = try Self.steps([.secured(nil)])
        steps.network.settings[.origin]?.insert(contentsOf: [.pending, .pending], at: 0)
        for _ in 0..<2 { try steps.expect("settings of origin, securing until 10000 ms") }
        #expect(steps.network.log == ["load origin"])
        try steps.expect("connected to 10.0.0.1:443")
        #expect(steps.network.log.prefix(2) == ["load origin", "look up host.example:443"])
        let failing = try Self.steps([])
        let missing = RequestError(.invalidRequest(.invalidTLSConfiguration), detail: "missing").beforeSending()
        failing.network.settings[.origin] = [.pending, .failure(missing)]
        #expect(failing.failure()?.reason == missing.reason && failing.network.log == ["load origin"])
    }

    @Test("a handshake needs the directions that TLS waits for, or a turn for other tasks", .rows("R-48"))
    func handshake() throws {
        let steps = try Self.steps(
            [.needs(.writing), .needs(.reading), .needs(.both), .needs(.none), .secured("http/1.1")])
        let address = "10.0.0.1:443,"
        let needs = ["write \(address)", "read \(address)", "read or write \(address)", "turn"]
        for (time, need) in needs.enumerated() {
            try steps.expect("\(need) securing until 10000 ms", at: .milliseconds(time))
        }
        try steps.expect("connected to 10.0.0.1:443", at: .milliseconds(8))
        #expect(steps.stamps == [0, 0, 8])
        #expect(steps.network.log.suffix(5) == Array(repeating: "handshake with host.example", count: 5))
    }

    @Test("an application protocol other than HTTP/1.1 is refused; a server may select none", .rows("S-28"))
    func applicationProtocols() throws {
        for selected in [nil, "http/1.1"] {
            let steps = try Self.steps([.secured(selected)])
            try steps.expect("connected to 10.0.0.1:443")
        }
        for selected in ["h2", "http/1.0", ""] {
            let steps = try Self.steps([.secured(selected)])
            let error = steps.failure()
            #expect(error?.reason == .tlsFailed && error?.isPermanent == true && error?.mayHaveReachedServer == false)
        }
    }

    @Test("the error of a handshake has the reason of its problem, and the request was not sent")
    func refused() throws {
        for (problem, reason, isPermanent) in [
            (TLSError.Problem.unavailable, RequestError.Reason.tlsUnavailable, true),
            (.configuration, .invalidRequest(.invalidTLSConfiguration), true),
            (.certificate(.expired), .certificateRefused(.expired), true), (.alert(40), .tlsFailed, true),
            (.alert(80), .tlsFailed, false), (.negotiationFailed, .tlsFailed, true), (.notTLS, .tlsFailed, true),
            (.protocolViolation, .tlsFailed, false), (.closedInHandshake, .connectionFailed, false),
            (.truncated, .connectionFailed, false),
            (.system(SystemError("recv", code: ECONNRESET)), .connectionFailed, false),
        ] {
            let steps = try Self.steps([.needs(.reading), .refused(TLSError(problem, "text"))])
            let error = steps.failure()
            #expect(error?.reason == reason && error?.detail == "text", "\(problem)")
            #expect(error?.isPermanent == isPermanent && error?.mayHaveReachedServer == false, "\(problem)")
            // The addresses were correct.
            #expect(!steps.network.log.contains { $0.hasPrefix("forget") })
            let network = steps.network
            steps.end()
            #expect(network.log.suffix(2).sorted() == ["close 10.0.0.1:443", "vacate"])
        }
    }

    @Test("a host name that no certificate can contain is an error before the lookup")
    func names() throws {
        let steps = try Self.steps(to: "https://a..example/", [])
        let error = steps.failure()
        #expect(error?.reason == .hostNotFound && error?.mayHaveReachedServer == false)
        #expect(steps.network.log == ["load origin"])
    }

    @Test("the key of a TLS session consists of the name, the port and the route", .rows("R-51"))
    func sessionKeys() throws {
        func key(_ name: String, _ port: Int, _ route: String) throws -> TLSSessionKey {
            TLSSessionKey(scheme: "https", host: try TLSServerName(name), port: port, route: route)
        }
        let direct = try Self.steps(to: "https://Host.example.:8443/", [.needs(.reading), .secured(nil)])
        for need in ["read 10.0.0.1:443, securing until 10000 ms", "connected to 10.0.0.1:443"] {
            try direct.expect(need)
        }
        #expect(direct.network.sessionKeys == [try key("host.example", 8443, "")])
        let tunnel = try Self.steps(
            through: Self.proxy(.https), [.secured(nil), .sent, Self.accepted, .secured(nil)])
        try tunnel.expect("connected to 10.0.0.1:443")
        #expect(
            tunnel.network.sessionKeys == [
                try key("proxy.example", 3128, "proxy"), try key("host.example", 443, "https://proxy.example:3128"),
            ])
        let local = try ConnectionSteps(to: "https://host.example/", by: .unix(path: "/run/engine.sock")) {
            $0.settings = [.origin: [.done(TLSContext(client: TLSConfiguration()))]]
            $0.streams = [[.secured(nil)]]
        }
        try local.expect("connected to unix:/run/engine.sock")
        #expect(local.network.sessionKeys == [try key("host.example", 443, "/run/engine.sock")])
    }

    // MARK: The tunnel

    @Test("a tunnel through the proxy is established before TLS to the origin server", .rows("R-51"))
    func tunnel() throws {
        let steps = try Self.steps(
            through: Self.proxy(.http, .basic(username: "u", password: "p")),
            [.sent, .blocked(.reading), Self.accepted, .needs(.reading), .secured(nil)])
        try steps.expect("read 10.0.0.1:443, connecting until 10000 ms")
        try steps.expect("read 10.0.0.1:443, securing until 10000 ms", at: .milliseconds(5))
        try steps.expect("connected to 10.0.0.1:443", at: .milliseconds(6))
        #expect(steps.network.sent == ["\(Self.connect)Proxy-Authorization: Basic dTpw\r\n\r\n"])
        #expect(steps.stamps == [0, 0, 6])
        #expect(
            steps.network.log == [
                "load origin", "look up proxy.example:3128", "connect 10.0.0.1:443", "options 10.0.0.1:443",
                "handshake with host.example", "handshake with host.example",
            ])
    }

    @Test("the request for a tunnel can be sent in parts, and the response can arrive in parts", .rows("R-51"))
    func parts() throws {
        let steps = try Self.steps(
            through: Self.proxy(),
            [
                .accepts(1), .blocked(.writing), .accepts(7), .blocked(.both), .sent, .receives("HTTP/1.1 100 Contin"),
                .blocked(.none), .receives("ue\r\n\r\nHTTP/1.1 20"), .receives("0 OK\r\n\r\n"), .secured(nil),
            ])
        for need in ["write 10.0.0.1:443,", "read or write 10.0.0.1:443,", "turn"] {
            try steps.expect("\(need) connecting until 10000 ms")
        }
        try steps.expect("connected to 10.0.0.1:443")
        #expect(steps.network.sent == ["\(Self.connect)\r\n"])
    }

    @Test("TLS to a proxy comes before the request for a tunnel, and TLS to the origin server after it", .rows("R-51"))
    func securedProxy() throws {
        let steps = try Self.steps(
            through: Self.proxy(.https),
            [.needs(.writing), .secured(nil), .sent, Self.accepted, .needs(.reading), .secured("http/1.1")])
        steps.network.settings[.proxy]?.insert(.pending, at: 0)
        try steps.expect("settings of proxy, securing until 10000 ms")
        try steps.expect("write 10.0.0.1:443, securing until 10000 ms")
        try steps.expect("read 10.0.0.1:443, securing until 10000 ms")
        try steps.expect("connected to 10.0.0.1:443")
        #expect(
            steps.network.log == [
                "load proxy", "load origin", "look up proxy.example:3128", "connect 10.0.0.1:443",
                "options 10.0.0.1:443", "handshake with proxy.example", "handshake with proxy.example",
                "handshake with host.example", "handshake with host.example",
            ])
    }

    @Test("a proxy that forwards requests has no tunnel", .rows("R-51"))
    func forwarded() throws {
        let steps = try Self.steps(to: "http://host.example/", through: Self.proxy(), [])
        try steps.expect("connected to 10.0.0.1:443")
        #expect(steps.stamps == [0, 0, nil])
        #expect(
            steps.network.log == ["look up proxy.example:3128", "connect 10.0.0.1:443", "options 10.0.0.1:443"])
        let secured = try Self.steps(to: "http://host.example/", through: Self.proxy(.https), [.secured(nil)])
        try secured.expect("connected to 10.0.0.1:443")
        #expect(secured.network.log.first == "load proxy" && secured.network.sent == [""])
    }

    @Test("a SOCKS proxy provides a tunnel for http as well", .rows("R-51"))
    func socks() throws {
        let steps = try Self.steps(
            to: "http://h.example/", through: Self.proxy(.socks5),
            [
                .sent, .receives([5, 0]), .sent, .blocked(.reading), .receives([5, 0, 0, 1, 0, 0]),
                .receives([0, 0, 0, 0]),
            ])
        try steps.expect("read 10.0.0.1:443, connecting until 10000 ms")
        try steps.expect("connected to 10.0.0.1:443", at: .milliseconds(4))
        #expect(steps.network.sent == ["\u{5}\u{1}\0\u{5}\u{1}\0\u{3}\u{9}h.example\0P"])
        for (code, isPermanent) in [(UInt8(2), true), (5, false)] {
            let refused = try Self.steps(
                to: "http://h.example/", through: Self.proxy(.socks5),
                [.sent, .receives([5, 0]), .sent, .receives([5, code, 0, 1, 0])])
            let error = refused.failure()
            #expect(error?.reason == .proxyRefused && error?.isPermanent == isPermanent, "\(code)")
            #expect(error?.mayHaveReachedServer == false)
        }
    }

    @Test("a refusal, a violation or a loss during the dialogue is an error with its reason", .rows("R-51"))
    func refusals() throws {
        let required = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"
        for (authorization, arrivals, reason, isPermanent) in [
            (false, [.receives(required)], RequestError.Reason.proxyRefused, true),
            (true, [.receives(required)], .proxyRefused, true),
            (false, [.receives("HTTP/1.1 403 Forbidden\r\n\r\n")], .proxyRefused, true),
            (false, [.receives("HTTP/1.1 408 Request Timeout\r\n\r\n")], .proxyRefused, false),
            (false, [.receives("HTTP/1.1 502 Bad Gateway\r\n\r\n")], .proxyRefused, false),
            (false, [.receives("HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n")], .proxyRefused, false),
            (false, [.receives("SSH-2.0-OpenSSH\r\n")], .protocolViolation, false),
            (false, [.receives("HTTP/1.1 200 OK\r\nA b: c\r\n\r\n")], .protocolViolation, false),
            (false, [.receives("HTTP/1.1 200 OK\r\n\r\n\u{16}")], .protocolViolation, false),
            (false, [.end], .connectionFailed, false),
            (false, [.receives("HTTP/1.1 2"), .end], .connectionFailed, false),
            (false, [.failure(.system(SystemError("recv", code: ECONNRESET)))], .connectionFailed, false),
            (false, [.failure(.tls(TLSError(.truncated, "cut")))], .connectionFailed, false),
        ] as [(Bool, [Step], RequestError.Reason, Bool)] {
            let proxy = Self.proxy(.http, authorization ? .basic(username: "u", password: "p") : nil)
            let steps = try Self.steps(through: proxy, [.sent] + arrivals)
            let error = steps.failure()
            #expect(error?.reason == reason && error?.mayHaveReachedServer == false, "\(arrivals)")
            #expect(error?.isPermanent == isPermanent, "\(arrivals)")
            #expect(!steps.network.log.contains { $0.hasPrefix("forget") || $0.hasPrefix("handshake") }, "\(arrivals)")
        }
        let unsent = try Self.steps(
            through: Self.proxy(), [.accepts(3), .failure(.system(SystemError("send", code: EPIPE)))])
        #expect(unsent.failure()?.reason == .connectionFailed)
    }

    // MARK: Challenges

    private static let challenge = "HTTP/1.1 407 Required\r\nContent-Length: 2\r\n"
    /// More bytes of a challenge than are read.
    private static let longPart = String(repeating: "n", count: 17_000)

    @Test("after a challenge the request is sent again on the same connection", .rows("R-51"))
    func challenged() throws {
        let steps = try Self.steps(
            through: Self.proxy(.http, .init(with: ScriptedAuthenticator())),
            [
                .sent, .receives("\(Self.challenge)\r\nn"), .blocked(.reading), .receives("o"), .sent, Self.accepted,
                .secured(nil),
            ])
        try steps.expect("read 10.0.0.1:443, connecting until 10000 ms")
        try steps.expect("connected to 10.0.0.1:443")
        #expect(
            steps.network.sent == ["\(Self.connect)\r\n\(Self.connect)Proxy-Authorization: Test 1\r\n\r\n"])
    }

    @Test(
        "if the proxy closes after a challenge, announced or not, the dialogue continues on another connection",
        .rows("R-51"),
        arguments: [
            [Step.receives("\(challenge)Connection: close\r\n\r\nno")],
            [.receives("\(challenge)\r\nn"), .end],
            [.receives("\(challenge)\r\nno"), .failure(.system(SystemError("send", code: EPIPE)))],
            [.receives("\(challenge)\r\nno"), .sent, .end],
            [.receives("\(challenge)\r\nnono")],
            [.receives("HTTP/1.1 407 Required\r\nContent-Length: 20000\r\n\r\n"), .receives(longPart)],
        ])
    func reconnecting(arrivals: [Step]) throws {
        let steps = try Self.steps(
            through: Self.proxy(.https, .init(with: ScriptedAuthenticator())), [.secured(nil), .sent] + arrivals,
            [.secured(nil), .sent, Self.accepted, .secured(nil)])
        try steps.expect("connected to 10.0.0.1:443")
        let sent = try #require(steps.network.sent.last)
        #expect(sent.hasPrefix("\(Self.connect)Proxy-Authorization: Test ") && sent.ranges(of: "CONNECT").count == 1)
        let log = steps.network.log
        #expect(log.filter { $0.hasPrefix("load") } == ["load proxy", "load origin"])
        #expect(log.filter { $0.hasPrefix("look up") }.count == 2 && log.filter { $0.hasPrefix("connect") }.count == 2)
        #expect(log.filter { $0.hasPrefix("close") }.count == 1)
        let handshakes = log.filter { $0.hasPrefix("handshake") }
        #expect(handshakes.suffix(2) == ["handshake with proxy.example", "handshake with host.example"])
    }

    @Test("after two rejections of credentials, the tunnel is refused", .rows("R-51"))
    func rejected() throws {
        let again: [Step] = [.sent, .receives("\(Self.challenge)\r\nno")]
        let steps = try Self.steps(
            through: Self.proxy(.http, .init(with: ScriptedAuthenticator())), again + again + again)
        let error = steps.failure()
        #expect(error?.reason == .proxyRefused && error?.isPermanent == true && error?.mayHaveReachedServer == false)
        #expect(steps.network.sent[0].contains("Test 2") && !steps.network.sent[0].contains("Test 3"))
    }

    // MARK: Waits that fail

    @Test("a wait that fails ends each step with the error of its phase, and the request was not sent", .rows("R-48"))
    func waits() throws {
        for (error, total, reason) in [
            (WaitError.timedOut, nil as Duration?, nil as RequestError.Reason?),
            (.timedOut, .seconds(1), .timedOut(.total)), (.cancelled, nil, .cancelled),
            (.closed, nil, .connectionLost), (.failed(SystemError("epoll_ctl", code: ENOSPC)), nil, .connectionFailed),
        ] {
            for (streams, phase) in [
                ([.needs(.reading)], .securing), ([.secured(nil)], .connecting),
                ([.secured(nil), .sent, .blocked(.none)], .connecting),
                ([.secured(nil), .sent, Self.accepted, .needs(.none)], .securing),
            ] as [([Step], RequestError.Phase)] {
                let steps = try Self.steps(through: Self.proxy(.https), total: total, streams)
                _ = try steps.advance()
                let failure = try #require(throws: RequestError.self) { try steps.fail(error, at: .seconds(10)) }
                #expect(failure.reason == reason ?? .timedOut(phase) && !failure.mayHaveReachedServer, "\(streams)")
                #expect(!steps.network.log.contains { $0.hasPrefix("forget") })
            }
            let loading = try Self.steps(total: total, [])
            loading.network.settings[.origin] = [.pending]
            _ = try loading.advance()
            let failure = try #require(throws: RequestError.self) { try loading.fail(error, at: .seconds(10)) }
            #expect(failure.reason == reason ?? .timedOut(.securing) && !failure.mayHaveReachedServer)
        }
    }
}

/// An authenticator without credentials before a challenge; later ones contain the number of challenges.
private final class ScriptedAuthenticator: AuthenticationChallenge.ProxyAuthenticator {
    private let challenges = SharedCounter()

    func proxyCredentials(
        for request: AuthenticationChallenge.ProxyRequest
    ) throws(RequestError) -> (fieldValue: String?, token: Int) {
        let count = challenges.value
        return (count == 0 ? nil : "Test \(count)", count)
    }

    func handleChallenge(
        in response: ResponseHead, to request: AuthenticationChallenge.ProxyRequest, token: Int
    ) throws(RequestError) -> Bool {
        challenges.add(1)
        return true
    }

    func receive(
        fromProxy response: ResponseHead, for request: AuthenticationChallenge.ProxyRequest, token: Int
    ) throws(RequestError) {}
}
