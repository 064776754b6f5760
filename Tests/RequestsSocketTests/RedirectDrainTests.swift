import RequestsPOSIX
import RequestsSocket
import Testing

/// The body of a redirect on a connection that was idle, in pieces, and what is expected of it.
struct RedirectBody: Sendable, CustomTestStringConvertible {
    let framing: String
    let pieces: [String]
    /// Whether the peer closes behind the last piece; else it waits for the next request.
    var closes = false
    /// The bytes that the response has.
    let text: String
    /// Whether the connection is kept.
    let isKept: Bool

    var testDescription: String { "\(framing) \(pieces)" }

    static let all = [
        RedirectBody(
            framing: "Transfer-Encoding: chunked", pieces: ["3\r\nhel\r\n", "2\r\nlo\r\n0\r\n\r\n"], text: "hello",
            isKept: true),
        RedirectBody(framing: "Content-Length: 5", pieces: ["hel", "lo"], text: "hello", isKept: true),
        RedirectBody(framing: "Transfer-Encoding: chunked", pieces: ["3\r\nhel\r\n"], text: "hel", isKept: false),
        RedirectBody(framing: "Content-Length: 5", pieces: ["hel"], text: "hel", isKept: false),
        RedirectBody(framing: "Content-Length: 5", pieces: ["hel"], closes: true, text: "hel", isKept: false),
        RedirectBody(
            framing: "Transfer-Encoding: chunked", pieces: ["3\r\nhel\r\n", "zz"], text: "hel", isKept: false),
        RedirectBody(framing: "Content-Length: 10000000000", pieces: ["hel"], text: "", isKept: false),
        RedirectBody(framing: "Connection: close", pieces: ["hel"], text: "", isKept: false),
        RedirectBody(framing: "Content-Length: 5\r\nConnection: close", pieces: ["hel"], text: "", isKept: false),
    ]
}

@Suite("The body of a redirect that is followed", .timeLimit(.minutes(5)))
struct RedirectDrainTests {
    /// A peer whose first answer on a connection is 200, and whose second is a redirect with `body`.
    private func peer(_ body: RedirectBody) throws -> ScriptedPeer {
        try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send(ok)
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 302 Found\r\nLocation: /next\r\n\(body.framing)\r\n\r\n")
            for piece in body.pieces {
                line.pause()
                line.send(piece)
            }
            if !body.closes { line.waitForEnd() }
        }
    }

    /// A request that a call performs and follows.
    private func request(_ peer: ScriptedPeer, _ delivery: Delivery = .collected(limit: 4)) throws -> PreparedRequest {
        let request = try peer.request(delivery: delivery).with {
            $0.redirects.drainTimeout = .milliseconds(100)
        }
        return Perform(request, now: .now).request
    }

    private func check(_ response: RawResponse, _ body: RedirectBody, _ executor: SocketExecutor) async {
        #expect(response.head.status == 302 && response.metrics.reusedConnection)
        #expect(response.text == body.text)
        await eventually { executor.connections == (body.isKept ? (1, 1) : (0, 0)) }
    }

    @Test(
        "it is read without a task where its connection can be kept, else closed (R-20, R-25, T-59)",
        arguments: RedirectBody.all)
    func inPlace(body: RedirectBody) async throws {
        let peer = try peer(body)
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let request = try request(peer)
        let execution = try await onThread {
            Result { () throws(RequestError) in try executor.executeBlocking(request) }
        }.get()
        guard case .response(let response) = execution else {
            Issue.record("the redirect was left to a task")
            return
        }
        await check(response, body, executor)
    }

    @Test(
        "it is read in a task where its connection can be kept, else closed (R-20, R-25, T-59)",
        arguments: RedirectBody.all, [Delivery.collected(limit: 4), .streamed, .file(path: "/nowhere/there")])
    func inTask(body: RedirectBody, delivery: Delivery) async throws {
        let peer = try peer(body)
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        await check(try await executor.execute(request(peer, delivery)), body, executor)
    }

    @Test("no more of it is read than the policy's limit, to the byte (R-25, T-59)", arguments: [0, 4, 5])
    func limit(limit: Int) async throws {
        let body = RedirectBody(
            framing: "Transfer-Encoding: chunked", pieces: ["5\r\nhello\r\n0\r\n\r\n"], text: "", isKept: false)
        let peer = try peer(body)
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let response = try await executor.execute(request(peer).with { $0.redirects.drainLimit = limit })
        #expect(response.text == String("hello".prefix(limit)))
        await eventually { executor.connections == (limit == 5 ? (1, 1) : (0, 0)) }
    }

    @Test("the total limit and cancellation end the call while it is read (R-20, T-59)")
    func endOfCall() async throws {
        let peer = try peer(RedirectBody(framing: "Content-Length: 5", pieces: ["hel"], text: "hel", isKept: false))
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let late = try request(peer).with {
            $0.redirects.drainTimeout = .seconds(3_600)
            $0.deadline = .now + .milliseconds(100)
        }
        let error = await executor.failure(of: late)
        #expect(error?.reason == .timedOut(.total) && error?.status == 302)
        _ = try await executor.execute(peer.request())
        let endless = try request(peer).with { $0.redirects.drainTimeout = .seconds(3_600) }
        let task = Task { try await executor.execute(endless) }
        await eventually { executor.connections == (1, 0) }
        task.cancel()
        #expect((await task.failure as? RequestError)?.isCancellation == true)
    }
}
