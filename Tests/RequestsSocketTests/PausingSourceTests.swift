import Adaptors
import PackageStandIns
@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Bodies whose source pauses, over sockets, with and without TLS (decision 0071).
@Suite("Bodies whose source pauses", .timeLimit(.minutes(10)))
struct PausingSourceTests {
    /// A source that produces `pieces`, and then nothing until it is released; it ignores cancellation.
    private struct Stuck: RequestBody.Source {
        let gate: Gate
        var pieces = [Data("first".utf8)]

        mutating func next() async throws -> Data? {
            if !pieces.isEmpty { return pieces.removeFirst() }
            gate.state.withLock { $0.isReached = true }
            await gate.wait()
            gate.state.withLock { $0.hasSeenCancellation = Task.isCancelled }
            return nil
        }
    }

    /// A gate that never opens before the end of a test.
    private final class Gate: Sendable {
        struct State: Sendable {
            var isReached = false
            var hasSeenCancellation = false
        }

        let state = Lock(State())
        private let (stream, continuation) = AsyncStream<Void>.makeStream()

        func wait() async {
            // A task of its own, so that the cancellation of the waiting one does not end the wait.
            await Task { [stream] in for await _ in stream {} }.value
        }

        func open() { continuation.finish() }
    }

    private static func request(
        _ peer: ScriptedPeer, isSecured: Bool, _ body: RequestBody,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        try isSecured
            ? peer.securedRequest(.post, body: body, delivery: delivery)
            : peer.request(.post, body: body, delivery: delivery)
    }

    private static func executor(isSecured: Bool) throws -> SocketExecutor {
        isSecured ? try Secured.executor { _ in } : SocketExecutor()
    }

    /// A peer that calls `respond` once it has the first piece of a body.
    private static func peer(
        isSecured: Bool, _ respond: @escaping @Sendable (borrowing ScriptedPeer.Line, ScriptedPeer) -> Void
    ) throws -> ScriptedPeer {
        try ScriptedPeer(securedWith: isSecured ? Secured.server() : nil) { line, _, peer in
            var received = ""
            while !received.contains("first"), let more = line.receive() {
                received += String(decoding: more, as: UTF8.self)
            }
            respond(line, peer)
        }
    }

    @Test(
        "a refusal ends a call whose source pauses, and cancels the source", .rows("R-45", "S-50"),
        arguments: SecuredCall.allCases, EarlyUploadTests.transports)
    func refusal(call: SecuredCall, isSecured: Bool) async throws {
        for length in [nil, 10] {
            let gate = Gate()
            let peer = try Self.peer(isSecured: isSecured) { line, _ in
                while !gate.state.withLock({ $0.isReached }) { line.pause() }
                line.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
                line.waitForEnd()
            }
            let body = RequestBody.stream(length: length, isReplayable: false) { Stuck(gate: gate) }
            let executor = try Self.executor(isSecured: isSecured)
            let response = try await call.response(
                to: Self.request(peer, isSecured: isSecured, body), over: executor)
            #expect(response.status == 413 && response.text == "no" && response.metrics.isRequestBodyIncomplete)
            #expect(executor.connections == (0, 0))
            gate.open()
            await eventually { gate.state.withLock { $0.hasSeenCancellation } }
            peer.stop()
        }
    }

    @Test(
        "the deadline of the call ends a pause of a source that ignores cancellation", .rows("R-48", "R-67"),
        arguments: SecuredCall.allCases)
    func deadline(call: SecuredCall) async throws {
        let peer = try Self.peer(isSecured: false) { line, _ in line.waitForEnd() }
        let gate = Gate()
        let body = RequestBody.stream(length: nil, isReplayable: false) { Stuck(gate: gate) }
        let request = try Self.request(peer, isSecured: false, body).with {
            $0.timeouts.firstByte = .milliseconds(20)
            $0.timeouts.betweenBytes = .milliseconds(20)
            $0.deadline = .now + .milliseconds(200)
        }
        let error = await call.failure(of: request, over: SocketExecutor())
        #expect(error?.reason == .timedOut(.total))
        gate.open()
        peer.stop()
    }

    @Test("the deadline of the call ends a source that produces nothing but empty pieces", .rows("R-48"))
    func emptyPieces() async throws {
        struct Empty: RequestBody.Source {
            mutating func next() async throws -> Data? { Data() }
        }
        let peer = try ScriptedPeer { line, _, _ in line.waitForEnd() }
        let body = RequestBody.stream(length: nil, isReplayable: false) { Empty() }
        let request = try Self.request(peer, isSecured: false, body).with { $0.deadline = .now + .milliseconds(100) }
        #expect(await SocketExecutor().failure(of: request)?.reason == .timedOut(.total))
        peer.stop()
    }

    @Test("cancellation ends a pause of a source that ignores it", .rows("R-67"), arguments: [false, true])
    func cancellation(isStreamed: Bool) async throws {
        let peer = try Self.peer(isSecured: false) { line, peer in
            if isStreamed { line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n") }
            peer.note("paused")
            line.waitForEnd()
        }
        let gate = Gate()
        let body = RequestBody.stream(length: nil, isReplayable: false) { Stuck(gate: gate) }
        let request = try Self.request(
            peer, isSecured: false, body, delivery: isStreamed ? .streamed : .collected(limit: 10))
        let task = Task { () async throws -> Data? in
            let response = try await SocketExecutor().execute(request)
            guard case .stream(let stream) = response.body else { return nil }
            return try await stream.next()
        }
        await eventually { peer.notes == ["paused"] }
        task.cancel()
        let error = await #expect(throws: RequestError.self) { try await task.value }
        #expect(error?.reason == .cancelled)
        gate.open()
        peer.stop()
    }

    @Test("the end of the connection ends a call whose source pauses", .rows("R-45"), arguments: SecuredCall.allCases)
    func closed(call: SecuredCall) async throws {
        let peer = try Self.peer(isSecured: false) { _, _ in }
        let gate = Gate()
        let body = RequestBody.stream(length: nil, isReplayable: false) { Stuck(gate: gate) }
        let error = await call.failure(
            of: try Self.request(peer, isSecured: false, body), over: SocketExecutor())
        #expect(error?.reason == .connectionLost)
        gate.open()
        peer.stop()
    }

    @Test(
        "a response that arrives in a pause does not end the body", .rows("R-45", "R-48"),
        arguments: SecuredCall.allCases, EarlyUploadTests.transports)
    func completion(call: SecuredCall, isSecured: Bool) async throws {
        let peer = try Self.peer(isSecured: isSecured) { line, peer in
            line.send("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok")
            var received = ""
            while !received.contains("0\r\n\r\n"), let more = line.receive() {
                received += String(decoding: more, as: UTF8.self)
            }
            peer.note(received.contains("last") ? "whole" : received)
            line.waitForEnd()
        }
        let body = RequestBody.stream {
            AsyncStream<Data> { continuation in
                continuation.yield(Data("first".utf8))
                Task {
                    try await Task.sleep(for: .milliseconds(100))
                    continuation.yield(Data("last".utf8))
                    continuation.finish()
                }
            }
        }
        // Shorter than the pause, in which the server has nothing to do.
        let request = try Self.request(peer, isSecured: isSecured, body).with {
            $0.timeouts.firstByte = .milliseconds(50)
            $0.timeouts.betweenBytes = .milliseconds(50)
        }
        let response = try await call.response(to: request, over: Self.executor(isSecured: isSecured))
        #expect(response.status == 202 && response.text == "ok" && !response.metrics.isRequestBodyIncomplete)
        await eventually { peer.notes == ["whole"] }
        peer.stop()
    }

    /// A peer that sends back the chunks of a request while they arrive.
    private static func echo(isSecured: Bool) throws -> ScriptedPeer {
        try ScriptedPeer(securedWith: isSecured ? Secured.server() : nil) { line, _, _ in
            guard let head = line.receiveRequest() else { return }
            line.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            var received = String(head[EarlyUploadTests.end(of: head)...])
            while true {
                line.send(received)
                if received.hasSuffix("0\r\n\r\n") { return line.waitForEnd() }
                guard let more = line.receive() else { return }
                received = String(decoding: more, as: UTF8.self)
            }
        }
    }

    @Test(
        "a source that waits for the response to its last piece receives it", .rows("R-45", "S-50"),
        arguments: EarlyUploadTests.transports, [false, true])
    func dialogue(isSecured: Bool, runsTasks: Bool) async throws {
        let peer = try Self.echo(isSecured: isSecured)
        let (sequence, continuation) = AsyncStream<Data>.makeStream()
        let request = try Self.request(peer, isSecured: isSecured, .stream { sequence }, delivery: .streamed)
        let executor = try Self.executor(isSecured: isSecured)
        let talk = { @Sendable () async throws in
            let response = try await executor.execute(request)
            guard case .stream(let stream) = response.body else { return }
            for number in 0..<100 {
                continuation.yield(Data("piece \(number)".utf8))
                #expect(try await stream.next() == Data("piece \(number)".utf8))
            }
            continuation.finish()
            #expect(try await stream.next() == nil && stream.metrics?.isRequestBodyIncomplete == false)
        }
        if runsTasks {
            try await withTaskExecutorPreference(SocketTaskExecutor(), operation: talk)
        } else {
            try await talk()
        }
        #expect(executor.connections == (0, 0) || executor.connections == (1, 1))
        peer.stop()
    }

    @Test("an operation of OpenAPI sends and receives its messages at once, as a conversation does", .rows("R-45"))
    func conversation() async throws {
        let peer = try Self.echo(isSecured: false)
        let (pieces, continuation) = AsyncStream.makeStream(of: ArraySlice<UInt8>.self)
        let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/greetings?name=Example")
        // The generated client begins to send after the response has arrived.
        let (response, body) = try await RequestsTransport(SocketExecutor()).send(
            head, body: HTTPBody(pieces, length: .unknown, iterationBehavior: .single), baseURL: peer.request().url,
            operationID: "getGreetingsStream")
        #expect(response.status.code == 200)
        var received = try #require(body).makeAsyncIterator()
        for text in ["Hello, Example!", "Good morning, Example!"] {
            continuation.yield(ArraySlice(text.utf8))
            #expect(try await received.next().map(Array.init) == Array(text.utf8))
        }
        continuation.finish()
        #expect(try await received.next() == nil)
        peer.stop()
    }

    @Test("an error of the source ends a streamed response", .rows("R-45"))
    func failure() async throws {
        struct Problem: Error {}
        let peer = try Self.peer(isSecured: false) { line, _ in
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            line.waitForEnd()
        }
        let (sequence, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        continuation.yield(Data("first".utf8))
        let request = try Self.request(peer, isSecured: false, .stream { sequence }, delivery: .streamed)
        let response = try await SocketExecutor().execute(request)
        guard case .stream(let stream) = response.body else { return }
        continuation.finish(throwing: Problem())
        let error = await #expect(throws: RequestError.self) {
            _ = try await stream.next()
        }
        #expect(error?.reason == .bodyEncodingFailed && error?.underlying is Problem)
        peer.stop()
    }
}
