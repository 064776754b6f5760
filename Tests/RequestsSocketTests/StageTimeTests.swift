import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("The times at which an exchange reaches its stages", .timeLimit(.minutes(10)))
struct StageTimeTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func expectOrder(_ metrics: RawResponse.Metrics, isReused: Bool) {
        #expect((metrics.timeToLookup == nil) == isReused && (metrics.timeToConnect == nil) == isReused)
        let times = [
            metrics.timeToLookup, metrics.timeToConnect, metrics.timeToRequestSent, metrics.timeToFirstByte,
            metrics.timeToResponseHead, metrics.timeToEnd,
        ].compactMap(\.self)
        #expect(times == times.sorted() && times.count == (isReused ? 4 : 6) && times.first.map { $0 >= .zero } == true)
    }

    @Test("each stage has its time, in order; a reused connection has none for lookup and connecting")
    func stages() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(Self.ok) }
        let executor = SocketExecutor()
        for round in 0..<2 {
            let response = try await executor.execute(peer.request())
            expectOrder(response.metrics, isReused: round > 0)
        }
        let request = try peer.request()
        let blocking = try await onThread {
            Result { () throws(RequestError) in try executor.executeAndWait(request) }
        }.get()
        expectOrder(blocking.metrics, isReused: true)
    }

    @Test("the times of a streamed response are complete at its end, and nil before")
    func streamed() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
                let later = ContinuousClock.now + .milliseconds(20)
                while ContinuousClock.now < later {}
                line.send("cd")
            }
        }
        let response = try await SocketExecutor().execute(peer.request(delivery: .streamed))
        #expect(response.metrics.timeToEnd == nil && response.metrics.timeToResponseHead != nil)
        guard case .stream(let stream) = response.body else {
            Issue.record("the body is no stream")
            return
        }
        #expect(stream.metrics == nil)
        #expect(try await stream.collect() == Data("abcd".utf8))
        let metrics = try #require(stream.metrics)
        expectOrder(metrics, isReused: false)
        #expect(try #require(metrics.timeToEnd) > #require(metrics.timeToResponseHead))
    }

    @Test("without a whole request there is no time at which it was sent")
    func early() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest()
            line.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
        }
        var request = try peer.request(.put, body: .bytes(Data("abc".utf8)))
        request.continueTimeout = .seconds(60)
        let response = try await SocketExecutor().execute(request)
        #expect(response.metrics.timeToRequestSent == nil && response.metrics.timeToFirstByte != nil)
    }
}
