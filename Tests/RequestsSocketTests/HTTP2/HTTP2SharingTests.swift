import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import TestCorpora
import TestSupport
import Testing

@Suite("HTTP/2: calls that share a connection", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2SharingTests {
    @Test("64 calls at once share one connection", .rows("H-30", "H-46"))
    func oneConnection() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                script.respond(to: slot, body: head.path ?? "", on: line)
            }
        }
        let executor = SocketExecutor.http2()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                let request = try peer.request(.get, "/\(number)")
                group.addTask {
                    let text = try await executor.execute(request).text
                    #expect(text == "/\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(peer.connections == 1 && executor.connections == (1, 1))
    }

    @Test(
        "a call that is cancelled, or whose time limit passes, resets its stream only", .rows("H-24", "H-26"),
        arguments: [false, true])
    func reset(byLimit: Bool) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            var kept: StreamSlot?
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, let head):
                    peer.note(head.path ?? "")
                    if head.path == "/kept" { kept = slot }
                case .reset(_, let code):
                    peer.note("\(code)")
                    if let kept { script.respond(to: kept, on: line) }
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2()
        let kept = try peer.request(.get, "/kept")
        let keptCall = Task { try await executor.execute(kept).text }
        await eventually { peer.notes == ["/kept"] }
        var request = try peer.request(.get, "/lost")
        if byLimit { request.timeouts.firstByte = .milliseconds(20) }
        let call = Task { [request] in await executor.failure(of: request) }
        await eventually { peer.notes.count >= 2 }
        if !byLimit { call.cancel() }
        #expect(await call.value?.reason == (byLimit ? .timedOut(.firstByte) : .cancelled))
        #expect(try await keptCall.value == "ok")
        #expect(peer.notes == ["/kept", "/lost", "CANCEL"] && peer.connections == 1)
        #expect(executor.connections == (1, 1))
    }

    @Test("requests above the last stream of GOAWAY are sent again, and the other streams finish", .rows("H-20"))
    func goAway() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            var slots: [StreamSlot] = []
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                slots.append(slot)
                if number > 0 || slots.count < 3 { peer.note("\(number) \(head.path ?? "")") }
                if number > 0 { script.respond(to: slot, on: line) }
                guard number == 0, slots.count == 3 else { continue }
                script.send(on: line) { $0.goAway(lastStream: slots[1].stream, .noError) }
                for slot in slots.prefix(2) { script.respond(to: slot, on: line) }
            }
        }
        let executor = SocketExecutor.http2()
        let calls = try await (0..<3).asyncMap { number in
            let request = try peer.request(.post, "/\(number)", body: .bytes(Data("x".utf8)))
            let call = Task { try await executor.execute(request).metrics.transmissions }
            await eventually { number == 2 || peer.notes.count == number + 1 }
            return call
        }
        var transmissions: [Int] = []
        for call in calls { transmissions.append(try await call.value) }
        #expect(transmissions == [1, 1, 2])
        #expect(peer.notes == ["0 /0", "0 /1", "1 /2"])
        await eventually { executor.connections == (1, 1) }
    }

    @Test("a request that GOAWAY excludes is sent again even if only one connection is allowed", .rows("H-20", "H-46"))
    func oneSlot() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            var slots: [StreamSlot] = []
            while let arrival = script.next(on: line) {
                guard case .head(let slot, _) = arrival else { continue }
                slots.append(slot)
                peer.note("\(number)")
                if number > 0 { script.respond(to: slot, on: line) }
                guard number == 0, slots.count == 2 else { continue }
                script.send(on: line) { $0.goAway(lastStream: slots[0].stream, .noError) }
                script.respond(to: slots[0], on: line)
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        async let first = executor.execute(peer.request(.post))
        async let second = executor.execute(peer.request(.post))
        #expect(try await (first.text, second.text) == ("ok", "ok"))
        #expect(peer.notes == ["0", "0", "1"])
    }

    @Test("the end of a connection that arrives with a response ends the other calls", .rows("H-23"))
    func endWithResponse() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            guard let (first, _) = script.head(on: line), script.head(on: line) != nil else { return }
            script.respond(to: first, on: line)
        }
        for _ in 0..<20 {
            let executor = SocketExecutor.http2()
            let request = try peer.request(.post).with { $0.timeouts.firstByte = nil }
            let calls = (0..<2).map { _ in Task { await executor.failure(of: request)?.reason } }
            var reasons: [RequestError.Reason?] = []
            for call in calls { reasons.append(await call.value) }
            #expect(reasons.contains(nil) && reasons.contains(.connectionLost), "\(reasons)")
        }
    }

    @Test("the place of a cancelled call is used again although the server sends nothing", .rows("H-25"))
    func heldPlace() async throws {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 1
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                peer.note(head.path ?? "")
                if head.path == "/" { script.respond(to: slot, on: line) }
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        _ = try await executor.execute(peer.request())
        let silent = try peer.request(.get, "/silent")
        let cancelled = Task { await executor.failure(of: silent)?.reason }
        await eventually { peer.notes.last == "/silent" }
        let request = try peer.request()
        let waiting = Task { try await executor.execute(request).text }
        await eventually { executor.waiters == 1 }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        #expect(try await waiting.value == "ok")
        #expect(peer.connections == 1)
    }

    @Test("PINGs are acknowledged while no caller reads its body", .rows("H-27"))
    func acknowledgement() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            guard let (slot, _) = script.head(on: line) else { return }
            script.sendHead(200, to: slot, on: line)
            _ = peer.waitForResume()
            script.send(on: line) { $0.ping(Array(1...8), isAcknowledgement: false) }
            while let bytes = line.receive() {
                if bytes.suffix(8) == Array(1...8)[...] { peer.note("acknowledged") }
            }
        }
        let executor = SocketExecutor.http2()
        let stream = try await executor.execute(peer.request(.get, delivery: .streamed)).stream
        peer.resume()
        await eventually { peer.notes == ["acknowledged"] }
        _ = consume stream
    }

    @Test("servers that end each connection after a tenth of the requests execute each request once", .rows("H-44"))
    func rotation() async throws {
        let count = Sample.count(1_000, of: 10_000)
        let excluded = SharedCounter()
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            var accepted: [StreamSlot: String] = [:]
            var acceptedCount = 0
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, let head) where acceptedCount < count / 10:
                    accepted[slot] = head.path
                    acceptedCount += 1
                    if acceptedCount == count / 10 {
                        script.send(on: line) { $0.goAway(lastStream: slot.stream, .noError) }
                    }
                case .head: excluded.add()
                case .ended(let slot):
                    guard let path = accepted.removeValue(forKey: slot) else { continue }
                    peer.note(path)
                    script.respond(to: slot, on: line)
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<64 {
                group.addTask {
                    for number in stride(from: worker, to: count, by: 64) {
                        let request = try peer.request(.post, "/\(number)", body: .bytes(Data("x".utf8))).patient()
                        _ = try await executor.execute(request)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(peer.notes.count == count && Set(peer.notes).count == count)
        #expect(peer.connections >= 10)
        // Some requests were on their way when the server ended their connection.
        #expect(excluded.value > 0)
    }

    @Test(
        "if a caller does not read its body, the server can send one window of it, and 99 other calls at once complete",
        .rows("H-17"))
    func pausedReader() async throws {
        let sent = SharedCounter()
        let small = String(repeating: "x", count: 64 << 10)
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            var large: StreamSlot?
            var waiting: [StreamSlot] = []
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, let head) where head.path == "/large":
                    large = slot
                    script.sendHead(200, to: slot, on: line)
                    sent.add(script.sendBody(of: 10 << 20, to: slot, on: line))
                case .head(let slot, let head) where head.path == "/small":
                    waiting.append(slot)
                    guard let large, waiting.count == 99 else { continue }
                    // Together, the bodies are larger than the window of the connection.
                    for slot in waiting {
                        script.respond(to: slot, body: small, on: line)
                        sent.add(script.sendBody(of: 10 << 20, to: large, on: line))
                    }
                case .head(let slot, _): script.respond(to: slot, on: line)
                case .reset(_, let code): peer.note("\(code)")
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2()
        var stream = try await executor.execute(peer.request(.get, "/large", delivery: .streamed)).stream
        let request = try peer.request(.get, "/small").patient()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<99 { group.addTask { try await executor.execute(request).text } }
            for try await text in group { #expect(text == small) }
        }
        #expect(sent.value == 256 << 10)
        #expect(peer.notes.isEmpty && peer.connections == 1, "\(peer.notes)")
        #expect(try await stream?.next()?.isEmpty == false)
        stream = nil
        await eventually { peer.notes == ["CANCEL"] }
        #expect(try await executor.execute(peer.request()).text == "ok")
        #expect(peer.connections == 1)
    }

    @Test("calls beyond the streams that the server allows wait for a place", .rows("H-18", "H-25"))
    func places() async throws {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 2
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            var open: [StreamSlot] = []
            while let arrival = script.next(on: line) {
                guard case .head(let slot, _) = arrival else { continue }
                open.append(slot)
                peer.note("\(open.count)")
                while open.count > 1 || peer.notes.count.isMultiple(of: 2), let slot = open.popLast() {
                    script.respond(to: slot, on: line)
                }
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        async let first = executor.execute(peer.request())
        async let second = executor.execute(peer.request())
        _ = try await (first, second)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                let request = try peer.request()
                group.addTask { try await executor.execute(request).text }
            }
            for try await text in group { #expect(text == "ok") }
        }
        #expect(peer.connections == 1 && !peer.notes.contains("3"))
    }

    @Test("two uploads whose sources pause share the window of the connection, and both end", .rows("H-45"))
    func uploads() async throws {
        var limits = HTTP2Limits()
        limits.streamWindow = 65_535
        limits.connectionWindow = 65_535
        let peer = try ScriptedPeer(http2: limits) { script, line, _, _ in
            var counts: [StreamSlot: Int] = [:]
            while let arrival = script.next(on: line) {
                switch arrival {
                case .data(let slot, let bytes): counts[slot, default: 0] += bytes.count
                case .ended(let slot): script.respond(to: slot, body: "\(counts[slot] ?? 0)", on: line)
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<2 {
                let body = RequestBody.stream(length: nil, isReplayable: false) { PausingPieces(40) }
                let request = try peer.request(.post, body: body)
                group.addTask { try await executor.execute(request).text }
            }
            for try await text in group { #expect(text == "\(40 * 10_000)") }
        }
        #expect(peer.connections == 1)
    }

    @Test("after a time-out on a connection without any frame, new calls use another one", .rows("H-26", "H-42"))
    func silence() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, _ in
            while let request = script.request(on: line) {
                if number == 0, request.head.path == "/silent" { return line.waitForStop() }
                script.respond(to: request.slot, on: line)
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request())
        var request = try peer.request(.get, "/silent")
        request.timeouts.firstByte = .milliseconds(50)
        #expect(await executor.failure(of: request)?.reason == .timedOut(.firstByte))
        for _ in 0..<3 { #expect(try await executor.execute(peer.request()).text == "ok") }
        #expect(peer.connections == 2)
    }

    @Test(
        "blocked threads and tasks share connections on few threads", .rows("H-31", "R-52"),
        arguments: [1, 2, 16], [1, 3])
    func blockedThreads(threads: Int, connections: Int) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                line.pause()
                script.respond(to: slot, body: head.path ?? "", on: line)
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = connections }
        try await withThreads(threads) { threads in
            try await withTaskExecutorPreference(threads) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<32 {
                        let request = try peer.request(.get, "/\(number)").with { $0.timeouts.connect = .seconds(100) }
                        group.addTask {
                            let response =
                                number.isMultiple(of: 2)
                                ? try await executor.execute(request) : try executor.inPlace(request).get()
                            #expect(response.text == "/\(number)")
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
        #expect(peer.mostConnections <= connections + 1 && executor.waiters == 0)
    }
}

/// A source that pauses before each of its pieces of 10,000 bytes.
private struct PausingPieces: RequestBody.Source {
    private var count: Int
    init(_ count: Int) { self.count = count }

    mutating func next() async throws -> Data? {
        if count == 0 { return nil }
        count -= 1
        for _ in 0..<10 { await Task.yield() }
        return Data(count: 10_000)
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
