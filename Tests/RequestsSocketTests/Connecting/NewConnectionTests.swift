import CRequestsPOSIX
import Requests
import RequestsPOSIX
import TestSupport
import Testing

@testable import RequestsSocket

/// The lookup and the race; the steps on the socket are in `EstablishmentTests`.
@Suite("A new connection as a state machine, without sockets", .timeLimit(.minutes(10)))
struct NewConnectionTests {
    private static func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(ipLiteral: text, port: 80))
    }

    private static func lookup(_ addresses: String...) throws -> ScriptedNetwork.Work<[SocketAddress], ResolverError> {
        .done(try addresses.map(address))
    }

    /// Returns a new connection to a host that has two addresses, neither of which is connected at once.
    private static func racing(total: Duration? = nil) throws -> ConnectionSteps {
        try ConnectionSteps(total: total) {
            $0.lookups = [try lookup("10.0.0.1", "10.0.0.2")]
            $0.attempts = [try address("10.0.0.1"): [.pending], try address("10.0.0.2"): [.pending]]
        }
    }

    // MARK: The lookup

    @Test("a known address that accepts at once requires no wait", .rows("R-50"))
    func atOnce() throws {
        let steps = try ConnectionSteps { $0.lookups = [try Self.lookup("10.0.0.1")] }
        try steps.expect("connected to 10.0.0.1:80", at: .milliseconds(3))
        #expect(steps.stamps == [3, 3, nil])
        #expect(steps.network.log == ["look up host.example:80", "connect 10.0.0.1:80", "options 10.0.0.1:80"])
    }

    @Test("a lookup is begun once, and needed until it has ended", .rows("R-50"))
    func lookup() throws {
        let steps = try ConnectionSteps { $0.lookups = [.pending, .pending, try Self.lookup("10.0.0.1")] }
        for _ in 0..<2 { try steps.expect("lookup, resolving until 10000 ms") }
        try steps.expect("connected to 10.0.0.1:80", at: .milliseconds(7))
        #expect(steps.stamps == [7, 7, nil])
        #expect(steps.network.log.filter { $0.hasPrefix("look up") } == ["look up host.example:80"])
    }

    @Test("if the lookup fails, the connection fails with its error, and nothing was sent", .rows("R-50"))
    func lookupErrors() throws {
        for (error, reason, detail) in [
            (ResolverError.hostNotFound("no such host"), RequestError.Reason.hostNotFound, "no such host"),
            (.temporaryFailure("try later"), .hostNotFound, "try later"), (.failed("broken"), .hostNotFound, "broken"),
            (.system(SystemError("socket", code: EMFILE)), .connectionFailed, "socket"),
        ] {
            for pending in [0, 2] {
                let steps = try ConnectionSteps {
                    $0.lookups = Array(repeating: .pending, count: pending) + [.failure(error)]
                }
                let failure = steps.failure()
                #expect(failure?.reason == reason && failure?.detail?.contains(detail) == true, "\(error)")
                #expect(failure?.mayHaveReachedServer == false)
                #expect(steps.network.log == ["look up host.example:80"])
            }
        }
    }

    @Test("a host without addresses is not found", .rows("R-50"))
    func noAddresses() throws {
        let steps = try ConnectionSteps { $0.lookups = [.done([])] }
        let error = steps.failure()
        #expect(error?.reason == .hostNotFound && error?.mayHaveReachedServer == false)
    }

    @Test("an address is looked up with its zone, and the port comes from the URL", .rows("R-50"))
    func names() throws {
        for (url, name) in [
            ("http://[fe80::1%25eth0]:8080/", "[fe80::1%eth0]:8080"), ("http://host.example:81/", "host.example:81"),
        ] {
            let steps = try ConnectionSteps(to: url) { $0.lookups = [.pending] }
            _ = try steps.advance()
            #expect(steps.network.log == ["look up \(name)"])
        }
    }

    @Test("only addresses of the same family as the local address are tried", .rows("R-50"))
    func localAddress() throws {
        let steps = try ConnectionSteps {
            $0.localAddress = try Self.address("127.0.0.1")
            $0.lookups = [try Self.lookup("fd00::1", "10.0.0.1", "fd00::2")]
        }
        try steps.expect("connected to 10.0.0.1:80")
        let none = try ConnectionSteps {
            $0.localAddress = try Self.address("127.0.0.1")
            $0.lookups = [try Self.lookup("fd00::1")]
        }
        let error = none.failure()
        #expect(error?.reason == .connectionFailed && error?.detail?.contains("127.0.0.1") == true)
        #expect(none.network.log == ["look up host.example:80"])
    }

    // MARK: The race

    @Test("an address that refuses is followed by the next one at once, in the order of the families", .rows("R-50"))
    func refused() throws {
        let steps = try ConnectionSteps {
            $0.lookups = [try Self.lookup("10.0.0.1", "10.0.0.2", "fd00::1")]
            $0.attempts = [
                try Self.address("10.0.0.1"): [.failure(ECONNREFUSED)],
                try Self.address("fd00::1"): [.pending, .failure(ETIMEDOUT)],
            ]
        }
        try steps.expect("race, connecting until 250 ms")
        try steps.expect("connected to 10.0.0.2:80", at: .milliseconds(9))
        #expect(steps.stamps == [0, 9, nil])
        #expect(
            steps.network.log == [
                "look up host.example:80", "connect [fd00::1]:80", "close [fd00::1]:80", "connect 10.0.0.1:80",
                "close 10.0.0.1:80", "connect 10.0.0.2:80", "options 10.0.0.2:80",
            ])
    }

    @Test(
        "after the delay the next attempt starts beside the first; the other socket is closed exactly once",
        .rows("R-50"),
        arguments: [1, 2])
    func losers(winner: Int) throws {
        let steps = try Self.racing()
        try steps.expect("race, connecting until 250 ms")
        try steps.fail(.timedOut, at: .milliseconds(250))
        try steps.expect("race, connecting until 10000 ms", at: .milliseconds(250))
        // An early end of the wait changes nothing.
        try steps.expect("race, connecting until 10000 ms", at: .milliseconds(260))
        #expect(!steps.network.log.contains { $0.hasPrefix("close") })
        steps.network.attempts[try Self.address("10.0.0.\(winner)")] = [.connected]
        try steps.expect("connected to 10.0.0.\(winner):80", at: .milliseconds(300))
        #expect(steps.stamps == [0, 300, nil])
        let loser = "close 10.0.0.\(3 - winner):80"
        #expect(steps.network.log.filter { $0.hasPrefix("close") } == [loser])
        let network = steps.network
        steps.end()
        #expect(network.log.filter { $0.hasPrefix("close") } == [loser, "close 10.0.0.\(winner):80"])
        #expect(network.log.filter { $0 == "vacate" }.count == 1)
    }

    @Test("of attempts that end in the same step, the first that has succeeded is used", .rows("R-50"))
    func sameStep() throws {
        let steps = try ConnectionSteps {
            $0.attemptDelay = .zero
            $0.lookups = [try Self.lookup("10.0.0.1", "10.0.0.2", "10.0.0.3")]
            $0.attempts = [
                try Self.address("10.0.0.1"): [.pending, .failure(ETIMEDOUT)],
                try Self.address("10.0.0.2"): [.pending, .connected],
                try Self.address("10.0.0.3"): [.pending, .connected],
            ]
        }
        try steps.expect("race, connecting until 10000 ms")
        try steps.expect("connected to 10.0.0.2:80")
        let closed = steps.network.log.filter { $0.hasPrefix("close") }
        #expect(closed.sorted() == ["close 10.0.0.1:80", "close 10.0.0.3:80"])
    }

    @Test(
        "if all attempts fail, the last error is thrown, and the cached addresses are removed", .rows("R-50"))
    func exhausted() throws {
        let steps = try ConnectionSteps {
            $0.lookups = [try Self.lookup("10.0.0.1", "10.0.0.2")]
            $0.attempts = [
                try Self.address("10.0.0.1"): [.pending, .failure(ETIMEDOUT)],
                try Self.address("10.0.0.2"): [.failure(ECONNREFUSED)],
            ]
        }
        let error = steps.failure()
        #expect(error?.reason == .connectionFailed && error?.mayHaveReachedServer == false)
        #expect(error?.detail == SystemError("connect", code: ECONNREFUSED).description)
        #expect(steps.network.log.last == "forget host.example")
        #expect(steps.network.log.filter { $0.hasPrefix("close") }.count == 2)
    }

    @Test("an attempt whose socket cannot be created has failed", .rows("R-50"))
    func noSocket() throws {
        let steps = try ConnectionSteps {
            $0.lookups = [try Self.lookup("10.0.0.1", "10.0.0.2")]
            $0.sockets = [EMFILE, nil]
        }
        try steps.expect("connected to 10.0.0.2:80")
        let none = try ConnectionSteps {
            $0.lookups = [try Self.lookup("10.0.0.1")]
            $0.sockets = [EMFILE]
        }
        let error = none.failure()
        #expect(error?.reason == .connectionFailed)
        #expect(error?.detail == SystemError("socket", code: EMFILE).description)
    }

    @Test("the attempts share the connect limit, so that each address is tried before its end", .rows("R-48", "R-50"))
    func sharedLimit() throws {
        let steps = try Self.racing()
        steps.network.attemptDelay = .seconds(60)
        try steps.expect("race, connecting until 7000 ms", at: .seconds(4))
        try steps.fail(.timedOut, at: .seconds(7))
        try steps.expect("race, connecting until 10000 ms", at: .seconds(7))
    }

    // MARK: Waits that fail

    @Test("a wait that fails ends the connection with the error of its stage, and nothing was sent", .rows("R-48"))
    func waits() throws {
        let system = SystemError("epoll_ctl", code: ENOSPC)
        for (error, total, reason) in [
            (WaitError.timedOut, nil as Duration?, nil as RequestError.Reason?),
            (.timedOut, .seconds(1), .timedOut(.total)), (.cancelled, nil, .cancelled),
            (.closed, nil, .connectionLost), (.failed(system), nil, .connectionFailed),
        ] {
            let resolving = try ConnectionSteps(total: total) { $0.lookups = [.pending] }
            let racing = try Self.racing(total: total)
            _ = (try resolving.advance(), try racing.advance())
            let late = try #require(throws: RequestError.self) { try resolving.fail(error, at: .seconds(10)) }
            #expect(late.reason == reason ?? .timedOut(.resolving) && !late.mayHaveReachedServer, "\(error)")
            #expect(!resolving.network.log.contains("forget host.example"))
            let unreachable = try #require(throws: RequestError.self) { try racing.fail(error, at: .seconds(10)) }
            #expect(unreachable.reason == reason ?? .timedOut(.connecting) && !unreachable.mayHaveReachedServer)
            // Addresses that do not respond may be outdated.
            let isForgotten = [.timedOut(.connecting), .connectionFailed].contains(unreachable.reason)
            #expect(racing.network.log.contains("forget host.example") == isForgotten, "\(error)")
        }
    }

    @Test("a connection that is released while it races closes its sockets and returns its slot", .rows("R-53"))
    func released() throws {
        let steps = try Self.racing()
        _ = try steps.advance()
        _ = try steps.advance(at: .milliseconds(250))
        let network = steps.network
        steps.end()
        #expect(
            network.log.suffix(3).sorted() == ["close 10.0.0.1:80", "close 10.0.0.2:80", "vacate"])
    }

    // MARK: Unix sockets

    @Test("the path of a unix socket is not looked up, and TCP options are not set", .rows("R-51"))
    func unix() throws {
        let steps = try ConnectionSteps(by: .unix(path: "/run/engine.sock"))
        try steps.expect("connected to unix:/run/engine.sock")
        #expect(steps.network.log == ["connect unix:/run/engine.sock"] && steps.stamps == [nil, 0, nil])
        let invalid = try ConnectionSteps(by: .unix(path: ""))
        let error = invalid.failure()
        #expect(error?.reason == .invalidRequest(.invalidSocketPath) && error?.mayHaveReachedServer == false)
        #expect(invalid.network.log.isEmpty)
    }

    @Test("a unix socket whose queue is full is tried again, after pauses of up to 50 ms", .rows("R-50"))
    func fullQueue() throws {
        let path = try SocketAddress(unixPath: "/run/engine.sock")
        let steps = try ConnectionSteps(by: .unix(path: "/run/engine.sock")) {
            $0.attempts = [path: [.failure(EAGAIN)]]
        }
        var time = 0
        for pause in [1, 2, 4, 8, 16, 32, 50, 50] {
            let need = "race, connecting until \(time + pause) ms"
            try steps.expect(need, at: .milliseconds(time))
            // An early end of the wait changes nothing.
            try steps.expect(need, at: .milliseconds(time))
            time += pause
            try steps.fail(.timedOut, at: .milliseconds(time))
        }
        steps.network.attempts[path] = [.failure(ECONNREFUSED)]
        let error = try #require(throws: RequestError.self) { _ = try steps.advance(at: .milliseconds(time)) }
        #expect(error.reason == .connectionFailed && !error.mayHaveReachedServer)
        #expect(!steps.network.log.contains { $0.hasPrefix("forget") })
    }
}
