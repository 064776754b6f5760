import Foundation
import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestSupport
import Testing

@Suite("HTTP/2: calls", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2CallTests {
    @Test("the preface, SETTINGS, the window, the head and the body leave in one send", .rows("H-1"))
    func firstFlight() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            var state = ConnectionState(.server, at: .now)
            var events: [ConnectionEvent] = []
            while let bytes = line.receive() { try? state.receive(bytes.span, at: .now, into: &events) }
            let kinds = events.map { event in
                switch event {
                case .settled: "settings"
                case .head: "head"
                case .data(_, let range): "\(range.count) bytes"
                case .ended: "end"
                default: "\(event)"
                }
            }
            peer.note(kinds.joined(separator: ", "))
        }
        // The second transfer fails, so what follows the first send is not received.
        let executor = SocketExecutor.http2 { $0.faults = TransferFaults(.failTransfer(2), code: ECONNRESET) }
        let error = await executor.failure(of: try peer.request(.post, body: .bytes(Data(count: 10_000))))
        #expect(error?.reason == .connectionLost)
        await eventually { !peer.notes.isEmpty }
        #expect(peer.notes.first?.hasPrefix("settings, head, ") == true, "\(peer.notes)")
        #expect(peer.notes.first?.contains("bytes, end") == true, "\(peer.notes)")
    }

    @Test(
        "requests and responses with bodies, trailers and interim responses share a connection",
        .rows("H-12", "H-48", "H-54"))
    func exchanges() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            while let request = script.request(on: line) {
                let te = request.head.header["te"].map { " te=\($0)" } ?? ""
                peer.note(
                    "\(request.head.method) \(request.head.path ?? "") \(request.body.count)\(te) \(request.trailers)")
                script.sendHead(103, ["link": "</a>"], to: request.slot, on: line)
                script.respond(
                    to: request.slot, 200, ["x-a": "b"], body: request.head.method == .head ? "" : "hello",
                    trailers: request.head.method == .head ? nil : ["x-sum": "5"], on: line)
            }
        }
        let executor = SocketExecutor.http2()
        let hints = Hints()
        for delivery in [ResponseBody.Delivery.collected(limit: 100), .streamed] {
            var request = try peer.request(.get, "/a?b", header: ["TE": "trailers"], delivery: delivery)
            request.interimResponseHandler = { hints.add($0.status) }
            let response = try await executor.execute(request)
            #expect(response.head.status == 200 && response.header["x-a"] == "b")
            if let stream = response.stream {
                var text = ""
                while let piece = try await stream.next() { text += String(decoding: piece, as: UTF8.self) }
                #expect(text == "hello" && stream.trailers["x-sum"] == "5")
            } else {
                #expect(response.text == "hello" && response.trailers["x-sum"] == "5")
            }
        }
        let head = try await executor.execute(peer.request(.head))
        #expect(head.text == "")
        let source = RequestBody.stream(length: nil, isReplayable: false) { Pieces(["ab", "cde"]) }
        let posted = try await executor.execute(peer.request(.post, "/p", body: source))
        #expect(posted.text == "hello" && posted.metrics.isReusedConnection)
        #expect(posted.metrics.httpVersion == .http2 && posted.metrics.description.contains("HTTP/2"))
        #expect(hints.statuses == [103, 103])
        #expect(
            peer.notes.map { $0.split(separator: " ").prefix(3).joined(separator: " ") } == [
                "GET /a?b 0", "GET /a?b 0", "HEAD / 0", "POST /p 5",
            ])
        #expect(peer.notes[0].contains("te=trailers") && peer.connections == 1)
    }

    @Test(
        "a body larger than all windows is sent and received whole", .rows("H-15", "H-16", "H-19"),
        arguments: [65_535, 256 << 10])
    func windows(of size: Int) async throws {
        var limits = HTTP2Limits()
        (limits.streamWindow, limits.connectionWindow) = (size, size)
        let peer = try ScriptedPeer(http2: limits) { script, line, _, _ in
            while let request = script.request(on: line) {
                script.respond(to: request.slot, body: String(decoding: request.body, as: UTF8.self), on: line)
            }
        }
        let text = String(repeating: "0123456789", count: 500_000)
        let request = try peer.request(
            .post, body: .bytes(Data(text.utf8)), delivery: .collected(limit: text.utf8.count))
        let response = try await SocketExecutor.http2().execute(request)
        #expect(response.text == text)
    }

    @Test(
        "bodies of declared and of unknown length arrive whole, whether one call receives or several share a connection",
        .rows("H-15", "H-16"), arguments: [1, 8])
    func largeBodies(calls: Int) async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            while let request = script.request(on: line) {
                let body = Self.body(for: request.head.path ?? "")
                let declares = request.head.path?.contains("declared") == true
                let ends = request.head.path?.contains("trailers") == true
                script.respond(
                    to: request.slot, 200, declares ? ["content-length": "\(body.utf8.count)"] : .empty, body: body,
                    trailers: ends ? ["x-sum": "5"] : nil, on: line)
            }
        }
        let executor = SocketExecutor.http2()
        for delivery in [ResponseBody.Delivery.collected(limit: 1 << 20), .streamed] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<calls {
                    for kind in ["declared", "declared-trailers", "unknown", "unknown-trailers"] {
                        let request = try peer.request(.get, "/\(kind)/\(number)", delivery: delivery)
                        if calls == 1 { try await group.waitForAll() }
                        group.addTask {
                            let response = try await executor.execute(request)
                            var bytes = try await response.stream?.next() ?? Data((response.text ?? "").utf8)
                            while let piece = try await response.stream?.next() { bytes += piece }
                            #expect(String(decoding: bytes, as: UTF8.self) == Self.body(for: "/\(kind)/\(number)"))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(peer.connections == 1)
    }

    /// Returns a body of about 100,000 bytes that differs from the bodies for other paths.
    private static func body(for path: String) -> String {
        (0..<10_000).map { "\(path)\($0)" }.joined().prefix(100_000 + path.utf8.count).description
    }

    @Test("421 is a response, after which the connection carries others", .rows("H-38"))
    func misdirected() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            while let request = script.request(on: line) { script.respond(to: request.slot, 421, on: line) }
        }
        let executor = SocketExecutor.http2()
        for _ in 0..<2 { #expect(try await executor.execute(peer.request()).head.status == 421) }
        #expect(peer.connections == 1)
    }

    @Test("a server that does not use HTTP/2 is named, and nothing is sent as HTTP/1.1", .rows("H-2", "H-52"))
    func otherProtocols() async throws {
        for text in [ok, "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"] {
            let peer = try ScriptedPeer { line, _, _ in
                _ = line.receive()
                line.send(text)
                line.waitForEnd()
            }
            let error = await SocketExecutor.http2().failure(of: try peer.request())
            #expect(error?.reason == .protocolViolation && error?.mayHaveReachedServer == true)
            #expect(error?.detail?.hasPrefix("the peer does not use HTTP/2") == true, "\(error?.detail ?? "")")
            #expect(peer.connections == 1)
        }
    }

    @Test("a violation of HTTP/2 is an error that names the frame and the rule", .rows("H-3"))
    func violations() async throws {
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, _ in
            guard let request = script.request(on: line) else { return }
            script.send(on: line) { $0.windowUpdate(request.slot.stream + 2, increment: 1) }
            line.waitForEnd()
        }
        let error = await SocketExecutor.http2().failure(of: try peer.request())
        #expect(error?.reason == .protocolViolation)
        #expect(error?.detail == "WINDOW_UPDATE frame on stream 3: the stream was never opened (RFC 9113 §5.1)")
    }
}

private struct Pieces: RequestBody.Source {
    var texts: [String]
    init(_ texts: [String]) { self.texts = texts }
    mutating func next() async throws -> Data? { texts.isEmpty ? nil : Data(texts.removeFirst().utf8) }
}

/// The statuses of interim responses.
private final class Hints: Sendable {
    private let list = Mutex<[HTTPStatus]>([])
    var statuses: [HTTPStatus] { list.withLock { $0 } }
    func add(_ status: HTTPStatus) { list.withLock { $0.append(status) } }
}
