import CRequestsPOSIX
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("File bodies", .timeLimit(.minutes(5)))
struct FileBodyTests {
    private let folder = TemporaryDirectory()

    /// A peer that notes how many bytes of the body came and whether they are `expected`; it answers when all are there.
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

    /// Bytes in which none stands where it could be mistaken for a near one.
    private func content(_ count: Int) -> [UInt8] {
        let block = (0..<9_973).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += block }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    @Test(
        "a file is sent whole or in part, by the kernel or copied, however little goes at a time",
        arguments: FileSending.allCases, [Int.max, 10_007])
    func sent(way: FileSending, cap: Int) async throws {
        let bytes = content(3_000_001)
        try folder.write(bytes, to: "body")
        for range: Range<Int>? in [nil, 5..<2_000_006, 0..<65_537] {
            let expected = bytes[range ?? 0..<bytes.count]
            let peer = try peer(Array(expected))
            let executor = SocketExecutor.with {
                $0.faults = TransferFaults(longestWrite: cap)
                $0.fileSending = way
            }
            let body = RequestBody.file(path: folder.path(of: "body"), range: range)
            #expect(try await executor.execute(peer.request(.put, body: body)).text == "ok")
            #expect(peer.notes == ["\(expected.count) true"])
        }
    }

    @Test("where the kernel cannot send a kind of file, it is copied; from the middle, too")
    func copied() async throws {
        let bytes = content(1_000_000)
        try folder.write(bytes, to: "body")
        var whole = 0
        // The second transfer is the first of the file; of the later ones some look for an answer, and end the call.
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
        "a file that becomes shorter or longer while it is sent is an error, and no whole body (R-5)",
        arguments: FileSending.allCases)
    func changed(way: FileSending) async throws {
        for (name, newCount) in [("shrinks", 100_000), ("shrinks a little", 7_999_999), ("grows", 8_000_001)] {
            let bytes = content(8_000_000)
            try folder.write(bytes, to: name)
            let peer = try peer(bytes)
            let executor = SocketExecutor.with { $0.fileSending = way }
            let change = Once { [folder, bytes = content(newCount)] in try? folder.write(bytes, to: name) }
            let request = try peer.request(.put, body: .file(path: folder.path(of: name))).with {
                $0.onProgress = { if $0.sent > 0 { change.run() } }
            }
            let error = await executor.failure(of: request)
            #expect(error?.reason == .bodyNotEncoded, "\(name)")
            #expect(executor.connections == (0, 0))
            await eventually { !peer.notes.isEmpty }
            let received = peer.notes.first?.split(separator: " ").first.flatMap { Int($0) } ?? .max
            #expect(received < 8_000_000, "\(name)")
        }
    }

    @Test("an answer before the file's end is delivered, and the upload stops (R-45)")
    func earlyAnswer() async throws {
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

    @Test("a peer that resets the connection during a file is a lost connection, never a signal (R-56)")
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

/// Does something the first time it is told to.
private final class Once: Sendable {
    private let count = Counter()
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    func run() {
        if count.add(1) == 1 { action() }
    }
}
