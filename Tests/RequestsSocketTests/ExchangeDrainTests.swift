@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// The body of a followed redirect, which decides nothing (decision 0021), in an exchange without a socket.
@Suite("The body of a redirect in an exchange, without sockets", .timeLimit(.minutes(10)))
struct ExchangeDrainTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var framing = "Content-Length: 5"
        /// The events after the head.
        let arrivals: [ScriptedCarrier.Arrival]
        var limit = Duration.seconds(60)
        /// The number of waits.
        var waits = 0
        let body: String
        let isReusable: Bool
    }

    static let rows = [
        Row(testDescription: "a body that has arrived", arrivals: [.bytes("hello")], body: "hello", isReusable: true),
        Row(
            testDescription: "a body that arrives in pieces", arrivals: [.bytes("hel"), .nothing, .bytes("lo")],
            waits: 1, body: "hello", isReusable: true),
        Row(
            testDescription: "chunks", framing: "Transfer-Encoding: chunked",
            arrivals: [.bytes("3\r\nhel\r\n"), .nothing, .bytes("2\r\nlo\r\n0\r\n\r\n")], waits: 1, body: "hello",
            isReusable: true),
        Row(
            testDescription: "the end of the connection does not fail the call", arrivals: [.bytes("hel"), .end],
            body: "hel", isReusable: false),
        Row(
            testDescription: "a failure of the connection does not fail the call",
            arrivals: [.bytes("hel"), .failure(104)], body: "hel", isReusable: false),
        Row(
            testDescription: "a malformed chunk does not fail the call", framing: "Transfer-Encoding: chunked",
            arrivals: [.bytes("3\r\nhel\r\nzz\r\n")], body: "hel", isReusable: false),
        Row(
            testDescription: "a limit that has passed ends the body", arrivals: [.bytes("hel"), .nothing],
            limit: .zero, body: "hel", isReusable: false),
        Row(
            testDescription: "a body beyond the limit is not read", framing: "Content-Length: 10000000000",
            arrivals: [.bytes("hel")], body: "", isReusable: false),
        Row(
            testDescription: "nor is the body of a connection that closes", framing: "Connection: close",
            arrivals: [.bytes("hel")], body: "", isReusable: false),
    ]

    /// Returns the exchange of a call that follows redirects, whose response begins with the head of one.
    private func exchange(_ row: Row) throws -> Exchange<ScriptedCarrier> {
        var request = try PreparedRequest(url: #require(URL(string: "http://example.com/path")))
        // Shorter than the bodies, so that they are not delivered like collected bodies.
        request.delivery = .collected(limit: 4)
        request.redirectPolicy.drainTimeout = row.limit
        let head = "HTTP/1.1 302 Found\r\nLocation: /next\r\n\(row.framing)\r\n\r\n"
        return Exchange(
            try OutgoingRequest(CallState(request, now: .now).request),
            on: ScriptedCarrier([.bytes(head)] + row.arrivals), isReused: true)
    }

    @Test("it is read if the connection can then be reused, and never fails the call", .rows("R-20"), arguments: rows)
    func draining(row: Row) throws {
        var exchange = try exchange(row)
        var waits = 0
        while let need = try exchange.advance() {
            guard case .event(.reading, _, _) = need, waits < 10 else {
                Issue.record("the exchange needs \(need)")
                break
            }
            waits += 1
            exchange.pause()
        }
        #expect(waits == row.waits && exchange.isCarrierReusable == row.isReusable)
        let response = exchange.response()
        guard case .bytes(let body) = response.body else {
            Issue.record("the body is not in memory")
            return
        }
        #expect(String(decoding: body, as: UTF8.self) == row.body && response.head.status == 302)
    }

    @Test("the wait for it ends with the limit of the redirect, and a failed wait with what has arrived")
    func failedWait() throws {
        let row = Row(
            testDescription: "", arrivals: [.bytes("hel"), .nothing], limit: .seconds(5), body: "hel", isReusable: false
        )
        var exchange = try exchange(row)
        guard case .event(.reading, let limit, _)? = try exchange.advance() else {
            Issue.record("the exchange does not wait")
            return
        }
        #expect(limit <= .after(.seconds(5)))
        try exchange.fail(RequestError(.timedOut(.betweenBytes)))
        #expect(try exchange.advance() == nil)
        guard case .bytes(let body) = exchange.response().body else {
            Issue.record("the body is not in memory")
            return
        }
        #expect(String(decoding: body, as: UTF8.self) == "hel")
    }

    @Test("the cancellation of the call ends it with an error")
    func cancelled() throws {
        let row = Row(testDescription: "", arrivals: [.bytes("hel"), .nothing], body: "", isReusable: false)
        var exchange = try exchange(row)
        _ = try exchange.advance()
        var reason: RequestError.Reason?
        do throws(RequestError) {
            try exchange.fail(RequestError(.cancelled))
        } catch {
            reason = error.reason
        }
        #expect(reason == .cancelled)
    }
}
