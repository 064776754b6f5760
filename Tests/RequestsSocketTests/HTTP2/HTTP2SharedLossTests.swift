import CRequestsPOSIX
import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("HTTP/2: ends of shared and of idle connections", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2SharedLossTests {
    @Test("a connection with two streams, cut after any byte, delivers no part of a body as a success", .rows("H-23"))
    func sharedCuts() async throws {
        let outcomes = SharedCounter()
        var most = 0
        // From the bytes of SETTINGS on, to more than the bytes of both responses.
        for limit in stride(from: 70, to: 420, by: 1) {
            let peer = try ScriptedPeer(http2: HTTP2Limits(), sendingAtMost: limit) { script, line, _, _ in
                guard let (first, _) = script.head(on: line), let (second, _) = script.head(on: line) else { return }
                for slot in [first, second] { script.sendHead(200, to: slot, on: line) }
                // The parts of the bodies alternate.
                for _ in 0..<4 {
                    for slot in [first, second] { _ = script.sendBody(of: 25, to: slot, on: line) }
                }
                for slot in [first, second] { script.end(slot, on: line) }
                if script.flush(to: line) { line.waitForEnd() }
            }
            let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
            let request = try peer.request(.post).with { $0.timeouts.firstByte = .seconds(40) }
            let before = outcomes.value
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        switch await Result(catching: { () async throws(RequestError) in
                            try await executor.execute(request)
                        }) {
                        case .success(let response):
                            #expect(response.text?.utf8.count == 100, "\(limit)")
                            outcomes.add()
                        case .failure(let error): #expect(error.reason == .connectionLost, "\(limit): \(error)")
                        }
                    }
                }
            }
            most = max(most, outcomes.value - before)
            peer.stop()
        }
        // Some cuts come before the end of the first body, some between the two, and some after both.
        #expect(most == 2 && (100..<600).contains(outcomes.value), "\(outcomes.value)")
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
        #expect(failures >= 4)
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
