import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Address races", .timeLimit(.minutes(10)))
struct RacingTests {
    /// Returns an address of this machine that is not used elsewhere.
    private static func four(_ number: Int, _ port: UInt16 = 0) throws -> SocketAddress {
        try #require(SocketAddress(ipLiteral: "127.0.0.\(number)", port: port))
    }

    private static func six(_ number: Int) throws -> SocketAddress {
        try #require(SocketAddress(ipLiteral: "fd00::\(number)", port: 0))
    }

    @Test("addresses of both families alternate, IPv6 first, each in order", .rows("R-50"))
    func turns() throws {
        let (a, b, c) = (try Self.four(1), try Self.four(2), try Self.four(3))
        let (x, y, z) = (try Self.six(1), try Self.six(2), try Self.six(3))
        #expect(AddressRace.inTurns([]) == [])
        #expect(AddressRace.inTurns([a, b]) == [a, b])
        #expect(AddressRace.inTurns([x, y]) == [x, y])
        #expect(AddressRace.inTurns([a, x]) == [x, a])
        #expect(AddressRace.inTurns([a, b, c, x]) == [x, a, b, c])
        #expect(AddressRace.inTurns([x, y, z, a, b]) == [x, a, y, b, z])
    }

    @Test("the next attempt starts after the delay, or at once after a failure", .rows("R-50"))
    func steps() throws {
        let (a, x, y) = (try Self.four(1), try Self.six(1), try Self.six(2))
        let start = Deadline(nanoseconds: 0)
        func at(_ milliseconds: Int) -> Deadline { start.advanced(by: .milliseconds(milliseconds)) }
        var race = AddressRace([x, y, a], delay: .milliseconds(250))
        #expect(race.next(at: at(0)) == .start(x))
        #expect(race.next(at: at(0)) == .wait(until: at(250)))
        #expect(race.next(at: at(249)) == .wait(until: at(250)))
        #expect(race.next(at: at(250)) == .start(a))
        #expect(race.next(at: at(260)) == .wait(until: at(500)))
        race.fail()
        #expect(race.next(at: at(270)) == .start(y))
        #expect(race.next(at: at(270)) == .wait(until: nil))
        race.fail()
        #expect(race.next(at: at(280)) == .wait(until: nil))
        race.fail()
        #expect(race.next(at: at(290)) == .exhausted)
    }

    @Test("the delay is shorter if the connect limit would end before the last attempt", .rows("R-50"))
    func fairness() {
        func delay(_ limit: Duration?, _ count: Int) -> Duration {
            AddressRace.delay(.milliseconds(250), within: limit, among: count)
        }
        #expect(delay(nil, 1000) == .milliseconds(250))
        #expect(delay(.seconds(10), 2) == .milliseconds(250))
        #expect(delay(.seconds(1), 10) == .milliseconds(100))
        #expect(delay(.zero, 3) == .zero)
        #expect(delay(.seconds(1), 0) == .milliseconds(250))
    }

    @Test("no address is skipped, however late the race continues", .rows("R-50"))
    func late() throws {
        let (a, b) = (try Self.four(1), try Self.four(2))
        var race = AddressRace([a, b], delay: .zero)
        #expect(race.next(at: Deadline(nanoseconds: 0)) == .start(a))
        #expect(race.alarm == Deadline(nanoseconds: 0))
        race.fail()
        #expect(race.next(at: .distantFuture) == .start(b))
        #expect(race.alarm == nil)
    }

    @Test("a race without addresses is exhausted, and one with a single address has no next attempt", .rows("R-50"))
    func shortRaces() throws {
        var none = AddressRace([], delay: .seconds(1))
        #expect(none.next(at: .now) == .exhausted)
        let only = try Self.four(1)
        var one = AddressRace([only], delay: .zero)
        #expect(one.next(at: .now) == .start(only))
        #expect(one.next(at: .distantFuture) == .wait(until: nil))
    }
}

// MARK: Over sockets

extension RacingTests {
    /// Returns an executor for which every name has `addresses`.
    private func executor(
        _ addresses: [SocketAddress], delay: Duration = .milliseconds(20), lookups: SharedCounter = SharedCounter()
    ) -> SocketExecutor {
        .with {
            $0.attemptDelay = delay
            $0.resolver = Resolver(for: .seconds(3_600)) { _ throws(ResolverError) in
                lookups.add(1)
                return addresses
            }
        }
    }

    private func request(_ port: UInt16?) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("http://many.example:\(try #require(port))/")).with {
            // Only the limits that a test sets end a race, however slow the machine.
            $0.timeouts.connect = nil
        }
    }

    @Test("a refused connection starts the next attempt at once", .rows("R-50"))
    func refused() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        // With this delay only failures start the next attempt.
        let executor = executor([.loopbackIPv6(), try Self.four(9), .loopback()], delay: .seconds(300))
        #expect(try await executor.execute(request(peer.address.port)).text == "ok")
    }

    @Test("attempts that do not complete are raced, and the first established connection is used", .rows("R-50"))
    func unresponsive() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let port = try #require(peer.address.port)
        let unresponsive = try (2..<12).map { try FullListener(on: Self.four($0, port)) }
        let start = ContinuousClock.now
        let executor = executor(unresponsive.map(\.address) + [.loopback()], delay: .milliseconds(5))
        #expect(try await executor.execute(request(port)).text == "ok")
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        #expect(peer.connections == 1)
    }

    @Test("the sockets of the other attempts are closed, however the race ends", .rows("R-50", "R-53"))
    func otherAttempts() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
            let port = try #require(peer.address.port)
            let unresponsive = try (2..<5).map { try FullListener(on: Self.four($0, port)) }
            let addresses = unresponsive.map(\.address)
            let request = try RacingTests().request(port)
            let before = openSockets()
            do {
                let succeeding = RacingTests().executor(addresses + [.loopback()], delay: .milliseconds(1))
                let failing = RacingTests().executor(addresses, delay: .milliseconds(1))
                #expect(try await succeeding.execute(request).text == "ok")
                #expect(succeeding.connections == (1, 1))
                let late = await failing.failure(of: request.with { $0.timeouts.connect = .milliseconds(30) })
                #expect(late?.reason == .timedOut(.connecting))
                let call = Task { await failing.failure(of: request) }
                await eventually { openSockets() >= before + 3 }
                call.cancel()
                #expect(await call.value?.reason == .cancelled)
                #expect(failing.connections == (0, 0))
            }
            await eventually { openSockets() == before }
        }
    }

    @Test("all attempts share the connect limit and the deadline", .rows("R-48", "R-50"))
    func sharedLimit() async throws {
        let first = try FullListener(on: Self.four(2))
        let port = try #require(first.address.port)
        let second = try FullListener(on: Self.four(3, port))
        let executor = executor([first.address, second.address])
        let start = ContinuousClock.now
        let late = await executor.failure(of: try request(port).with { $0.timeouts.connect = .milliseconds(60) })
        #expect(late?.reason == .timedOut(.connecting))
        #expect(ContinuousClock.now - start >= .milliseconds(60))
        let overdue = await executor.failure(
            of: try request(port).with { $0.deadline = .now + .milliseconds(60) })
        #expect(overdue?.reason == .timedOut(.total))
        withExtendedLifetime((first, second)) {}
    }

    @Test("a blocking call races addresses", .rows("R-50"))
    func blocking() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let port = try #require(peer.address.port)
        let unresponsive = try FullListener(on: Self.four(2, port))
        let executor = executor([unresponsive.address, .loopback()], delay: .milliseconds(5))
        let request = try request(port)
        let text = try await onThread { (try? executor.executeAndWait(request))?.text }
        #expect(text == "ok")
    }

    @Test("the addresses of a host are cached for the next call unless all of them failed", .rows("R-50"))
    func keeping() async throws {
        let peer = try ScriptedPeer { line, _, _ in while line.receiveRequest() != nil { line.send(ok); return } }
        let lookups = SharedCounter()
        let reachable = executor([.loopback()], lookups: lookups)
        for _ in 0..<3 { _ = try await reachable.execute(request(peer.address.port)) }
        #expect(lookups.value == 1)
        let unreachable = executor([try Self.four(9)], lookups: lookups)
        for _ in 0..<2 {
            let error = await unreachable.failure(of: try request(peer.address.port))
            #expect(error?.reason == .connectionFailed)
        }
        #expect(lookups.value == 3)
    }
}
