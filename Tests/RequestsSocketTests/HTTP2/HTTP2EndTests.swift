import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

extension HTTP2Script {
    /// Notes the code of the GOAWAY that the client sends, or its absence.
    fileprivate func noteGoAway(on line: borrowing ScriptedPeer.Line, _ peer: ScriptedPeer) {
        peer.note(goAway(on: line).map { "GOAWAY \($0.code)" } ?? "no GOAWAY")
    }
}

@Suite("HTTP/2: ends of connections, and waits for places", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2EndTests {
    @Test("a drained executor and the idle time end connections with GOAWAY", .rows("H-51"), arguments: [false, true])
    func goAway(byIdleTime: Bool) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            guard let request = script.request(on: line) else { return }
            script.respond(to: request.slot, on: line)
            script.noteGoAway(on: line, peer)
        }
        let executor = SocketExecutor.http2 { if byIdleTime { $0.idleTimeout = .milliseconds(50) } }
        #expect(try await executor.execute(peer.request()).text == "ok")
        if !byIdleTime { #expect(await executor.drain(until: .now + .seconds(60))) }
        await eventually { peer.notes == ["GOAWAY NO_ERROR"] && executor.connections.open == 0 }
    }

    @Test("drain lets a running stream finish, refuses new calls, and sends GOAWAY at the end", .rows("H-51"))
    func draining() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            guard let request = script.request(on: line) else { return }
            peer.note("request")
            guard peer.waitForResume() else { return }
            script.respond(to: request.slot, on: line)
            script.noteGoAway(on: line, peer)
        }
        let executor = SocketExecutor.http2()
        let request = try peer.request().patient()
        let call = Task { try await executor.execute(request).text }
        await eventually { peer.notes == ["request"] }
        let drain = Task { await executor.drain(until: .now + .seconds(60)) }
        await eventually { executor.isDraining }
        #expect(await executor.failure(of: request)?.reason == .executorClosed)
        peer.resume()
        #expect(try await call.value == "ok")
        #expect(await drain.value)
        await eventually { peer.notes.count == 2 }
        #expect(peer.notes == ["request", "GOAWAY NO_ERROR"] && executor.connections.open == 0)
    }

    @Test(
        "when the TLS settings are replaced, running streams finish, new calls use another connection, and GOAWAY follows",
        .rows("H-51"), .enabled(if: Secured.isAvailable, Secured.comment))
    func reloadTLS() async throws {
        let tls = try Secured.server { $0.applicationProtocols = ["h2"] }
        let peer = try ScriptedPeer(securedWith: tls) { line, number, peer in
            let script = HTTP2Script(HTTP2Limits())
            var slots: [StreamSlot] = []
            while let request = script.request(on: line) {
                slots.append(request.slot)
                peer.note("\(number)")
                if number > 0 { script.respond(to: request.slot, on: line) }
                guard number == 0, slots.count == 3 else { continue }
                guard peer.waitForResume() else { return }
                script.respond(toAll: slots, on: line)
                return script.noteGoAway(on: line, peer)
            }
        }
        let executor = try Secured.executor { $0.httpVersion = .http2PriorKnowledge }
        let request = try peer.securedRequest(.post)
        let calls = (0..<3).map { _ in Task { try await executor.execute(request).text } }
        await eventually { peer.notes == ["0", "0", "0"] }
        try await executor.reloadTLS(timeout: nil)
        for _ in 0..<2 { #expect(try await executor.execute(request).text == "ok") }
        peer.resume()
        for call in calls { #expect(try await call.value == "ok") }
        await eventually { peer.notes.count == 6 }
        #expect(peer.notes == ["0", "0", "0", "1", "1", "GOAWAY NO_ERROR"] && peer.connections == 2)
        await eventually { executor.connections == (1, 1) }
    }

    @Test(
        "64 calls share a connection through the tunnel of a proxy", .rows("H-30", "H-46"),
        .enabled(if: Secured.isAvailable, Secured.comment), arguments: [false, true])
    func tunnel(isSecured: Bool) async throws {
        let origin = try Secured.server(names: ["origin.example"]) { $0.applicationProtocols = ["h2"] }
        let peer = try ScriptedPeer(securedWith: isSecured ? Secured.server() : nil) { line, _, peer in
            guard let head = line.receiveRequest(), head.hasPrefix("CONNECT ") else { return }
            peer.note("tunnel")
            line.send("HTTP/1.1 200 OK\r\n\r\n")
            line.tls.secure(origin)
            let script = HTTP2Script(HTTP2Limits())
            var open = 0
            var counts: [StreamSlot: Int] = [:]
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, _): counts[slot] = 0
                case .data(let slot, let bytes): counts[slot, default: 0] += bytes.count
                case .ended(let slot):
                    open = max(open, counts.count)
                    script.respond(to: slot, body: "\(counts.removeValue(forKey: slot) ?? 0)", on: line)
                default: break
                }
                if open == 64 { peer.note("64 at once") }
            }
        }
        let port = Int(try #require(peer.address.port))
        let trust = try Secured.trust
        let executor = try Secured.executor {
            $0.httpVersion = .http2PriorKnowledge
            $0.proxy = .init(scheme: isSecured ? .https : .http, host: "127.0.0.1", port: port)
            $0.proxyTLS.trust = trust
            // On a busy machine, a call that waits for 500 ms would establish another one.
            $0.maximumConnectionsPerOrigin = 1
        }
        let target = try TargetURI("https://origin.example/")
        let request = PreparedRequest(method: .post, target: target, body: .bytes(Data(count: 5_000))).patient()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<64 { group.addTask { try await executor.execute(request).text } }
            for try await text in group { #expect(text == "5000") }
        }
        #expect(peer.notes.first == "tunnel" && peer.connections == 1)
        #expect(executor.connections == (1, 1))
    }

    @Test(
        "a connection whose stream numbers are used up finishes its streams, and calls use another one", .rows("H-28"))
    func streamNumbers() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            while let arrival = script.next(on: line) {
                guard case .head(let slot, _) = arrival else { continue }
                peer.note("\(number) \(slot.stream)")
                if number > 0 || slot.stream > 0x7FFF_FFFB { script.respond(to: slot, on: line) }
            }
        }
        let executor = SocketExecutor.http2 { $0.firstStream = 0x7FFF_FFFB }
        let request = try peer.request(.post).patient()
        // The first call remains while the others use up the numbers of its connection.
        let call = Task { await executor.failure(of: request)?.reason }
        await eventually { peer.notes.count == 1 }
        for _ in 0..<3 { #expect(try await executor.execute(request).text == "ok") }
        #expect(
            peer.notes == ["0 2147483643", "0 2147483645", "0 2147483647", "1 2147483643"], "\(peer.notes)")
        call.cancel()
        #expect(await call.value == .cancelled)
        await eventually { executor.connections.open == 1 }
    }

    // MARK: Places

    @Test(
        "a call that waits because its server allows no further stream ends at its connect limit", .rows("H-18"))
    func withheldPlace() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            while let request = script.request(on: line) {
                script.send(on: line) { $0.settings([(SettingID.maximumConcurrentStreams, 0)]) }
                script.respond(to: request.slot, on: line)
                peer.note("request")
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        #expect(try await executor.execute(peer.request(.post)).text == "ok")
        // The connection accepts one call, which reads the settings that will allow a stream.
        let request = try peer.request(.post, body: .bytes(Data("x".utf8))).with {
            $0.timeouts = .init(connect: .milliseconds(300), firstByte: nil)
            $0.timeouts.betweenBytes = .seconds(20)
        }
        let error = await executor.failure(of: request)
        #expect(error?.reason == .timedOut(.waitingForConnection), "\(error as Any)")
        #expect(error?.mayHaveReachedServer == false && peer.notes == ["request"] && peer.connections == 1)
    }

    @Test(
        "a request that is sent again after its connect limit has a new one for another connection", .rows("H-20"),
        .enabled(if: Secured.isAvailable, Secured.comment))
    func renewedLimit() async throws {
        let tls = try Secured.server { $0.applicationProtocols = ["h2"] }
        let peer = try ScriptedPeer(securedWith: tls) { line, number, _ in
            let script = HTTP2Script(HTTP2Limits())
            guard let request = script.request(on: line) else { return }
            if number > 0 { script.respond(to: request.slot, on: line) }
            // More than the connect limit.
            for _ in 0..<500 where number == 0 { line.pause() }
            if number == 0 { script.send(on: line) { $0.goAway(lastStream: 0, .noError) } }
            line.waitForEnd()
        }
        let executor = try await Secured.loadedExecutor { $0.httpVersion = .http2PriorKnowledge }
        let request = try peer.securedRequest(.post).with { $0.timeouts.connect = .seconds(2) }
        let response = try await executor.execute(request)
        #expect(response.text == "ok" && response.metrics.transmissions == 2 && peer.connections == 2)
    }

    @Test(
        "a call that ends before its queued head is sent may have reached the server, which receives it", .rows("H-26"))
    func queuedHead() async throws {
        var limits = HTTP2Limits()
        limits.streamWindow = 256 << 20
        limits.connectionWindow = 256 << 20
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            while let arrival = script.next(on: line) {
                guard case .head(let slot, let head) = arrival else { continue }
                peer.note(head.path ?? "")
                if head.path == "/" { script.respond(to: slot, on: line) }
                // Nothing is read, so the socket of the client becomes full.
                if head.path == "/large" { _ = peer.waitForResume() }
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        _ = try await executor.execute(peer.request())
        let progress = SharedCounter()
        let large = try peer.request(.post, "/large", body: .bytes(Data(count: 64 << 20))).patient().with {
            $0.progressHandler = { _ in progress.add() }
        }
        let upload = Task { await executor.failure(of: large)?.reason }
        // The progress ends when the socket is full.
        var count = 0
        repeat {
            count = progress.value
            for _ in 0..<5_000 { await Task.yield() }
        } while count == 0 || progress.value > count
        let second = try peer.request(.post, "/second").patient().with { $0.timeouts.firstByte = .milliseconds(100) }
        let error = await executor.failure(of: second)
        #expect(error?.reason == .timedOut(.firstByte) && error?.mayHaveReachedServer == true, "\(error as Any)")
        peer.resume()
        await eventually { peer.notes == ["/", "/large", "/second"] }
        upload.cancel()
        #expect(await upload.value == .cancelled)
    }

    @Test("64 calls in turn to two origins complete with one connection in all", .rows("H-46"))
    func twoOrigins() async throws {
        let peers = try (0..<2).map { _ in
            try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
                while let request = script.request(on: line) {
                    peer.note("request")
                    script.respond(to: request.slot, on: line)
                }
            }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnections = 1 }
        let most = SharedCounter()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<64 {
                let request = try peers[number % 2].request().patient()
                group.addTask {
                    let text = try await executor.execute(request).text
                    if executor.connections.open > 1 { most.add() }
                    return text
                }
            }
            for try await text in group { #expect(text == "ok") }
        }
        #expect(peers.allSatisfy { $0.notes.count == 32 } && most.value == 0)
        #expect(executor.connections.open == 1 && executor.waiters == 0)
    }

    @Test("a connection that never becomes idle makes room for another origin", .rows("H-46"))
    func busyOrigin() async throws {
        let busy = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            // The other requests wait during the pause.
            while let request = script.request(on: line) {
                line.pause()
                script.respond(to: request.slot, on: line)
            }
        }
        let other = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            while let request = script.request(on: line) { script.respond(to: request.slot, on: line) }
        }
        let executor = SocketExecutor.http2 { $0.maximumConnections = 1 }
        let request = try busy.request().patient()
        let isOver = SharedCounter()
        let calls = (0..<8).map { _ in
            Task {
                while isOver.value == 0 {
                    let text = try await executor.execute(request).text
                    #expect(text == "ok")
                }
            }
        }
        await eventually { busy.connections == 1 }
        for _ in 0..<4 {
            let request = try other.request().with { $0.timeouts.connect = .seconds(60) }
            let error = await executor.failure(of: request)
            #expect(error == nil)
        }
        isOver.add()
        for call in calls { try await call.value }
        #expect(executor.connections.open == 1 && executor.waiters == 0)
    }

    // MARK: Header lists

    @Test(
        "a request whose header exceeds the limit of its server is not sent, and its connection remains usable",
        .rows("H-8"))
    func largeRequestHeader() async throws {
        var limits = HTTP2Limits()
        limits.headBytes = 2_000
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            while let request = script.request(on: line) {
                peer.note(request.head.path ?? "")
                script.respond(to: request.slot, on: line)
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request(.get, "/first"))
        let large = try peer.request(.post, "/large", header: ["x-large": String(repeating: "x", count: 2_000)])
        let error = await executor.failure(of: large)
        #expect(error?.reason == .tooLarge(limit: 2_000) && error?.mayHaveReachedServer == false, "\(error as Any)")
        #expect(error?.detail?.contains("the request header") == true, "\(error as Any)")
        #expect(try await executor.execute(peer.request(.get, "/last")).text == "ok")
        #expect(peer.notes == ["/first", "/last"] && peer.connections == 1)
    }

    @Test("a response whose header exceeds the limit fails its call, and other streams continue", .rows("H-8"))
    func largeResponseHeader() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            var kept: StreamSlot?
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, let head) where head.path == "/kept":
                    kept = slot
                    peer.note("/kept")
                case .head(let slot, let head):
                    let isLarge = head.path == "/large"
                    script.respond(
                        to: slot, 200, isLarge ? ["x-large": String(repeating: "x", count: 1_500)] : .empty, on: line)
                    if !isLarge, let slot = kept.take() { script.respond(to: slot, on: line) }
                case .reset: peer.note("reset")
                default: break
                }
            }
        }
        // A block above twice the limit would end the connection.
        let executor = SocketExecutor.http2 { $0.maximumHeadSize = 1_000 }
        let kept = try peer.request(.get, "/kept").patient()
        let call = Task { try await executor.execute(kept).text }
        await eventually { peer.notes == ["/kept"] }
        let error = await executor.failure(of: try peer.request(.get, "/large"))
        #expect(error?.reason == .tooLarge(limit: 1_000) && error?.mayHaveReachedServer == true, "\(error as Any)")
        #expect(try await executor.execute(peer.request()).text == "ok")
        #expect(try await call.value == "ok")
        #expect(peer.connections == 1 && executor.connections == (1, 1), "\(peer.notes)")
    }

    // MARK: Expectations

    @Test(
        "a refused expectation sends nothing of the body", .rows("H-12", "R-45"), arguments: [417, 200], [false, true])
    func refusedExpectation(status: Int, resets: Bool) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, let head):
                    peer.note("\(number) \(head.method)")
                    let isRefused = head.header["expect"] == "100-continue"
                    script.respond(
                        to: slot, isRefused ? HTTPStatus(status) : 204, body: isRefused ? "no" : "",
                        resetWith: isRefused && resets ? .noError : nil, on: line)
                case .data(_, let bytes): peer.note("\(bytes.count) bytes")
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2()
        let body = RequestBody.stream(length: 3, isReplayable: false) {
            Issue.record("the source has begun")
            return Nothing()
        }
        var request = try peer.request(.put, body: body).patient()
        request.continueTimeout = .seconds(300)
        let response = try await executor.execute(request)
        #expect(response.head.status.code == status && response.text == "no")
        #expect(response.metrics.isRequestBodyIncomplete)
        #expect(try await executor.execute(peer.request()).head.status == 204)
        // Without a reset, the server may be about to close the connection.
        #expect(peer.notes == ["0 PUT", "\(resets ? 0 : 1) GET"])
    }
}

/// A source without bytes.
private struct Nothing: RequestBody.Source {
    mutating func next() async -> Data? { nil }
}
