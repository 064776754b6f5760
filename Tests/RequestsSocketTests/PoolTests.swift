import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestSupport
import Testing

@Suite("Connection pool", .timeLimit(.minutes(10)))
struct PoolTests {
    /// The way in which a server fails the second request on its first connection.
    enum Failure: String, CaseIterable, Sendable {
        case closedWhileIdle, closedOnHead, closedInHead, closedInBody
    }

    /// A request and the number of times that a server receives it with each failure, in the order of `Failure`.
    struct Row: Sendable, CustomTestStringConvertible {
        let method: HTTPMethod
        let body: @Sendable () -> RequestBody
        var header: Header = .empty
        let transmissions: [Int]
        var testDescription: String { "\(method) with \(body())" }
    }

    @Test(
        "a stale connection is replaced once, if no bytes arrived and the request can be repeated", .rows("R-42"),
        arguments: Failure.allCases,
        [
            Row(method: .get, body: { .none }, transmissions: [1, 2, 1, 1]),
            Row(method: .put, body: { .bytes(Data("x".utf8)) }, transmissions: [1, 2, 1, 1]),
            Row(method: "REPORT", body: { .bytes(Data("x".utf8)) }, transmissions: [1, 2, 1, 1]),
            Row(method: .post, body: { .bytes(Data("x".utf8)) }, transmissions: [1, 1, 1, 1]),
            Row(
                method: .post, body: { .bytes(Data("x".utf8)) }, header: [Field(name: "Idempotency-Key", value: "1")],
                transmissions: [1, 1, 1, 1]),
            Row(method: .put, body: { .oneShot(length: 1, SentChunks(chunks: ["x"])) }, transmissions: [1, 1, 1, 1]),
        ])
    func stale(failure: Failure, row: Row) async throws {
        let peer = try ScriptedPeer { line, number, peer in
            let length = row.body().isNone ? 0 : 1
            if number == 0 {
                _ = line.receiveRequest()
                line.send(ok)
                if failure == .closedWhileIdle {
                    line.socket.shutDown(.both)
                    return peer.note("closed")
                }
                guard line.receiveRequest(bodyLength: length) != nil else { return }
                peer.note("request")
                if failure == .closedInHead { line.send("HTTP/1.1 200") }
                if failure == .closedInBody { line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no") }
                return
            }
            while line.receiveRequest(bodyLength: length) != nil {
                peer.note("request")
                line.send(ok)
            }
        }
        let executor = SocketExecutor()
        _ = try await executor.execute(try peer.request())
        if failure == .closedWhileIdle { await eventually { peer.notes == ["closed"] } }
        let request = try peer.request(row.method, header: row.header, body: row.body())
        let expected = row.transmissions[Failure.allCases.firstIndex(of: failure) ?? 0]
        do throws(RequestError) {
            let response = try await executor.execute(request)
            #expect(failure == .closedWhileIdle || expected == 2)
            #expect(response.metrics.transmissions == (failure == .closedWhileIdle ? 1 : 2))
            #expect(response.metrics.isReusedConnection == false)
        } catch {
            #expect(failure != .closedWhileIdle && expected == 1)
            #expect(error.reason == .connectionLost)
            #expect(error.mayHaveReachedServer)
        }
        #expect(peer.notes.count { $0 == "request" } == expected)
    }

    @Test("a new connection that fails is not replaced", .rows("R-43"), arguments: ["", "HTTP/1.1 2"])
    func new(response: String) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            if !response.isEmpty, line.receiveRequest() != nil { line.send(response) }
        }
        #expect(await SocketExecutor().failure(of: try peer.request())?.reason == .connectionLost)
        #expect(peer.connections == 1)
    }

    @Test(
        "a connection is not reused if the response does not allow it", .rows("R-22", "R-47"),
        arguments: [
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nKeep-Alive: max=0\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        ])
    func notReused(response: String) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(response) }
        let executor = SocketExecutor()
        for _ in 0..<3 {
            #expect(try await executor.execute(try peer.request()).text == "ok")
            #expect(executor.connections == (0, 0))
        }
        #expect(peer.connections == 3)
    }

    @Test("unsolicited bytes end an idle connection", .rows("R-22"))
    func unsolicitedBytes() async throws {
        let peer = try ScriptedPeer { line, number, peer in
            _ = line.receiveRequest()
            line.send(ok)
            if number == 0 {
                // The test resumes the script after it has read the response.
                _ = peer.waitForResume()
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
                peer.note("sent")
            }
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        #expect(try await executor.execute(try peer.request()).text == "ok")
        peer.resume()
        await eventually { !peer.notes.isEmpty }
        #expect(try await executor.execute(try peer.request()).text == "ok")
        #expect(peer.connections == 2)
    }

    @Test("the connection limit is never exceeded, and every call completes", .rows("R-52"), arguments: [4, 1])
    func limit(limit: Int) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = limit }
        let request = try peer.request().with { $0.timeouts.connect = nil }
        let calls = 1_000
        let completed = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<calls {
                group.addTask { await (try? executor.execute(request))?.text == "ok" }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(completed == calls)
        #expect(peer.connections <= limit)
        #expect(executor.connections == (peer.connections, peer.connections))
    }

    @Test("an idle connection to another origin is closed for a call; one in use is waited for", .rows("R-52"))
    func total() async throws {
        let peers = try (0..<3).map { _ in try ScriptedPeer { line, _, _ in line.respondToAll(ok) } }
        let executor = SocketExecutor.with { $0.maximumConnections = 1 }
        for _ in 0..<2 {
            for peer in peers { #expect(try await executor.execute(try peer.request()).text == "ok") }
        }
        #expect(executor.connections == (1, 1))
        #expect(peers.map(\.connections) == [2, 2, 2])
        let streamed = try await executor.execute(try peers[0].request(delivery: .streamed))
        let waiting = Task { try await executor.execute(try peers[1].request()).text }
        await eventually { executor.waiters == 1 }
        #expect(try await streamed.stream?.collect() == Data("ok".utf8))
        #expect(try await waiting.value == "ok")
        #expect(executor.connections == (1, 1))
    }

    @Test("a cancelled call leaves the queue, and the others complete", .rows("R-52", "R-67"))
    func cancelledWaiters() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while line.receiveRequest() != nil {
                _ = peer.waitForResume()
                line.send(ok)
            }
        }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 }
        let request = try peer.request().patient()
        let first = Task { try await executor.execute(request).text }
        await eventually { executor.connections.open == 1 }
        let others = (0..<20).map { _ in Task { try await executor.execute(request).text } }
        await eventually { executor.waiters == 20 }
        for other in others.dropLast() { other.cancel() }
        for other in others.dropLast() {
            let error = await other.failure as? RequestError
            #expect(error?.isCancellation == true)
            #expect(error?.mayHaveReachedServer == false)
        }
        #expect(executor.waiters == 1)
        peer.resume(2)
        #expect(try await first.value == "ok")
        #expect(try await others[19].value == "ok")
        #expect(peer.connections == 1)
    }

    @Test("idle connections are closed after their timeout, or when the executor is released", .rows("R-53"))
    func idle() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            line.respondToAll(ok)
            peer.note("end")
        }
        let brief = SocketExecutor.with { $0.idleTimeout = .milliseconds(20) }
        _ = try await brief.execute(try peer.request())
        await eventually { brief.connections == (0, 0) }
        await eventually { peer.notes.count == 1 }
        let none = SocketExecutor.with { $0.maximumIdleConnectionsPerOrigin = 0 }
        _ = try await none.execute(try peer.request())
        #expect(none.connections == (0, 0))
        await eventually { peer.notes.count == 2 }
        do {
            let dropped = SocketExecutor()
            _ = try await dropped.execute(try peer.request())
            #expect(dropped.connections == (1, 1))
        }
        await eventually { peer.notes.count == 3 }
    }

    @Test(
        "an idle connection is reused after others to its origin were closed", .rows("R-52", "R-53"),
        arguments: [2, 64])
    func vacatedLane(limit: Int) async throws {
        let first = try ScriptedPeer { line, number, _ in
            // The response to the second request closes the connection.
            _ = line.receiveRequest()
            line.send(ok)
            if number == 0, line.receiveRequest() != nil {
                return _ = line.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            }
            line.respondToAll(ok)
        }
        let silent = try ScriptedPeer { line, _, peer in
            _ = line.receiveRequest()
            peer.note("request")
            line.waitForEnd()
        }
        let executor = SocketExecutor.with {
            $0.maximumConnectionsPerOrigin = limit
            // Longer than a full machine may delay the next request.
            $0.idleTimeout = .seconds(600)
        }
        let request = try first.request()
        #expect(try await executor.execute(request).text == "ok")
        let pending = Task { [request = try silent.request()] in try await executor.execute(request) }
        await eventually { silent.notes == ["request"] }
        #expect(try await executor.execute(request).text == "ok")
        await eventually { executor.connections.open == 1 }
        pending.cancel()
        _ = await pending.result
        #expect(executor.connections == (0, 0))
        for _ in 0..<4 { #expect(try await executor.execute(request).text == "ok") }
        #expect(first.connections == 2)
        #expect(executor.connections == (1, 1))
    }

    @Test("a call that ignores the body keeps its connection for reuse, awaited or blocking", .rows("R-47"))
    func ignoredBody() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            peer.note("connection")
            line.respondToAll(ok)
        }
        let executor = SocketExecutor()
        let api = AnonymousRequestProvider(baseURL: try peer.request().url)
        for _ in 0..<3 { try await executor.perform(api.delete("/x")) }
        try await onThread { Result { try executor.performAndWait(api.delete("/x")) } }.get()
        #expect(executor.connections == (1, 1))
        #expect(peer.notes == ["connection"])
    }

    @Test("the end of a stream closes its connection if its executor is released", .rows("R-53"))
    func outlived() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            line.respondToAll(ok)
            peer.note("end")
        }
        let stream = try await SocketExecutor().execute(try peer.request(delivery: .streamed)).stream
        #expect(peer.notes.isEmpty)
        _ = try await #require(stream).collect()
        await eventually { peer.notes.count == 1 }
    }

    @Test("every descriptor is closed when the executor and its streams are released", .rows("R-53", "R-44"))
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
            let broken = try ScriptedPeer { line, _, _ in _ = line.receiveRequest() }
            let before = openSockets()
            do {
                let executor = SocketExecutor()
                for _ in 0..<50 {
                    _ = try await executor.execute(try peer.request(delivery: .streamed))
                    _ = try await executor.execute(try peer.request())
                    _ = await executor.failure(of: try broken.request())
                }
                #expect(openSockets() > before)
            }
            await eventually { openSockets() == before }
        }
    }
}

/// Returns the number of open sockets of the process.
func openSockets() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"))?.hasPrefix("socket:") == true
    }
}
