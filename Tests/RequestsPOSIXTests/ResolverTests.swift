import Requests
import RequestsPOSIX
import Synchronization
import TestSupport
import Testing

@Suite("Resolver", .timeLimit(.minutes(10)))
struct ResolverTests {
    let reactor: Reactor

    init() throws {
        reactor = try Reactor()
    }

    /// A lookup that waits until the gate is open, and counts its calls.
    private final class Gate: Sendable {
        let began = SharedCounter()
        let running = SharedCounter()
        private let isOpen = Atomic(false)
        private let maximum = Atomic(0)
        private let inside = Atomic(0)

        var maximumConcurrency: Int { maximum.load(ordering: .acquiring) }

        func open() {
            isOpen.store(true, ordering: .releasing)
        }

        func pass() {
            began.add()
            let count = inside.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
            _ = maximum.max(count, ordering: .acquiringAndReleasing)
            while !isOpen.load(ordering: .acquiring) { DetachedThread.yield() }
            inside.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    @Test(
        "an IP literal is returned without a lookup",
        arguments: [("127.0.0.1", "127.0.0.1:8080"), ("::1", "[::1]:8080"), ("[::1]", "[::1]:8080")])
    func literals(host: String, expected: String) async throws {
        let resolver = Resolver { _ throws(ResolverError) in throw .failed("unexpected lookup") }
        let addresses = try await resolver.addresses(of: host, port: 8080, on: reactor)
        #expect(addresses.map(\.description) == [expected])
    }

    @Test(
        "an invalid host name is an error without a lookup",
        arguments: ["", "a\0b", "[localhost]", String(repeating: "a", count: 256)])
    func invalid(host: String) async {
        let resolver = Resolver { _ throws(ResolverError) in throw .failed("unexpected lookup") }
        await #expect(throws: ResolverError.hostNotFound("invalid host name")) {
            try await resolver.addresses(of: host, port: 1, on: reactor)
        }
    }

    @Test(
        "localhost and its subdomains resolve to the loopback without a lookup (RFC 6761)",
        arguments: ["localhost", "LOCALHOST", "localhost.", "api.localhost", "a.b.LocalHost."])
    func localhost(name: String) async throws {
        let resolver = Resolver { _ throws(ResolverError) in throw .failed("unexpected lookup") }
        let addresses = try await resolver.addresses(of: name, port: 8080, on: reactor)
        #expect(addresses == [.loopbackIPv6(port: 8080), .loopback(port: 8080)])
    }

    @Test("a name that only resembles localhost is looked up", arguments: ["notlocalhost", "localhost.example"])
    func notLocalhost(name: String) async throws {
        let resolver = Resolver { _ throws(ResolverError) in [.loopback(port: 0)] }
        #expect(try await resolver.addresses(of: name, port: 9, on: reactor) == [.loopback(port: 9)])
    }

    @Test("concurrent calls for one name share a lookup, each with its port")
    func coalescing() async throws {
        let gate = Gate()
        let resolver = Resolver { _ throws(ResolverError) in
            gate.pass()
            return [.loopback(), .loopbackIPv6()]
        }
        let tasks = (1...20).map { port in
            Task { [reactor] in
                try await resolver.addresses(of: port % 2 == 0 ? "a.test" : "A.TEST", port: UInt16(port), on: reactor)
            }
        }
        await eventually { reactor.pendingWaits == 20 }
        gate.open()
        for (port, task) in zip(1..., tasks) {
            #expect(try await task.value == [.loopback(port: UInt16(port)), .loopbackIPv6(port: UInt16(port))])
        }
        #expect(gate.began.value == 1)
        #expect(resolver.pendingLookups == 0)
        // The thread of the lookup releases them last.
        await eventually { reactor.registrations == 0 }
    }

    @Test("at most four lookups run concurrently, and all complete")
    func threads() async throws {
        let gate = Gate()
        let resolver = Resolver { _ throws(ResolverError) in
            gate.pass()
            return [.loopback()]
        }
        let tasks = (0..<12).map { number in
            Task { [reactor] in try await resolver.addresses(of: "h\(number)", port: 1, on: reactor) }
        }
        await eventually { reactor.pendingWaits == 12 && gate.began.value == 4 }
        gate.open()
        for task in tasks { #expect(try await task.value == [.loopback(port: 1)]) }
        #expect(gate.began.value == 12)
        #expect(gate.maximumConcurrency <= 4)
    }

    @Test("a deadline or a cancellation ends one wait; the lookup continues for the others", .rows("R-67"))
    func abandoned() async throws {
        let gate = Gate()
        let resolver = Resolver { _ throws(ResolverError) in
            gate.pass()
            return [.loopback()]
        }
        let waiting = Task { [reactor] in try await resolver.addresses(of: "a", port: 1, on: reactor) }
        await eventually { reactor.pendingWaits == 1 }
        await #expect(throws: WaitError.timedOut) {
            try await resolver.addresses(of: "a", port: 1, by: .after(.milliseconds(5)), on: reactor)
        }
        let cancelled = Task { [reactor] in try await resolver.addresses(of: "a", port: 1, on: reactor) }
        await eventually { reactor.pendingWaits == 2 }
        cancelled.cancel()
        await #expect(throws: WaitError.cancelled) { try await cancelled.value }
        gate.open()
        #expect(try await waiting.value == [.loopback(port: 1)])
        #expect(gate.began.value == 1)
    }

    @Test("a queued lookup without a waiting call is not started")
    func dropped() async throws {
        let gate = Gate()
        let resolver = Resolver(threads: 1) { _ throws(ResolverError) in
            gate.pass()
            return [.loopback()]
        }
        let first = Task { [reactor] in try await resolver.addresses(of: "a", port: 1, on: reactor) }
        await eventually { gate.began.value == 1 }
        await #expect(throws: WaitError.timedOut) {
            try await resolver.addresses(of: "b", port: 1, by: .after(.milliseconds(1)), on: reactor)
        }
        #expect(resolver.pendingLookups == 1)
        gate.open()
        _ = try await first.value
        #expect(gate.began.value == 1)
    }

    @Test("a failed lookup throws its error, and the next call starts another lookup")
    func errors() async throws {
        let lookups = SharedCounter()
        let resolver = Resolver { _ throws(ResolverError) in
            if lookups.add() == 1 { throw .temporaryFailure("try again") }
            return [.loopback()]
        }
        await #expect(throws: ResolverError.temporaryFailure("try again")) {
            try await resolver.addresses(of: "a", port: 1, on: reactor)
        }
        #expect(try await resolver.addresses(of: "a", port: 1, on: reactor) == [.loopback(port: 1)])
    }

    @Test("addresses are cached for a few seconds, for any port, until they are forgotten", .rows("R-50"))
    func keeping() async throws {
        let lookups = SharedCounter()
        let now = ManualClock()
        let resolver = Resolver(for: .seconds(5)) { _ throws(ResolverError) in
            lookups.add()
            return [.loopback()]
        } clock: {
            now.deadline
        }
        #expect(try await resolver.addresses(of: "a", port: 1, on: reactor) == [.loopback(port: 1)])
        now.set(4_999_999_999)
        #expect(try await resolver.addresses(of: "A", port: 2, on: reactor) == [.loopback(port: 2)])
        #expect(lookups.value == 1)
        now.set(5_000_000_000)
        _ = try await resolver.addresses(of: "a", port: 1, on: reactor)
        #expect(lookups.value == 2)
        resolver.forget("A")
        _ = try await resolver.addresses(of: "a", port: 1, on: reactor)
        #expect(lookups.value == 3)
    }

    /// A clock that the test sets.
    private final class ManualClock: Sendable {
        private let nanoseconds = Atomic<Int64>(0)
        var deadline: Deadline { Deadline(nanoseconds: nanoseconds.load(ordering: .relaxed)) }
        func set(_ value: Int64) { nanoseconds.store(value, ordering: .relaxed) }
    }

    @Test("the cache is limited, and the entry that expires first is removed")
    func capacity() {
        var cache = AddressCache(lifetime: .seconds(5), capacity: 2)
        func at(_ seconds: Int) -> Deadline { Deadline(nanoseconds: Int64(seconds) * 1_000_000_000) }
        cache.keep([.loopback()], of: "a", at: at(0))
        cache.keep([.loopback()], of: "b", at: at(1))
        cache.keep([.loopback()], of: "a", at: at(2))
        cache.keep([.loopbackIPv6()], of: "c", at: at(3))
        #expect(cache.addresses(of: "a", at: at(3)) == [.loopback()])
        #expect(cache.addresses(of: "b", at: at(3)) == nil)
        #expect(cache.addresses(of: "c", at: at(3)) == [.loopbackIPv6()])
        cache.keep([.loopback()], of: "d", at: at(9))
        #expect(cache.count == 1)
        cache.keep([], of: "e", at: at(9))
        #expect(cache.count == 1)
    }
}

extension Resolver {
    /// Waits for the addresses of `host`, as a call does.
    fileprivate func addresses(
        of host: String, port: UInt16, by deadline: Deadline? = nil, on reactor: Reactor
    ) async throws -> [SocketAddress] {
        switch try request(host, port: port, on: reactor) {
        case .addresses(let addresses): return addresses
        case .pending(let lookup):
            while true {
                try await lookup.event.wait(by: deadline)
                if let addresses = try lookup.addresses() { return addresses }
            }
        }
    }
}
