#if os(Linux)
import CRequestsPOSIX
import CRequestsTest
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Effects that only many calls show, in a child process if they concern the whole process.
@Suite("Endurance", .serialized, .timeLimit(.minutes(10)))
struct EnduranceTests {
    @Test("no wait and no registration remain after 10,000 calls", .rows("R-49"))
    func manyCalls() async {
        await #expect(processExitsWith: .success) {
            let reactor = try Reactor.shared()
            let counts = (registrations: reactor.registrations, waits: reactor.pendingWaits)
            let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
            do {
                let executor = SocketExecutor()
                let request = try peer.request().with { $0.deadline = .now + .seconds(600) }
                for _ in 0..<10_000 { _ = try await executor.execute(request) }
                #expect(peer.connections == 1)
                // One wait remains: until the idle connection must be closed.
                #expect(reactor.pendingWaits <= counts.waits + 1)
            }
            await eventually { reactor.pendingWaits == counts.waits && reactor.registrations == counts.registrations }
        }
    }

    @Test(
        "a request is sent only after the previous response on its connection is complete", .rows("R-60"),
        arguments: [1, 3])
    func onePerConnection(limit: Int) async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while let request = line.receiveRequest() {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
                line.pause()
                // A pipelined request would have arrived by now.
                let isAlone = request.hasSuffix("\r\n\r\n") && line.socket.liveness() == .idle
                peer.note(isAlone ? "alone" : request)
                line.send("k")
            }
        }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = limit }
        // The last call waits for all others.
        let unlimited = Timeouts(connect: nil, firstByte: nil, betweenBytes: nil)
        let request = try peer.request().with { $0.timeouts = unlimited }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<30 {
                group.addTask {
                    let response = try? await executor.execute(request)
                    #expect(response?.text == "ok")
                }
            }
        }
        #expect(peer.notes == Array(repeating: "alone", count: 30))
        #expect(peer.connections <= limit)
    }

    @Test("1,000 signals a second during transfers of 100 MB in both directions lose no byte", .rows("R-55"))
    func signalStorm() async {
        await #expect(processExitsWith: .success) {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in }
            sigaction(SIGALRM, &action, nil)
            var interval = itimerval(
                it_interval: timeval(tv_sec: 0, tv_usec: 1000), it_value: timeval(tv_sec: 0, tv_usec: 1000))
            #expect(rp_start_timer(&interval) == 0)
            let size = 100_000_000
            let block = Data(repeating: 5, count: 256 << 10)
            let peer = try ScriptedPeer { line, _, peer in
                var received = 0
                var isHead = true
                while received < size, let piece = line.receive(256 << 10) {
                    let end = isHead ? piece.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0 : 0
                    isHead = false
                    let isWhole = Data(piece[end...]) == block.prefix(piece.count - end)
                    received += isWhole ? piece.count - end : 0
                }
                peer.note("\(received)")
                line.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                line.send([UInt8](repeating: 6, count: size))
            }
            let body = RequestBody.bytes(Data(repeating: 5, count: size))
            let request = try peer.request(.put, body: body, delivery: .collected(limit: size))
            let response = try await SocketExecutor().execute(request)
            guard case .bytes(let data) = response.body else {
                return #expect(Bool(false), "expected a collected body")
            }
            let isWhole = data == Data(repeating: 6, count: size)
            #expect(isWhole)
            #expect(peer.notes == ["\(size)"])
        }
    }

    @Test(
        "endless heads use bounded memory, whatever their number", .rows("R-17"),
        .notInstrumented("the sanitizer needs memory of its own"))
    func headMemory() async {
        await #expect(processExitsWith: .success) {
            let line = [UInt8](repeating: 97, count: 64 << 10)
            let fields = Array(String(repeating: "X: y\r\n", count: 10_000).utf8)
            let peer = try ScriptedPeer { wire, number, _ in
                guard wire.receiveRequest() != nil else { return }
                if number == 0 { wire.send(ok) }
                wire.send("HTTP/1.1 200 OK\r\nX: y\r\n")
                while wire.send(number.isMultiple(of: 2) ? line : fields) {}
            }
            // The first call allocates what is allocated once, including the memory of threads.
            _ = try await SocketExecutor().execute(try peer.request())
            let start = try #require(ProcessUsage.peakResidentKiB)
            var before = start
            let executor = SocketExecutor()
            // The allocator reaches its working size only after some heads, and under a sanitizer even later.
            for round in 0..<60 {
                if round == 30 { before = try #require(ProcessUsage.peakResidentKiB) }
                guard case .tooLarge? = await executor.failure(of: try peer.request())?.reason else {
                    return #expect(Bool(false), "expected a limit error")
                }
            }
            #expect(executor.connections == (0, 0))
            let limits = SocketExecutor.Configuration()
            let after = try #require(ProcessUsage.peakResidentKiB)
            #expect(after - before < limits.maximumHeadSize / 1024 + 1024)
            #expect(after - start < 16 << 10)
        }
    }
}
#endif
