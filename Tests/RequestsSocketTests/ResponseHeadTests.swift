import RequestsSocket
import TestSupport
import Testing

@Suite("Response heads", .timeLimit(.minutes(10)))
struct ResponseHeadTests {
    @Test("a connection that ends after an interim response is lost before the final one", .rows("R-18"))
    func interimOnly() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest()
            line.send("HTTP/1.1 103 Early Hints\r\n\r\n")
        }
        let error = await SocketExecutor().failure(of: try peer.request())
        #expect(error?.reason == .connectionLost)
        #expect(error?.detail == "the connection ended after an interim (1xx) response, before the final one")
    }

    @Test("a field line may have 100 KiB; the limit can be changed up to the limit of the head", .rows("R-17"))
    func fieldLine() async throws {
        let value = String(repeating: "a", count: 150 << 10)
        let peer = try ScriptedPeer { line, _, _ in
            line.respondToAll("HTTP/1.1 200 OK\r\nX-Long: \(value)\r\nContent-Length: 2\r\n\r\nok")
        }
        let error = await SocketExecutor().failure(of: try peer.request())
        #expect(error?.reason == .tooLarge(limit: 102_400) && error?.detail == "more than 102400 bytes in a field line")
        let wide = SocketExecutor.with { $0.maximumFieldLineSize = 200 << 10 }
        #expect(try await wide.execute(try peer.request()).head.header["X-Long"] == value)
        let narrow = SocketExecutor.with {
            $0.maximumFieldLineSize = .max
            $0.maximumHeadSize = 1_000
        }
        #expect(await narrow.failure(of: try peer.request())?.reason == .tooLarge(limit: 1_000))
    }
}
