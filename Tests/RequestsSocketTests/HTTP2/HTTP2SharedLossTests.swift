import CRequestsPOSIX
import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("HTTP/2: ends of shared and of idle connections", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2SharedLossTests {
    /// Where the server ends its connections.
    enum Cut: CaseIterable {
        case afterSentByte, afterReceivedByte
    }

    @Test(
        "a connection cut after any byte delivers whole responses, or errors that say what may have reached the server",
        .rows("H-23"), arguments: Cut.allCases)
    func sharedCuts(cut: Cut) async throws {
        let bodies = [RequestBody.none, .none, .bytes(Data(count: 100))]
        var counts: Set<Int> = []
        // The last limits exceed the length of all messages together.
        for limit in 0..<(cut == .afterSentByte ? 640 : 420) {
            let begun = SharedCounter()
            let peer = try ScriptedPeer { line, _, peer in
                let script =
                    cut == .afterSentByte
                    ? HTTP2Script(sendingAtMost: limit) : HTTP2Script(receivingAtMost: limit)
                Self.serve(bodies.count, at: cut, with: script, on: line, peer)
                begun.add(script.begunHeads)
            }
            let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
            let errors = try await withThrowingTaskGroup(of: (String, RequestError?).self) { group in
                for (index, body) in bodies.enumerated() {
                    let request = try peer.request(.post, "/\(index)", body: body).patient()
                    group.addTask {
                        do throws(RequestError) {
                            let text = try await executor.execute(request).text
                            #expect(text?.utf8.count == 100, "\(limit)")
                            return ("/\(index)", nil)
                        } catch {
                            return ("/\(index)", error)
                        }
                    }
                }
                return try await group.reduce(into: [String: RequestError]()) { $0[$1.0] = $1.1 }
            }
            peer.stop()
            let executed = peer.notes
            // A POST is sent again only if the server cannot have received it.
            #expect(Set(executed).count == executed.count, "\(limit): \(executed)")
            for index in bodies.indices {
                let path = "/\(index)"
                guard let error = errors[path] else {
                    #expect(executed.contains(path), "\(limit): \(path)")
                    continue
                }
                #expect(error.reason == .connectionLost, "\(limit): \(error)")
                #expect(error.mayHaveReachedServer || !executed.contains(path), "\(limit): \(error)")
            }
            // If a part of a head has reached the server, the error says that the request may have reached it.
            let denied = errors.values.count { !$0.mayHaveReachedServer }
            #expect(begun.value <= bodies.count - denied, "\(limit): \(errors)")
            counts.insert(errors.count)
        }
        // Some cuts come before the end of the first response, some between the ends of two, and some after the last.
        #expect(counts == [0, 1, 2, 3], "\(counts)")
    }

    /// Responds to `count` requests with 100 bytes each: to all in alternating parts, or to each one when it ends.
    private static func serve(
        _ count: Int, at cut: Cut, with script: HTTP2Script, on line: borrowing ScriptedPeer.Line,
        _ peer: ScriptedPeer
    ) {
        var slots: [StreamSlot] = []
        while slots.count < count, let request = script.request(on: line) {
            peer.note(request.head.path ?? "")
            slots.append(request.slot)
            if cut == .afterReceivedByte {
                script.respond(to: request.slot, body: String(repeating: "x", count: 100), on: line)
            }
        }
        guard slots.count == count else { return }
        if cut == .afterSentByte {
            for slot in slots { script.sendHead(200, to: slot, on: line) }
            for _ in 0..<4 {
                for slot in slots { _ = script.sendBody(of: 25, to: slot, on: line) }
            }
            for slot in slots { script.end(slot, on: line) }
        }
        if script.flush(to: line) { line.waitForEnd() }
    }

    @Test(
        "if the system cannot report the socket, each call of the connection ends, and the connection closes",
        .rows("H-23"))
    func failingReports() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            while let arrival = script.next(on: line) {
                guard case .ended(let slot) = arrival else { continue }
                line.pause()
                script.respond(to: slot, on: line)
            }
        }
        var failures = 0
        for number in 1...24 {
            let faults = TransferFaults(.failReport(number), code: ENOSPC)
            let executor = SocketExecutor.http2 { ($0.faults, $0.maximumConnectionsPerOrigin) = (faults, 1) }
            let request = try peer.request(.post, body: .bytes(Data(count: 200_000))).with {
                $0.timeouts = .init(connect: .seconds(40), firstByte: .seconds(40))
            }
            let calls = (0..<4).map { _ in Task { await executor.failure(of: request) } }
            for call in calls {
                guard let error = await call.value else { continue }
                failures += 1
                #expect(error.reason == .connectionLost, "\(number): \(error)")
            }
            #expect(try await executor.execute(peer.request()).text == "ok", "\(number)")
        }
        // How many calls need a report depends on the load of the machine.
        #expect(failures > 0)
    }

    @Test(
        "no descriptor, wait or slot remains after abandoned and cancelled calls and the end of the executor",
        .rows("H-35"))
    func remains() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
                while let arrival = script.next(on: line) {
                    guard case .head(let slot, let head) = arrival else { continue }
                    switch head.path {
                    case "/abandoned":
                        script.sendHead(200, to: slot, on: line)
                        _ = script.sendBody(of: 1_000, to: slot, on: line)
                    case "/lost": return
                    case "/silent": peer.note("silent")
                    default: script.respond(to: slot, on: line)
                    }
                }
            }
            let reactor = try Reactor.shared()
            let (abandoned, silent) = (
                try peer.request(.get, "/abandoned", delivery: .streamed), try peer.request(.get, "/silent")
            )
            func counts() -> [Int] { [openSockets(), reactor.registrations, reactor.pendingWaits] }
            let before = counts()
            for drains in [false, true] {
                var stream: ResponseStream?
                do {
                    let executor = SocketExecutor.http2()
                    for round in 1...20 {
                        _ = try await executor.execute(abandoned)
                        let seen = peer.notes.count
                        let call = Task { await executor.failure(of: silent)?.reason }
                        if round.isMultiple(of: 2) { await eventually { peer.notes.count > seen } }
                        call.cancel()
                        #expect(await call.value == .cancelled)
                        #expect(try await executor.execute(peer.request()).text == "ok")
                    }
                    #expect(executor.connections == (1, 1))
                    #expect(await executor.failure(of: try peer.request(.post, "/lost"))?.reason == .connectionLost)
                    await eventually { executor.connections.open == 0 }
                    stream = try await executor.execute(abandoned).stream
                    #expect(executor.connections == (1, 0))
                    if drains {
                        stream = nil
                        #expect(await executor.drain(until: .now + .seconds(60)))
                        #expect(executor.connections == (0, 0))
                    }
                }
                // A stream that is being read outlives its executor.
                #expect(try await stream?.next()?.isEmpty != true)
                stream = nil
                await eventually { counts() == before }
            }
        }
    }

    @Test("a graceful end, GOAWAY twice, executes each POST once", .rows("H-20"))
    func gracefulGoAway() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, number, peer in
            var requests: [(slot: StreamSlot, path: String)] = []
            while let request = script.request(on: line) {
                let path = request.head.path ?? ""
                guard number == 0 else {
                    peer.note(path)
                    script.respond(to: request.slot, body: path, on: line)
                    continue
                }
                requests.append((request.slot, path))
                guard requests.count == 6 else { continue }
                // The first frame only says that an end follows, and the response that it was received.
                script.send(on: line) { $0.goAway(lastStream: 0x7FFF_FFFF, .noError) }
                for (index, request) in requests.enumerated() where index < 4 {
                    if index == 1 {
                        guard peer.waitForResume() else { return }
                        script.send(on: line) { $0.goAway(lastStream: requests[3].slot.stream, .noError) }
                    }
                    peer.note(request.path)
                    script.respond(to: request.slot, body: request.path, on: line)
                }
                return line.waitForEnd()
            }
        }
        let executor = SocketExecutor.http2()
        let ended = SharedCounter()
        let paths = (0..<6).map { "/\($0)" }
        let calls = try paths.map { path in
            let request = try peer.request(.post, path, body: .bytes(Data("x".utf8))).patient()
            return Task {
                defer { ended.add() }
                return try await executor.execute(request).text
            }
        }
        await eventually { ended.value == 1 }
        // A new request uses another connection, while the others continue.
        #expect(try await executor.execute(peer.request(.post, "/new")).text == "/new")
        #expect(peer.connections == 2 && ended.value == 1)
        peer.resume()
        for (call, path) in zip(calls, paths) { #expect(try await call.value == path) }
        #expect(peer.notes.sorted() == (paths + ["/new"]).sorted() && peer.connections == 2, "\(peer.notes)")
    }

    @Test("SETTINGS that arrived while idle limit the next stream", .rows("H-47"))
    func idleSettings() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            while let request = script.request(on: line) {
                peer.note("request")
                script.respond(to: request.slot, on: line)
                guard peer.waitForResume() else { return }
                script.send(on: line) { $0.settings([(SettingID.maximumConcurrentStreams, 0)]) }
                peer.note("sent")
            }
            peer.note("end")
        }
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
        #expect(try await executor.execute(peer.request()).text == "ok")
        await eventually { executor.connections == (1, 1) }
        peer.resume()
        await eventually { peer.notes == ["request", "sent"] }
        let error = await executor.failure(
            of: try peer.request(.post).with { $0.timeouts.connect = .milliseconds(300) })
        #expect(error?.reason == .timedOut(.waitingForConnection), "\(error as Any)")
        #expect(error?.mayHaveReachedServer == false)
        #expect(await executor.drain(until: .now + .seconds(60)))
        await eventually { peer.notes.count == 3 }
        #expect(peer.notes == ["request", "sent", "end"] && peer.connections == 1, "\(peer.notes)")
    }
}
