import CRequestsPOSIX
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("File bodies", .timeLimit(.minutes(10)))
struct FileBodyTests {
    private let folder = TemporaryDirectory()

    /// Returns a peer that records the length of the body and whether it equals `expected`, and then responds.
    private func peer(_ expected: [UInt8]) throws -> ScriptedPeer {
        try ScriptedPeer { line, _, peer in
            var all: [UInt8] = []
            var start: Int?
            while all.count < (start ?? 0) + expected.count || start == nil, let more = line.receive(256 << 10) {
                all += more
                if start == nil { start = all.prefix(1_000).firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }
            }
            let body = Array(all[(start ?? 0)...])
            peer.note("\(body.count) \(body == expected)")
            line.send(ok)
        }
    }

    /// Returns bytes that repeat only at large distances.
    private func content(_ count: Int) -> [UInt8] {
        let block = (0..<9_973).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += block }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    @Test(
        "a file or a range is sent by the kernel or copied, in transfers of any size",
        arguments: FileSending.allCases, [Int.max, 10_007])
    func sent(sending: FileSending, cap: Int) async throws {
        let bytes = content(3_000_001)
        try folder.write(bytes, to: "body")
        for range: Range<Int>? in [nil, 5..<2_000_006, 0..<65_537] {
            let expected = bytes[range ?? 0..<bytes.count]
            let peer = try peer(Array(expected))
            let executor = SocketExecutor.with {
                $0.faults = TransferFaults(longestWrite: cap)
                $0.fileSending = sending
            }
            let body = RequestBody.file(path: folder.path(of: "body"), range: range)
            #expect(try await executor.execute(peer.request(.put, body: body)).text == "ok")
            #expect(peer.notes == ["\(expected.count) true"])
        }
    }

    @Test("a file that the kernel cannot send is copied, also from its middle")
    func copied() async throws {
        let bytes = content(1_000_000)
        try folder.write(bytes, to: "body")
        var whole = 0
        // Transfer 2 is the first of the file. Some later transfers read the response, and their fault ends the call.
        for number in 2...8 {
            let peer = try peer(bytes)
            let executor = SocketExecutor.with {
                $0.faults = TransferFaults(.failTransfer(number), code: EINVAL)
                $0.fileSending = .byKernel
            }
            let request = try peer.request(.put, body: .file(path: folder.path(of: "body")))
            do throws(RequestError) {
                #expect(try await executor.execute(request).text == "ok")
                #expect(peer.notes == ["1000000 true"])
                whole += 1
            } catch {
                #expect(number > 2 && error.reason == .connectionLost)
            }
        }
        #expect(whole > 1)
    }

    @Test(
        "a file that shrinks or grows while it is sent is an error, and its body is not complete", .rows("R-5"),
        arguments: FileSending.allCases)
    func changed(sending: FileSending) async throws {
        for (name, newCount) in [("shrinks", 100_000), ("shrinks a little", 7_999_999), ("grows", 8_000_001)] {
            let bytes = content(8_000_000)
            try folder.write(bytes, to: name)
            let peer = try peer(bytes)
            let executor = SocketExecutor.with { $0.fileSending = sending }
            let change = Once { [folder, bytes = content(newCount)] in try? folder.write(bytes, to: name) }
            let request = try peer.request(.put, body: .file(path: folder.path(of: name))).with {
                $0.progressHandler = { if $0.bytesSent > 0 { change.run() } }
            }
            let error = await executor.failure(of: request)
            #expect(error?.reason == .bodyEncodingFailed, "\(name)")
            #expect(executor.connections == (0, 0))
            await eventually { !peer.notes.isEmpty }
            let received = peer.notes.first?.split(separator: " ").first.flatMap { Int($0) } ?? .max
            #expect(received < 8_000_000, "\(name)")
        }
    }

    @Test("a response before the end of a file is returned, and the upload stops", .rows("R-45"))
    func earlyResponse() async throws {
        try folder.write(content(32 << 20), to: "body")
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receive()
            line.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch")
            line.waitForStop()
        }
        let executor = SocketExecutor()
        let response = try await executor.execute(peer.request(.put, body: .file(path: folder.path(of: "body"))))
        #expect(response.text == "much")
        #expect(executor.connections == (0, 0))
        peer.stop()
    }

    @Test("a reset while a file is sent is a lost connection, never a signal", .rows("R-56"))
    func reset() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryDirectory()
            try folder.write([UInt8](repeating: 97, count: 8 << 20), to: "body")
            let path = folder.path(of: "body")
            let peer = try ScriptedPeer { line, _, _ in
                _ = line.receive(1)
                try? line.socket.setResetOnClose()
            }
            for _ in 0..<20 {
                let error = await SocketExecutor().failure(of: try peer.request(.post, body: .file(path: path)))
                #expect(error?.reason == .connectionLost)
            }
        }
    }
}

/// An action that runs once.
private final class Once: Sendable {
    private let count = SharedCounter()
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    func run() {
        if count.add(1) == 1 { action() }
    }
}
