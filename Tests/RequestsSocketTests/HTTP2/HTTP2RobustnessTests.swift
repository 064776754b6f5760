import Requests
import RequestsHTTP2
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("HTTP/2: lost peers and places", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2RobustnessTests {
    @Test(
        "of the calls whose connection is lost after it was used, only repeatable ones are sent again",
        .rows("H-21", "R-42"))
    func repetition() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            var heads = 0
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                heads += 1
                if heads > 1 || number > 0 { peer.note(head.path ?? "") }
                if heads == 1 || number > 0 { script.respond(to: slot, on: line) }
                if heads == 9, number == 0 { return line.socket.shutDown(.both) }
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                let get = try peer.request(.get, "/get\(number)")
                group.addTask {
                    let response = try await executor.execute(get)
                    #expect(response.text == "ok" && response.metrics.transmissions == 2)
                }
                let post = try peer.request(.post, "/post\(number)", body: .bytes(Data("x".utf8)))
                group.addTask {
                    let error = await executor.failure(of: post)
                    #expect(error?.reason == .connectionLost && error?.mayHaveReachedServer == true)
                }
            }
            try await group.waitForAll()
        }
        #expect(peer.notes.count == 12 && peer.notes.count { $0.hasPrefix("/post") } == 4, "\(peer.notes)")
    }

    @Test("an error after several transmissions says that an earlier one may have reached the server", .rows("H-21"))
    func earlierTransmission() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            // The client sends its first request before it has received anything.
            script.receive(from: line)
            while let request = script.request(on: line) {
                peer.note("\(number)")
                if number > 0 {
                    script.reset(request.slot, .refusedStream, on: line)
                } else if peer.notes.count == 1 {
                    script.respond(to: request.slot, on: line)
                } else {
                    return line.socket.shutDown(.both)
                }
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request())
        let error = await executor.failure(of: try peer.request())
        #expect(error?.detail?.contains("REFUSED_STREAM") == true && error?.mayHaveReachedServer == true)
        // The first refusal, before the settings are known, does not count.
        #expect(peer.notes == ["0", "0", "1", "1", "1"])
    }

    @Test(
        "calls without limits end 10 seconds after the PING that follows a time-out without any frame",
        .rows("H-26", "H-42"))
    func deadPeer() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            while let request = script.request(on: line) {
                if number > 0 || request.head.path == "/" {
                    script.respond(to: request.slot, on: line)
                } else {
                    peer.note(request.head.path ?? "")
                    if peer.notes.count == 2 { return line.waitForStop() }
                }
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request())
        let patient = try peer.request(.post, "/patient").with { $0.timeouts = .init(connect: nil, firstByte: nil) }
        let waiting = Task { await executor.failure(of: patient) }
        await eventually { peer.notes == ["/patient"] }
        let start = Deadline.now
        let hasty = try peer.request(.get, "/hasty").with { $0.timeouts.firstByte = .milliseconds(50) }
        #expect(await executor.failure(of: hasty)?.reason == .timedOut(.firstByte))
        #expect(try await executor.execute(peer.request()).text == "ok")
        let error = await waiting.value
        #expect(error?.reason == .connectionLost && error?.detail?.contains("PING") == true, "\(error as Any)")
        #expect(start.advanced(by: .seconds(10)).hasPassed && peer.connections == 2)
    }

    @Test(
        "after an upload has filled the socket to a peer that has vanished, new calls use another connection",
        .rows("H-26", "H-42"), arguments: [false, true])
    func fullSocket(isShared: Bool) async throws {
        var limits = HTTP2Limits()
        limits.streamWindow = 65_535
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            var received = 0
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(_, let head) where head.path == "/patient": peer.note("/patient")
                case .head(let slot, let head) where head.path == "/": script.respond(to: slot, on: line)
                case .data(let slot, let bytes):
                    received += bytes.count
                    // Before that, the upload waits for its window, and frames arrive.
                    guard received > 1 << 20 else { continue }
                    script.send(on: line) { writer in
                        for stream in [0, slot.stream] { writer.windowUpdate(stream, increment: 64 << 20) }
                    }
                    peer.note("full")
                    return line.waitForStop()
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = isShared ? 8 : 1 }
        _ = try await executor.execute(peer.request())
        let patient = try peer.request(.post, "/patient").with { $0.timeouts = .init(connect: nil, firstByte: nil) }
        let waiting = isShared ? Task { await executor.failure(of: patient) } : nil
        await eventually { !isShared || peer.notes == ["/patient"] }
        let start = Deadline.now
        let upload = try peer.request(.post, "/upload", body: .bytes(Data(repeating: 1, count: 64 << 20))).with {
            $0.timeouts.betweenBytes = .milliseconds(500)
        }
        #expect(await executor.failure(of: upload)?.reason == .timedOut(.sending))
        #expect(peer.notes.last == "full")
        let next = try peer.request().with { $0.timeouts = .init(connect: .seconds(5), firstByte: .seconds(5)) }
        let calls = (0..<8).map { _ in Task { try await executor.execute(next).text } }
        for call in calls { #expect(try await call.value == "ok") }
        #expect(peer.connections == 2)
        guard let waiting else { return }
        let error = await waiting.value
        #expect(error?.reason == .connectionLost && error?.detail?.contains("PING") == true, "\(error as Any)")
        #expect(start.advanced(by: .seconds(10)).hasPassed && executor.connections == (1, 1))
    }

    @Test("calls that a server refuses until its settings are known are sent again within them", .rows("H-18", "H-21"))
    func burst() async throws {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 2
        let peer = try ScriptedPeer(http2: limits) { script, line, _, _ in
            while let request = script.request(on: line) { script.respond(to: request.slot, on: line) }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<64 {
                let request = try peer.request(.post).with { $0.timeouts.connect = nil }
                group.addTask { try await executor.execute(request).text }
            }
            for try await text in group { #expect(text == "ok") }
        }
        #expect(peer.connections == 1)
    }

    @Test("servers that allow one stream do not refuse a call on each new connection", .rows("H-18", "H-21"))
    func burstOverConnections() async throws {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 1
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            // The client opens streams before it knows how many are allowed.
            script.receive(from: line)
            while let request = script.request(on: line) {
                peer.note(request.head.path ?? "")
                script.respond(to: request.slot, on: line)
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 8 }
        let paths = (0..<64).map { "/\($0)" }
        try await withThrowingTaskGroup(of: String?.self) { group in
            for path in paths {
                let request = try peer.request(.post, path).with { $0.timeouts.connect = nil }
                group.addTask { try await executor.execute(request).text }
            }
            for try await text in group { #expect(text == "ok") }
        }
        #expect(peer.notes.sorted() == paths.sorted() && peer.connections <= 8)
    }

    @Test(
        "servers that end connections after 25 requests execute each of 300 concurrent requests once",
        .rows("H-20", "H-44"))
    func exclusions() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            var count = 0
            while let request = script.request(on: line) {
                count += 1
                if count > 25 { continue }
                peer.note(request.head.path ?? "")
                if count == 25 { script.send(on: line) { $0.goAway(lastStream: request.slot.stream, .noError) } }
                script.respond(to: request.slot, on: line)
            }
        }
        let executor = SocketExecutor.http2()
        let paths = (0..<300).map { "/\($0)" }
        try await withThrowingTaskGroup(of: String?.self) { group in
            for path in paths {
                let request = try peer.request(.post, path).with { $0.timeouts.connect = nil }
                group.addTask { try await executor.execute(request).text }
            }
            for try await text in group { #expect(text == "ok") }
        }
        #expect(peer.notes.sorted() == paths.sorted())
    }

    @Test("after ENHANCE_YOUR_CALM for one stream, new calls use another connection", .rows("H-21"))
    func calm() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            var waiting: StreamSlot?
            while let request = script.request(on: line) {
                switch request.head.path {
                case "/slow":
                    waiting = request.slot
                    peer.note("/slow")
                case "/bad":
                    script.reset(request.slot, .enhanceYourCalm, on: line)
                    guard peer.waitForResume(), let slot = waiting.take() else { return }
                    script.respond(to: slot, on: line)
                default: script.respond(to: request.slot, on: line)
                }
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request())
        let slow = try peer.request(.get, "/slow")
        let call = Task { try await executor.execute(slow).text }
        await eventually { peer.notes == ["/slow"] }
        #expect(await executor.failure(of: try peer.request(.get, "/bad"))?.reason == .connectionLost)
        #expect(try await executor.execute(peer.request()).text == "ok" && peer.connections == 2)
        // The other calls of the connection complete.
        peer.resume()
        #expect(try await call.value == "ok")
        #expect(try await executor.execute(peer.request()).text == "ok" && peer.connections == 2)
    }

    @Test("a server that allows no stream makes calls wait until it allows one", .rows("H-18"))
    func noPlaces() async throws {
        let settings = TestServer.HTTP2Settings(maximumStreams: 0)
        try await withTestServer(serving: MockExecutor(.ok("ok")), using: .http2(settings)) { server in
            let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
            let request = try PreparedRequest(url: server.baseURL).with { $0.timeouts.connect = nil }
            // The first call does not know the settings.
            #expect(try await executor.execute(request).text == "ok")
            let calls = (0..<2).map { _ in Task { try await executor.execute(request).text } }
            await eventually { executor.waiters == 1 }
            let hasty = request.with { $0.timeouts.connect = .milliseconds(50) }
            let error = await executor.failure(of: hasty)
            // A connection is established, so the error has no detail that says otherwise.
            #expect(error?.reason == .timedOut(.waitingForConnection) && error?.detail == nil, "\(error as Any)")
            #expect(server.exchanges.count == 1)
            var writer = FrameWriter()
            writer.settings([(SettingID.maximumConcurrentStreams, 1)])
            server.send(writer.bytes)
            for call in calls { #expect(try await call.value == "ok") }
            #expect(server.record.acceptedConnections == 1)
        }
    }

    @Test("tasks that are ready to run send together, and one of them receives for all", .rows("H-33"))
    func batches() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            var slots: [StreamSlot] = []
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                if head.path == "/" { script.respond(to: slot, on: line) } else { slots.append(slot) }
                if slots.count == 64 { script.respond(toAll: slots, on: line) }
            }
        }
        let faults = TransferFaults()
        let executor = SocketExecutor.http2 { $0.faults = faults }
        _ = try await executor.execute(peer.request())
        let (before, writes) = (faults.transfers, faults.writes)
        let request = try peer.request(.get, "/batch")
        let start = Deadline.now
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<64 { group.addTask { try? await executor.execute(request).text } }
            for await text in group { #expect(text == "ok") }
        }
        // Alone, each call would write once, and read at least twice. On a busy machine, the common send is late, and
        // the calls send once each millisecond.
        let milliseconds = Int(Deadline.now.nanoseconds(since: start) / 1_000_000)
        let sent = faults.writes - writes
        let received = faults.transfers - before - sent
        #expect(
            sent <= 16 + milliseconds && received <= 64 + milliseconds,
            "\(sent) writes, \(received) reads in \(milliseconds) ms")
    }
}
