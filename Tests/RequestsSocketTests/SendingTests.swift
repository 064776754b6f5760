@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// A source of chunks, with an optional error at the end.
struct SentChunks: RequestBody.Source {
    var chunks: [String]
    var failsAtEnd = false

    struct Failure: Error {}

    mutating func next() async throws -> Data? {
        guard !chunks.isEmpty else {
            if failsAtEnd { throw Failure() }
            return nil
        }
        return Data(chunks.removeFirst().utf8)
    }
}

func stream(_ chunks: [String], length: Int? = nil, failsAtEnd: Bool = false) -> RequestBody {
    .stream(length: length, isReplayable: true) { SentChunks(chunks: chunks, failsAtEnd: failsAtEnd) }
}

/// A source of blocks of 64 KiB.
struct Blocks: RequestBody.Source {
    var remaining: Int

    mutating func next() async throws -> Data? {
        guard remaining > 0 else { return nil }
        remaining -= 64 << 10
        return Data(repeating: 97, count: 64 << 10)
    }
}

@Suite("Sending bodies", .timeLimit(.minutes(10)))
struct SendingTests {
    @Test("a kept response does not keep its upload of 100 MB in memory", arguments: [false, true])
    func uploads(isBlocking: Bool) async throws {
        let count = 100_000_000
        let peer = try ScriptedPeer { line, _, _ in
            var received = 0
            while received < count, let bytes = line.receive(1 << 20) { received += bytes.count }
            line.send(ok)
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        let isFreed = Lock(false)
        func perform() async throws -> TypedResponse<String> {
            let data = Data(
                bytesNoCopy: UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16), count: count,
                deallocator: .custom { pointer, _ in
                    pointer.deallocate()
                    isFreed.withLock { $0 = true }
                })
            let url = try #require(URL(string: "http://\(peer.authority)"))
            let request = AnonymousRequestProvider(baseURL: url)
                .post(.raw(data: data, contentType: .binary), to: "/a", receiving: .text)
            guard isBlocking else { return try await executor.response(for: request) }
            return try await onThread {
                Result { () throws(RequestError) in try executor.responseAndWait(for: request) }
            }.get()
        }
        let response = try await perform()
        await eventually { isFreed.withLock { $0 } }
        #expect(response.value == "ok" && response.request?.method == .post)
        #expect(executor.connections == (1, 1))
    }

    @Test(
        "a stream of another length than declared, or that fails, is an error and not sent completely", .rows("R-5"),
        arguments: [
            (["ab", "c"], 4, false), (["ab", "cde"], 4, false), (["abcd", "", "e"], 4, false), (["abc"], 4, true),
            ([], 1, false), (["a"], 0, false),
        ] as [([String], Int, Bool)])
    func length(chunks: [String], length: Int, fails: Bool) async throws {
        let peer = try ScriptedPeer { line, _, peer in
            peer.note(String(decoding: line.receiveAll(), as: UTF8.self))
        }
        let body = stream(chunks, length: length, failsAtEnd: fails)
        let executor = SocketExecutor()
        let error = await executor.failure(of: try peer.request(.post, body: body))
        #expect(error?.reason == .bodyEncodingFailed)
        await eventually { !peer.notes.isEmpty }
        let sent = peer.notes[0].split(separator: "\r\n\r\n", omittingEmptySubsequences: false).last ?? ""
        #expect(length == 0 || sent.utf8.count < length)
        #expect(executor.connections == (0, 0))
    }

    @Test(
        "a stream of unknown length is sent in chunks, without empty ones, and the connection is reused", .rows("R-6"))
    func chunked() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            for end in ["0\r\n\r\n", "1\r\nx\r\n0\r\n\r\n"] {
                var all = ""
                while !all.hasSuffix(end), let more = line.receive() { all += String(decoding: more, as: UTF8.self) }
                peer.note(all)
                line.send(ok)
            }
        }
        let executor = SocketExecutor()
        _ = try await executor.execute(try peer.request(.put, body: stream(["", "hello, ", "", "world and more", ""])))
        _ = try await executor.execute(try peer.request(.put, body: stream(["x"])))
        let head = "PUT / HTTP/1.1\r\nHost: \(peer.authority)\r\nAccept-Encoding: identity\r\n"
        #expect(
            peer.notes[0] == head
                + "Transfer-Encoding: chunked\r\n\r\n7\r\nhello, \r\ne\r\nworld and more\r\n0\r\n\r\n")
        #expect(peer.connections == 1)
    }

    @Test("a source that loses another connection has not lost the one of its request", .rows("R-5"))
    func lostSource() async throws {
        struct Lost: RequestBody.Source {
            mutating func next() async throws -> Data? { throw RequestError(.connectionLost) }
        }
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor()
        _ = try await executor.execute(try peer.request())
        let body = RequestBody.stream(length: nil, isReplayable: true) { Lost() }
        let error = await executor.failure(of: try peer.request(.put, body: body))
        #expect(error?.reason == .bodyEncodingFailed)
        #expect((error?.underlying as? RequestError)?.reason == .connectionLost)
        #expect(peer.connections == 1)
    }

    @Test("the last chunk of a stream that fails is not sent", .rows("R-5"))
    func chunkedFailure() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            peer.note(String(decoding: line.receiveAll(), as: UTF8.self))
        }
        let error = await SocketExecutor().failure(
            of: try peer.request(.post, body: stream(["abc"], failsAtEnd: true)))
        #expect(error?.reason == .bodyEncodingFailed)
        #expect(error?.underlying is SentChunks.Failure)
        await eventually { !peer.notes.isEmpty }
        #expect(!peer.notes[0].contains("0\r\n\r\n"))
    }

    @Test("a file or a range is sent, and an unreadable file is an error before anything is sent")
    func files() async throws {
        let folder = TemporaryDirectory()
        let content = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try folder.write(content, to: "body")
        let expected = [content.count, 300_001]
        let peer = try ScriptedPeer { line, _, peer in
            for count in expected {
                var all: [UInt8] = []
                var start: Int?
                while true {
                    if start == nil { start = all.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }
                    if let start, all.count >= start + count { break }
                    guard let more = line.receive() else { return }
                    all += more
                }
                peer.note("\(Array(all.dropFirst(start ?? 0)).hashValue)")
                line.send(ok)
            }
        }
        let executor = SocketExecutor()
        let path = folder.path(of: "body")
        _ = try await executor.execute(try peer.request(.put, body: .file(path: path)))
        _ = try await executor.execute(try peer.request(.put, body: .file(path: path, range: 5..<300_006)))
        #expect(peer.notes == ["\(content.hashValue)", "\(Array(content[5..<300_006]).hashValue)"])
        #expect(peer.connections == 1)
        for body in [
            RequestBody.file(path: folder.path(of: "none")), .file(path: folder.path), .file(path: ""),
            .file(path: path, range: 0..<700_001),
        ] {
            let error = await SocketExecutor().failure(of: try peer.request(.put, body: body))
            #expect(error?.reason == .fileAccessFailed)
            #expect(error?.mayHaveReachedServer == false)
        }
        #expect(peer.connections == 1)
    }

    @Test(
        "a response before the end of the body is returned, and the connection is not reused", .rows("R-45"),
        arguments: [true, false])
    func earlyResponse(closes: Bool) async throws {
        let peer = try ScriptedPeer { line, number, _ in
            guard number == 0 else { return line.respondToAll(ok) }
            var count = 0
            while count < 64 << 10, let more = line.receive() { count += more.count }
            line.send("HTTP/1.1 100 Continue\r\n\r\n")
            // By then the client is blocked, and waits.
            if !closes { for _ in 0..<10 { line.pause() } }
            line.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch")
            if !closes { line.waitForStop() }
        }
        let executor = SocketExecutor()
        let body = RequestBody.stream(length: 1 << 30, isReplayable: true) { Blocks(remaining: 1 << 30) }
        let response = try await executor.execute(try peer.request(.post, body: body))
        #expect(response.head.status == 413)
        #expect(response.text == "much")
        #expect(executor.connections == (0, 0))
        #expect(try await executor.execute(try peer.request()).metrics.isReusedConnection == false)
        peer.stop()
    }

    @Test("a reset during an upload is a lost connection, never a signal", .rows("R-56"))
    func reset() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receive(1)
            try? line.socket.setResetOnClose()
        }
        for _ in 0..<20 {
            let body = RequestBody.stream(length: nil, isReplayable: true) { Blocks(remaining: 64 << 20) }
            let error = await SocketExecutor().failure(of: try peer.request(.post, body: body))
            #expect(error?.reason == .connectionLost)
            #expect(error?.mayHaveReachedServer == true)
        }
    }
}
