import Requests
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Socket", .timeLimit(.minutes(10)))
struct SocketTests {
    let reactor: Reactor

    init() throws {
        reactor = try Reactor()
    }

    /// Connects to a listener and accepts that connection.
    private func connect(
        to listener: borrowing Socket, on reactor: Reactor
    ) async throws -> (client: Channel, server: Channel) {
        let address = try listener.localAddress()
        let client = Channel(try Socket(for: address), reactor: reactor)
        try await client.connect(to: address)
        try listener.waitInPlace(for: .reading)
        guard let server = try listener.accept() else { throw WaitError.closed }
        return (client, Channel(server, reactor: reactor))
    }

    @Test(
        "a connection over the loopback transfers bytes in both directions",
        arguments: [SocketAddress.loopback(), .loopbackIPv6()])
    func loopback(address: SocketAddress) async throws {
        let listener = try Socket.listening(on: address)
        let (client, server) = try await connect(to: listener, on: reactor)
        #if os(Linux)
        // The connection is established at once, so nothing is registered with the reactor.
        #expect(reactor.registrations == 0)
        #endif
        client.socket.setNoDelay()
        #expect(try client.socket.peerAddress() == listener.localAddress())
        #expect(try client.socket.localAddress() == server.socket.peerAddress())
        #expect(try listener.localAddress().port != 0)
        try client.writeOnce(Array("ping".utf8))
        #expect(try await server.readAll(upTo: 4) == Array("ping".utf8))
        server.socket.shutDown(.writing)
        #expect(try await client.readAll().isEmpty)
    }

    @Test("a connection over a unix path is established; a missing or used path is an error", .rows("R-59"))
    func unixPath() async throws {
        let folder = TemporaryDirectory()
        let address = try SocketAddress(unixPath: folder.path(of: "s"))
        let client = try Socket(for: address)
        let error = #expect(throws: SystemError.self) { try client.startConnecting(to: address) }
        #expect(error?.isNotFound == true)
        let listener = try Socket.listening(on: address)
        #expect(try listener.localAddress() == address)
        let (near, far) = try await connect(to: listener, on: reactor)
        try near.writeOnce([1])
        #expect(try await far.readAll(upTo: 1) == [1])
        let second = #expect(throws: SystemError.self) { _ = try Socket.listening(on: address) }
        #expect(second?.isAddressInUse == true)
    }

    @Test("a refused connection is a typed error with the description of the system")
    func refused() async throws {
        let holder = try Socket.bound(to: .loopback())
        let closed = try holder.localAddress()
        let client = Channel(try Socket(for: closed), reactor: reactor)
        let error = await outcome { () throws(WaitError) in try await client.connect(to: closed) }
        guard case .failed(let system) = error else {
            Issue.record("expected an error, got \(String(describing: error))")
            return
        }
        #expect(system.isRefused)
        #expect(system.description.hasPrefix("connect: Connection refused"))
        holder.shutDown(.both)
    }

    @Test("connecting to a listener with a full queue ends at the deadline", .rows("R-48"))
    func connectTimeout() async throws {
        let listener = try Socket.listening(on: .loopback(), backlog: 0)
        let address = try listener.localAddress()
        var fillers: [Channel] = []
        // The system decides how many connections a queue takes beyond its backlog, so fill it until one attempt hangs.
        while fillers.count < 64 {
            let filler = Channel(try Socket(for: address), reactor: reactor)
            fillers.append(filler)
            let error = await outcome { () throws(WaitError) in
                try await filler.connect(to: address, by: .after(.milliseconds(30)))
            }
            if error == .timedOut { return }
            #expect(error == nil)
        }
        Issue.record("every connection was established")
    }

    @Test("a probe distinguishes idle, closed, reset and unsolicited bytes without reading", .rows("R-53", "R-22"))
    func liveness() async throws {
        let listener = try Socket.listening(on: .loopback())
        var (client, server): (Channel, Channel?) = try await connect(to: listener, on: reactor)
        #expect(client.socket.liveness() == .idle)
        try server?.writeOnce([9])
        try await client.waitUntilReadable()
        #expect(client.socket.liveness() == .strayBytes)
        #expect(try client.readOnce() == .bytes(1))
        server = nil
        await eventually { client.socket.liveness() != .idle }
        #expect(client.socket.liveness() == .closed)

        (client, server) = try await connect(to: listener, on: reactor)
        try server?.socket.setResetOnClose()
        server = nil
        await eventually { client.socket.liveness() != .idle }
        #expect(client.socket.liveness() == .closed)
    }

    @Test("reading from a reset connection is ECONNRESET")
    func reset() async throws {
        let listener = try Socket.listening(on: .loopback())
        var (client, server): (Channel, Channel?) = try await connect(to: listener, on: reactor)
        try server?.socket.setResetOnClose()
        server = nil
        try await client.waitUntilReadable()
        let error = #expect(throws: SystemError.self) { try client.readOnce() }
        #expect(error?.isReset == true)
        #expect(error?.isConnectionLoss == true)
        client = try ChannelPair(on: reactor).near
    }

    @Test("a write that fills the socket buffer is completed by later writes", .rows("R-55"))
    func partialWrites() async throws {
        let pair = try ChannelPair(on: reactor)
        try pair.near.socket.setKernelBuffers(sending: 1024)
        try pair.far.socket.setKernelBuffers(receiving: 1024)
        let all = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        guard case .bytes(let first) = try pair.near.writeOnce(all) else {
            Issue.record("expected a partial write")
            return
        }
        #expect(first < all.count)
        async let received = pair.far.readAll(upTo: all.count)
        try await pair.near.writeAll(Array(all[first...]))
        #expect(try await received == all)
    }

    @Test(
        "two buffers are written together, even if one is empty",
        arguments: [("ab", "cd"), ("", "cd"), ("ab", ""), ("", "")])
    func twoBuffers(first: String, second: String) async throws {
        let pair = try ChannelPair(on: reactor)
        let result = try Array(first.utf8).withUnsafeBytes { first in
            try Array(second.utf8).withUnsafeBytes { try pair.near.write(first, $0) }
        }
        #expect(result == .bytes(first.utf8.count + second.utf8.count))
        pair.near.socket.shutDown(.writing)
        #expect(try await pair.far.readAll() == Array((first + second).utf8))
    }

    @Test("injected faults shorten transfers and fail the chosen one", .rows("R-70"))
    func faults() async throws {
        let plan = TransferFaults(longestRead: 2, longestWrite: 3, .failTransfer(4), code: 5)
        let pair = try ChannelPair(on: reactor, nearFaults: plan)
        #expect(try pair.near.writeOnce([1, 2, 3, 4]) == .bytes(3))
        let two = try [UInt8](repeating: 0, count: 2).withUnsafeBytes { try pair.near.write($0, $0) }
        #expect(two == .bytes(3))
        try pair.far.writeOnce([1, 2, 3])
        #expect(try pair.near.readOnce() == .bytes(2))
        #expect(throws: SystemError.self) { try pair.near.readOnce() }
        #expect(try pair.near.readOnce() == .bytes(1))
        #expect(plan.transfers == 5)
    }

    @Test("sendfile sends a file from an offset; at its end it sends zero bytes")
    func sendFile() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "body")
        let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try folder.write(content, to: "body")
        let file = try FileReader(path: path)
        #expect(file.size == 100_000)
        let pair = try ChannelPair(on: reactor)
        let far = pair.far
        async let received = far.readAll(upTo: 99_990)
        var offset: Int64 = 10
        while offset < file.size {
            switch try pair.near.writeFile(file, from: offset, count: Int(file.size - offset)) {
            case .bytes(let count): offset += Int64(count)
            case .wouldBlock: try await pair.near.waitUntilWritable()
            case .end: Issue.record("a write does not report an end")
            }
        }
        #expect(try await received == Array(content[10...]))
        #expect(try pair.near.writeFile(file, from: file.size, count: 10) == .bytes(0))
    }

    @Test("a blocking wait ends when the socket is ready, at its deadline or by its signal")
    func blockingWait() throws {
        let pair = try ChannelPair(on: reactor)
        let start = ContinuousClock.now
        #expect(throws: WaitError.timedOut) {
            try pair.near.socket.waitInPlace(for: .reading, by: .after(.milliseconds(5)))
        }
        #expect(start.duration(to: .now) >= .milliseconds(5))
        try pair.near.socket.waitInPlace(for: .writing, by: .now)
        try pair.far.writeOnce([1])
        try pair.near.socket.waitInPlace(for: .reading)
        #expect(try pair.near.readOnce() == .bytes(1))
        let signal = try WakeSignal()
        signal.signal()
        #expect(throws: WaitError.closed) { try pair.near.socket.waitInPlace(for: .reading, orUntil: signal) }
        signal.drain()
        #expect(throws: WaitError.timedOut) {
            try pair.near.socket.waitInPlace(for: .reading, by: .now, orUntil: signal)
        }
        #expect(reactor.registrations == 0)
    }

    @Test("cancelling its task ends a blocking wait", .rows("R-67"))
    func blockingCancellation() async throws {
        let pair = try ChannelPair(on: reactor)
        let ready = SharedCounter()
        let wait = Task { () -> WaitError? in
            ready.add()
            do throws(WaitError) {
                try pair.near.socket.waitInPlace(for: .reading)
                return nil
            } catch {
                return error
            }
        }
        // The task blocks a thread of the pool, and other tasks may block the others, so a separate thread cancels it.
        try DetachedThread.start(named: "test.cancel") {
            while ready.value == 0 { DetachedThread.yield() }
            wait.cancel()
        }
        #expect(await wait.value == .cancelled)
    }
}
