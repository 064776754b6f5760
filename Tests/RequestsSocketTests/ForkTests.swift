#if os(Linux)
@_spi(Lock) import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import TestSupport
import Testing

/// The resources that a child inherits.
///
/// Only this object refers to them, so that the child can release them.
private final class Inheritance: Sendable {
    private let executor: Lock<SocketExecutor?>
    private let stream = Lock<ResponseStream?>(nil)

    init(_ executor: SocketExecutor = SocketExecutor()) {
        self.executor = Lock(executor)
    }

    func text(_ request: PreparedRequest) async throws -> String? {
        try await executor.withLock { $0 }?.execute(request).text
    }

    func beginStream(_ request: PreparedRequest) async throws {
        let new = try await executor.withLock { $0 }?.execute(request).stream
        stream.withLock { $0 = new }
    }

    func endStream() async throws -> Data? {
        try await stream.withLock { $0.take() }?.collect()
    }

    /// Makes calls until the task that closes idle connections is waiting.
    ///
    /// While that task starts, it can hold the lock of the pool, and a child then leaves the connections open.
    func settle(_ request: PreparedRequest) async throws {
        for _ in 0..<20 { _ = try await text(request) }
    }

    /// Releases the executor and the stream, and returns whether that closed `count` sockets.
    func release(closing count: Int) -> Bool {
        let before = openSockets()
        release()
        return openSockets() == before - count
    }

    /// Releases the executor and the stream.
    func release() {
        stream.withLock { $0.take() }.map { _ in () }
        executor.withLock { $0.take() }.map { _ in () }
    }
}

/// Reads a stream on the thread of a blocking call, which is the only thread of a child.
private struct StreamReader: RequestExecutor {
    let stream: ResponseStream

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        RawResponse(head: ResponseHead(status: 200, target: request.target), body: .bytes(try await stream.collect()))
    }

    /// Returns the error of reading the stream, or nil if it can be read.
    func failure(of request: PreparedRequest) -> RequestError? {
        do throws(RequestError) {
            _ = try executeAndWait(request)
            return nil
        } catch {
            return error
        }
    }
}

extension SocketExecutor {
    /// Returns whether a call fails because this process is a child.
    fileprivate func failsInChild(_ request: PreparedRequest) -> Bool {
        do throws(RequestError) {
            _ = try executeAndWait(request)
            return false
        } catch {
            return error.reason == .connectionFailed && !error.mayHaveReachedServer
        }
    }
}

/// Returns a peer that sends each response in two parts, so that calls wait in the reactor.
private func slowPeer() throws -> ScriptedPeer {
    try ScriptedPeer { line, _, _ in
        while line.receiveRequest() != nil {
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            line.pause()
            line.send("k")
        }
    }
}

@Suite("Fork", .timeLimit(.minutes(10)))
struct ForkTests {
    @Test("a child that releases the executor, connections and streams does not affect its parent", .rows("R-58"))
    func releasing() async {
        await #expect(processExitsWith: .success) {
            let peer = try slowPeer()
            let inheritance = Inheritance()
            let request = try peer.request()
            let streamed = try peer.request(delivery: .streamed)
            var children = ForkedChildren()
            try await inheritance.settle(request)
            for round in 0..<40 {
                async let first = inheritance.text(request)
                async let second = inheritance.text(request)
                #expect(try await [first, second] == ["ok", "ok"], "round \(round)")
                try await inheritance.beginStream(streamed)
                let hasReleased = children.run { inheritance.release(closing: 2) }
                #expect(hasReleased, "round \(round)")
                #expect(try await inheritance.endStream() == Data("ok".utf8), "round \(round)")
            }
            #expect(children.hangsAreRare, "\(children)")
            #expect(peer.connections == 2)
        }
    }

    @Test(
        "a child that releases an HTTP/2 stream sends nothing on the connection of its parent",
        .rows("H-35", "R-58"), arguments: Secured.isAvailable ? [false, true] : [false])
    func releasingStreams(isSecured: Bool) async {
        await #expect(processExitsWith: .success) { [isSecured = isSecured as Bool] in
            let tls = isSecured ? try Secured.server { $0.applicationProtocols = ["h2"] } : nil
            let peer = try ScriptedPeer(securedWith: tls) { line, _, peer in
                let script = HTTP2Script(HTTP2Limits())
                // Beside messages, the parent sends only SETTINGS, and windows for itself and for collected bodies.
                var known: Int?
                var collected: Set<StreamID> = []
                while let arrival = script.next(on: line) {
                    let frames = script.frames.filter {
                        if case .windowUpdate(let stream, _) = $0, collected.contains(stream) { return false }
                        return $0 != .settingsAcknowledgement
                    }
                    if frames.count > known ?? frames.count { peer.note("\(frames)") }
                    known = frames.count
                    switch arrival {
                    case .head(let slot, let head):
                        script.sendHead(200, to: slot, on: line)
                        if head.path == "/slow" { _ = peer.waitForResume() } else { collected.insert(slot.stream) }
                        script.respond(to: slot, on: line)
                    case .reset(_, let code): peer.note("\(code)")
                    default: break
                    }
                }
                // After close_notify, or bytes that are no record of the parent's, nothing more is received.
                peer.note("end")
            }
            let inheritance = Inheritance(
                isSecured ? try Secured.executor { $0.httpVersion = .http2PriorKnowledge } : .http2())
            let request = try isSecured ? peer.securedRequest() : peer.request()
            let streamed =
                try isSecured
                ? peer.securedRequest(.get, "/slow", delivery: .streamed)
                : peer.request(.get, "/slow", delivery: .streamed)
            var children = ForkedChildren()
            for round in 0..<20 {
                #expect(try await inheritance.text(request) == "ok", "round \(round)")
                try await inheritance.beginStream(streamed)
                // The socket may remain open: a thread that the child does not have may refer to the connection.
                let hasReleased = children.run {
                    inheritance.release()
                    return true
                }
                #expect(hasReleased, "round \(round)")
                peer.resume()
                #expect(try await inheritance.endStream() == Data("ok".utf8), "round \(round)")
            }
            // The peer receives it after the bytes of the last child.
            #expect(try await inheritance.text(request) == "ok")
            #expect(children.hangsAreRare, "\(children)")
            #expect(peer.connections == 1 && peer.notes.isEmpty, "\(peer.notes)")
        }
    }

    @Test("in a child every call fails at once, and an inherited stream cannot be read", .rows("R-58"))
    func calling() async {
        await #expect(processExitsWith: .success) {
            let peer = try slowPeer()
            let executor = SocketExecutor()
            let request = try peer.request()
            _ = try await executor.execute(request)
            var children = ForkedChildren()
            for round in 0..<10 {
                let stream = try #require(try await executor.execute(peer.request(delivery: .streamed)).stream)
                let hasFailed = children.run {
                    executor.failsInChild(request)
                        && StreamReader(stream: stream).failure(of: request)?.reason == .connectionLost
                }
                #expect(hasFailed, "round \(round), \(children)")
                // The child has read nothing from the stream.
                #expect(try await stream.collect() == Data("ok".utf8), "round \(round)")
                #expect(try await executor.execute(request).metrics.isReusedConnection)
            }
            #expect(children.hangsAreRare, "\(children)")
            #expect(peer.connections == 1)
        }
    }

    @Test("a fork during the calls of four threads does not affect them", .rows("R-58"))
    func crowded() async {
        await #expect(processExitsWith: .success) {
            let peer = try slowPeer()
            let executor = SocketExecutor()
            let request = try peer.request()
            let (calls, failures, running) = (SharedCounter(), SharedCounter(), SharedCounter())
            let isOver = Lock(false)
            for _ in 0..<4 {
                running.add(1)
                try DetachedThread.start(named: "caller") {
                    while !isOver.withLock({ $0 }) {
                        if (try? executor.executeAndWait(request).text) != "ok" { failures.add(1) }
                        calls.add(1)
                    }
                    running.add(-1)
                }
            }
            let inheritance = Inheritance()
            try await inheritance.settle(request)
            var children = ForkedChildren()
            for round in 0..<40 {
                let stream = try #require(try await executor.execute(peer.request(delivery: .streamed)).stream)
                #expect(try await inheritance.text(request) == "ok")
                let hasFailed = children.run {
                    executor.failsInChild(request)
                        && StreamReader(stream: stream).failure(of: request)?.reason == .connectionLost
                        && inheritance.release(closing: 1)
                }
                #expect(hasFailed, "round \(round), \(children)")
                #expect(try await stream.collect() == Data("ok".utf8), "round \(round)")
                #expect(try await executor.execute(request).text == "ok", "round \(round)")
                let before = calls.value
                await eventually { calls.value > before + 4 }
            }
            isOver.withLock { $0 = true }
            await eventually { running.value == 0 }
            #expect(failures.value == 0)
            #expect(children.hangsAreRare, "\(children)")
        }
    }
}
#endif
