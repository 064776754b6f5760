import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import TestSupport
import Testing

@Suite("HTTP/2: windows and turns", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2FairnessTests {
    @Test(
        "responses of 64 KiB arrive whole beside an endless download, which continues between them",
        .rows("H-32"), arguments: Secured.isAvailable ? [false, true] : [false])
    func downloads(isSecured: Bool) async throws {
        let tls = isSecured ? try Secured.server { $0.applicationProtocols = ["h2"] } : nil
        let text = String(repeating: "x", count: 64 << 10)
        let peer = try ScriptedPeer(securedWith: tls) { line, _, peer in
            let script = HTTP2Script(HTTP2Limits())
            guard let (large, _) = script.head(on: line) else { return }
            script.sendHead(200, to: large, on: line)
            var sent = 0
            repeat {
                while let arrival = script.takeArrival() {
                    guard case .head(let slot, _) = arrival else { continue }
                    peer.note("\(sent)")
                    guard script.respond(to: slot, body: text, on: line) else { return }
                }
                sent += script.sendBody(of: 1 << 20, to: large, on: line)
            } while script.receive(from: line)
        }
        let executor = try Secured.executor { $0.httpVersion = .http2PriorKnowledge }
        func request(_ delivery: ResponseBody.Delivery) throws -> PreparedRequest {
            try isSecured ? peer.securedRequest(delivery: delivery) : peer.request(delivery: delivery).patient()
        }
        let stream = try #require(try await executor.execute(request(.streamed)).stream)
        let download = Task {
            var count = 0
            while let piece = try await stream.next() { count += piece.count }
            return count
        }
        for _ in 0..<100 {
            #expect(try await executor.execute(request(.collected(limit: 1 << 20))).text == text)
        }
        download.cancel()
        #expect(await download.failure != nil)
        let sent = peer.notes.compactMap { Int($0) }
        #expect(sent.count == 100 && peer.connections == 1)
        // The download has continued: much more than its first window was sent.
        #expect(try #require(sent.last) > 1 << 20)
    }

    @Test("uploads with bytes at hand share the window of the connection in turn", .rows("H-32", "H-45"))
    func uploads() async throws {
        var limits = HTTP2Limits()
        limits.streamWindow = 1 << 20
        limits.connectionWindow = 65_535
        limits.announcedWindow = 0
        let size = 4 << 20
        let peer = try ScriptedPeer(http2: limits) { script, line, _, peer in
            var counts: [StreamSlot: Int] = [:]
            while let arrival = script.next(on: line) {
                switch arrival {
                case .head(let slot, let head) where head.path == "/": script.respond(to: slot, on: line)
                case .head(let slot, _):
                    counts[slot] = 0
                    // The window opens when all are waiting for it.
                    if counts.count == 4 { script.send(on: line) { $0.settings([(4, 1 << 20)]) } }
                case .data(let slot, let bytes): counts[slot, default: 0] += bytes.count
                case .ended(let slot) where counts[slot] != nil:
                    peer.note("\(counts.values.min() ?? 0)")
                    script.respond(to: slot, on: line)
                default: break
                }
            }
        }
        let executor = SocketExecutor.http2()
        _ = try await executor.execute(peer.request())
        let request = try peer.request(.post, "/upload", body: .bytes(Data(count: size))).patient()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 { group.addTask { try await executor.execute(request).text } }
            for try await text in group { #expect(text == "ok") }
        }
        // A stream whose task does not run within 10 ms loses its turn, so the shares are not equal.
        let least = try #require(peer.notes.first.flatMap { Int($0) })
        #expect(least > size / 16, "\(peer.notes)")
        #expect(peer.connections == 1)
    }

    @Test("a window grows if the round trip is long", .rows("H-50"), arguments: [false, true])
    func delay(isStreamed: Bool) async throws {
        let size = 32 << 20
        let peer = try ScriptedPeer(http2: HTTP2Limits()) { script, line, _, peer in
            // The acknowledgement of SETTINGS comes after 200 ms.
            for _ in 0..<40 { line.pause() }
            guard let (slot, _) = script.head(on: line) else { return }
            script.sendHead(200, ["content-length": "\(size)"], to: slot, on: line)
            var (sent, largest) = (0, 0)
            while sent < size {
                // As much as the window allows.
                let count = script.sendBody(of: size - sent, to: slot, on: line)
                sent += count
                largest = max(largest, count)
                guard sent == size || script.receive(from: line) else { return }
            }
            script.end(slot, on: line)
            peer.note("\(largest)")
            line.waitForEnd()
        }
        let delivery: ResponseBody.Delivery = isStreamed ? .streamed : .collected(limit: size)
        let request = try peer.request(delivery: delivery).patient()
        let response = try await SocketExecutor.http2().execute(request)
        var count = 0
        if let stream = response.stream {
            while let piece = try await stream.next() { count += piece.count }
        } else if case .bytes(let data) = response.body {
            count = data.count
        }
        #expect(count == size)
        await eventually { peer.notes.count == 1 }
        // The windows of a connection without delay have 256 KiB and 1 MiB.
        let largest = try #require(peer.notes.first.flatMap { Int($0) })
        #expect(largest >= 4 << 20, "\(largest) bytes")
    }
}
