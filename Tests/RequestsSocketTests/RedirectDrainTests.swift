import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// The body of a redirect on a reused connection, in pieces, and the expected result.
struct RedirectBody: Sendable, CustomTestStringConvertible {
    let framing: String
    let pieces: [String]
    /// Whether the peer closes the connection after the last piece; otherwise it waits for the next request.
    var closes = false
    /// The expected body of the response.
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

@Suite("Bodies of followed redirects", .timeLimit(.minutes(10)))
struct RedirectDrainTests {
    /// Returns a peer whose first response on a connection is 200, and whose second is a redirect with `body`.
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

    /// Returns the request of a call that follows redirects.
    private func request(_ peer: ScriptedPeer, _ delivery: ResponseBody.Delivery = .collected(limit: 4)) throws
        -> PreparedRequest
    {
        let request = try peer.request(delivery: delivery).with {
            $0.redirectPolicy.drainTimeout = .seconds(2)
        }
        return CallState(request, now: .now).request
    }

    private func check(_ response: RawResponse, _ body: RedirectBody, _ executor: SocketExecutor) async {
        #expect(response.head.status == 302 && response.metrics.isReusedConnection)
        #expect(response.text == body.text)
        await eventually { executor.connections == (body.isKept ? (1, 1) : (0, 0)) }
    }

    @Test(
        "a blocking call reads the body if the connection can be kept, and closes it otherwise", .rows("R-20", "R-25"),
        arguments: RedirectBody.all)
    func inPlace(body: RedirectBody) async throws {
        let peer = try peer(body)
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let request = try request(peer)
        await check(try await onThread { executor.inPlace(request) }.get(), body, executor)
        // A peer that is released closes its connections.
        withExtendedLifetime(peer) {}
    }

    @Test(
        "an awaited call reads the body if the connection can be kept, and closes it otherwise", .rows("R-20", "R-25"),
        arguments: RedirectBody.all,
        [ResponseBody.Delivery.collected(limit: 4), .streamed, .file(path: "/tmp/unused")])
    func inTask(body: RedirectBody, delivery: ResponseBody.Delivery) async throws {
        let peer = try peer(body)
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        await check(try await executor.execute(request(peer, delivery)), body, executor)
    }

    @Test("the body is read up to the limit of the policy, to the byte", .rows("R-25"), arguments: [0, 4, 5])
    func limit(limit: Int) async throws {
        let body = RedirectBody(
            framing: "Transfer-Encoding: chunked", pieces: ["5\r\nhello\r\n0\r\n\r\n"], text: "", isKept: false)
        let peer = try peer(body)
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let response = try await executor.execute(request(peer).with { $0.redirectPolicy.drainLimit = limit })
        #expect(response.text == String("hello".prefix(limit)))
        await eventually { executor.connections == (limit == 5 ? (1, 1) : (0, 0)) }
    }

    @Test("the deadline and cancellation end the call while the body is read", .rows("R-20"))
    func endOfCall() async throws {
        let peer = try peer(RedirectBody(framing: "Content-Length: 5", pieces: ["hel"], text: "hel", isKept: false))
        let executor = SocketExecutor()
        _ = try await executor.execute(peer.request())
        let late = try request(peer).with {
            $0.redirectPolicy.drainTimeout = .seconds(3_600)
            $0.deadline = .now + .milliseconds(100)
        }
        let error = await executor.failure(of: late)
        #expect(error?.reason == .timedOut(.total) && error?.status == 302)
        _ = try await executor.execute(peer.request())
        let endless = try request(peer).with { $0.redirectPolicy.drainTimeout = .seconds(3_600) }
        let task = Task { try await executor.execute(endless) }
        await eventually { executor.connections == (1, 0) }
        task.cancel()
        #expect((await task.failure as? RequestError)?.isCancellation == true)
    }
}
