@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Resuming downloads", .tags(.concurrent), .timeLimit(.minutes(10)))
struct ResumingDownloadTests {
    private let folder: TemporaryDirectory
    private let content = pattern(300_000)

    init() throws { folder = TemporaryDirectory() }

    private func download(
        _ api: AnonymousRequestProvider, _ executor: any RequestExecutor, from path: RequestPath = "/f"
    ) async throws(RequestError) -> URL {
        let client = Client(api, executor: executor.resumingDownloads())
        return try await client.perform(api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: path))
    }

    private func failure(
        _ api: AnonymousRequestProvider, _ executor: any RequestExecutor, from path: RequestPath = "/f"
    ) async -> RequestError? {
        do throws(RequestError) {
            _ = try await download(api, executor, from: path)
            return nil
        } catch {
            return error
        }
    }

    private func isWhole(_ name: String = "f", _ content: Data? = nil) -> Bool {
        folder.read(name) == content ?? self.content
    }

    @Test("an interrupted download resumes, twice, and leaves no partial file", arguments: Transport.allCases)
    func resumes(transport: Transport) async throws {
        let server = RangeServer(content)
        server.set { $0.cuts = [100_000, 50_000] }
        let served = server.executor
        try folder.write("old".utf8, to: "f")
        try await transport.run(serving: served) { api, executor in
            for _ in 0..<2 {
                let error = try #require(await failure(api, executor))
                #expect(error.reason == .connectionLost && error.status?.isSuccess == true, "\(error)")
                #expect(folder.read("f") == Data("old".utf8))
            }
            let kept = try #require(folder.read("f.partial")).count
            #expect(kept == 150_000)
            let client = Client(api, executor: executor.resumingDownloads())
            let response = try await client.response(
                for: api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: "/f"))
            #expect(response.value.path(percentEncoded: false) == folder.path(of: "f"))
            #expect(response.status == 200 && response.header[.contentLength] == "300000")
            #expect(response.header[.contentRange] == nil && response.header[.etag] == "\"v1\"")
            #expect(isWhole() && folder.names == ["f"])
        }
        let sent = served.recordedRequests.map { [$0.header[.range], $0.header[.ifRange]] }
        #expect(sent == [[nil, nil], ["bytes=100000-", "\"v1\""], ["bytes=150000-", "\"v1\""]])
        #expect(served.recordedRequests.allSatisfy { $0.header[.acceptEncoding] == "identity" })
    }

    @Test("a representation that has changed is downloaded again", arguments: Transport.allCases)
    func changed(transport: Transport) async throws {
        let server = RangeServer(content)
        server.set { $0.cuts = [100_000] }
        let new = Data(pattern(200_000).reversed())
        try await transport.run(serving: server.executor) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            server.set {
                $0.content = new
                $0.header = [Field(name: .etag, value: "\"v2\"")]
            }
            _ = try await download(api, executor)
            #expect(isWhole("f", new) && folder.names == ["f"])
        }
    }

    @Test("a date is the validator without an entity tag; without both, partial bytes are not kept")
    func dates() async throws {
        let modified = Field(name: .lastModified, value: "Sun, 06 Nov 1994 08:49:37 GMT")
        let server = RangeServer(
            content, header: [modified, Field(name: .date, value: "Sun, 06 Nov 1994 08:49:38 GMT")])
        let served = server.executor
        server.set { $0.cuts = [10] }
        try await Transport.memory.run(serving: served) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            _ = try await download(api, executor)
            #expect(isWhole())
            server.set {
                $0.cuts = [10]
                $0.header = [Field(name: .etag, value: "W/\"v1\"")]
            }
            #expect(await failure(api, executor)?.reason == .connectionLost)
            #expect(folder.names == ["f"])
            _ = try await download(api, executor)
        }
        #expect(served.recordedRequests.map { $0.header[.ifRange] } == [nil, modified.value, nil, nil])
    }

    @Test(
        "a response that does not match the partial bytes restarts the download",
        arguments: [
            { $0.header.set(Field(name: .contentRange, value: "bytes 9-299999/300000")) },
            { $0.header.remove(.contentRange) },
            { $0.header.set(Field(name: .etag, value: "\"v2\"")) },
            { $0.header.set(Field(name: .contentType, value: "multipart/byteranges; boundary=x")) },
            { response in
                response.status = 416
                response.header.remove(.contentRange)
            },
        ] as [@Sendable (inout MockResponse) -> Void])
    func mismatches(change: @escaping @Sendable (inout MockResponse) -> Void) async throws {
        let server = RangeServer(content)
        let served = server.executor
        server.set { $0.cuts = [100_000] }
        try await Transport.memory.run(serving: served) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            server.set { $0.change = { if $0.status == 206 { change(&$0) } } }
            _ = try await download(api, executor)
        }
        #expect(isWhole() && folder.names == ["f"])
        #expect(served.recordedRequests.map { $0.header[.range] } == [nil, "bytes=100000-", nil])
    }

    @Test("the metrics have the reason why a download started over, and none if it continued or had no partial file")
    func restarts() async throws {
        let server = RangeServer(content)
        try await Transport.memory.run(serving: server.executor) { api, executor in
            func reason(from path: RequestPath = "/f") async throws -> String? {
                let client = Client(api, executor: executor.resumingDownloads())
                let request = api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: path)
                return try await client.response(for: request).metrics.restartReason
            }
            func cut() async throws {
                server.set {
                    $0.cuts = [100_000]
                    $0.change = nil
                }
                #expect(await failure(api, executor)?.reason == .connectionLost)
            }
            #expect(try await reason() == nil)
            try await cut()
            #expect(try await reason() == nil)
            try await cut()
            server.set { $0.header = [Field(name: .etag, value: "\"v2\"")] }
            #expect(try await reason()?.contains("whole representation") == true)
            try await cut()
            #expect(try await reason(from: "/other")?.contains("no resume point") == true)
            for (status, part) in [(HTTPStatus(206), "does not continue"), (416, "(416)")] {
                try await cut()
                server.set {
                    $0.change = {
                        guard $0.status == 206 else { return }
                        $0.status = status
                        $0.header.remove(.contentRange)
                    }
                }
                #expect(try await reason()?.contains(part) == true)
            }
        }
    }

    @Test(
        "a part with a last position that is too large restarts the download", .rows("R-75"),
        arguments: Transport.allCases)
    func extremes(transport: Transport) async throws {
        for last in ["9223372036854775807", "9223372036854775808", "18446744073709551616"] {
            let server = RangeServer(content)
            server.set { $0.cuts = [100_000] }
            try await transport.run(serving: server.executor) { api, executor in
                #expect(await failure(api, executor)?.reason == .connectionLost)
                server.set {
                    $0.change = { response in
                        guard response.status == 206 else { return }
                        response.header.set(Field(name: .contentRange, value: "bytes 100000-\(last)/*"))
                    }
                }
                _ = try await download(api, executor)
            }
            #expect(isWhole() && folder.names == ["f"], "\(last)")
        }
    }

    @Test("progress has no total if the total is too large", .rows("R-75"))
    func uncountedProgress() async throws {
        let executor = MockExecutor { request in
            var response = MockResponse(header: [Field(name: .etag, value: "\"v1\"")])
            response.body = [.bytes(Data(repeating: 1, count: 10)), .failure(RequestError(.connectionLost))]
            guard request.header.contains(.range) else { return response }
            response.status = 206
            response.header.add(Field(name: .contentRange, value: "bytes 10-19/*"))
            response.header.add(Field(name: .contentLength, value: "9223372036854775807"))
            return response
        }
        let reports = Lock<[TransferProgress]>([])
        let api = AnonymousRequestProvider("http://e.com")
        for _ in 0..<2 {
            let request = api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: "/f")
                .onProgress { progress in reports.withLock { $0.append(progress) } }
            await #expect(throws: RequestError.self) { try await executor.resumingDownloads().perform(request) }
        }
        let last = try #require(reports.withLock { $0.last })
        #expect(last.bytesReceived >= 10 && last.bytesExpectedToReceive == nil)
    }

    @Test("requests are repeated while the server returns parts of the range", arguments: Transport.allCases)
    func parts(transport: Transport) async throws {
        let server = RangeServer(content)
        let served = server.executor
        server.set {
            $0.cuts = [100_000]
            $0.partLimit = 90_000
        }
        try await transport.run(serving: served) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            _ = try await download(api, executor)
        }
        #expect(isWhole())
        #expect(
            served.recordedRequests.compactMap { $0.header[.range] } == [
                "bytes=100000-", "bytes=190000-", "bytes=280000-",
            ])
    }

    @Test("416 to a complete partial file creates the file", arguments: Transport.allCases)
    func complete(transport: Transport) async throws {
        let server = RangeServer(content)
        let served = server.executor
        server.set { $0.cuts = [299_999] }
        try await transport.run(serving: served) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            // The state after a program ended between the last byte and the renaming.
            try folder.write(try #require(folder.read("f.partial")) + content.suffix(1), to: "f.partial")
            let client = Client(api, executor: executor.resumingDownloads())
            let response = try await client.response(
                for: api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: "/f"))
            #expect(response.status == 200 && response.header[.contentLength] == "300000")
            #expect(served.recordedRequests.last?.header[.range] == "bytes=300000-")
        }
        #expect(isWhole() && folder.names == ["f"])
    }

    @Test("an unsolicited part, and a part longer or shorter than declared, are errors")
    func violations() async throws {
        let server = RangeServer(content)
        server.set {
            $0.change = {
                $0.status = 206
                $0.header.set(Field(name: .contentRange, value: "bytes 0-9/300000"))
            }
        }
        try await Transport.memory.run(serving: server.executor) { api, executor in
            #expect(await failure(api, executor)?.reason == .protocolViolation)
            #expect(folder.names.isEmpty)
            server.set {
                $0.change = nil
                $0.cuts = [100_000]
            }
            #expect(await failure(api, executor)?.reason == .connectionLost)
            server.set {
                $0.change = { $0.header.set(Field(name: .contentRange, value: "bytes 100000-100009/300000")) }
            }
            #expect(await failure(api, executor)?.reason == .protocolViolation)
            #expect(folder.read("f.partial")?.count == 100_000)
            server.set {
                $0.change = {
                    $0.body = [.bytes(Data(repeating: 0, count: 9))]
                }
            }
            #expect(await failure(api, executor)?.reason == .connectionLost)
        }
    }

    @Test("an error status is delivered with its body, and the partial file is kept", arguments: Transport.allCases)
    func errors(transport: Transport) async throws {
        let server = RangeServer(content)
        server.set { $0.cuts = [100_000] }
        try await transport.run(serving: server.executor) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            server.set { $0.change = { $0 = .status(503, "later") } }
            let error = await failure(api, executor)
            #expect(error?.reason == .unacceptableStatus && error?.body == Data("later".utf8))
            #expect(folder.names == ["f.partial", "f.partial.json"])
            server.set { $0.change = { $0 = .status(404, String(repeating: "x", count: 3 << 20)) } }
            #expect(await failure(api, executor)?.body?.count == ResponseBody.Delivery.errorBodyLimit)
            server.set { $0.change = nil }
            _ = try await download(api, executor)
        }
        #expect(isWhole())
    }

    @Test("a download resumes after a redirect, but not from another target", arguments: Transport.allCases)
    func targets(transport: Transport) async throws {
        let server = RangeServer(content)
        let inner = server.executor
        let served = MockExecutor { request in
            if request.target.path == "/moved" { return .redirect(to: "/f") }
            return try await inner.response(to: request)
        }
        server.set { $0.cuts = [100_000, 50_000] }
        try await transport.run(serving: served) { api, executor in
            #expect(await failure(api, executor, from: "/moved")?.reason == .connectionLost)
            #expect(await failure(api, executor, from: "/moved")?.reason == .connectionLost)
            #expect(folder.read("f.partial")?.count == 150_000)
            _ = try await download(api, executor, from: "/other")
        }
        #expect(isWhole())
        #expect(
            served.recordedRequests.map { "\($0.target.path) \($0.header[.range] ?? "-")" } == [
                "/moved -", "/f -", "/moved -", "/f bytes=100000-", "/other -",
            ])
    }

    @Test("other requests are sent unchanged")
    func others() async throws {
        let executor = MockExecutor(.ok("hello"))
        let resuming = executor.resumingDownloads()
        let api = AnonymousRequestProvider("http://e.com")
        #expect(try await resuming.perform(api.get(.text, from: "/")) == "hello")
        let file = folder.path(of: "f")
        _ = try await resuming.perform(api.post(.none, to: "/", receiving: .download(to: URL(filePath: file))))
        _ = try await resuming.perform(
            api.get(.download(to: URL(filePath: file)), from: "/").adding(headerField: .range(.from(0))))
        #expect(
            executor.recordedRequests.allSatisfy { !$0.header.contains(.acceptEncoding) && $0.header[.ifRange] == nil })
        #expect(isWhole("f", Data("hello".utf8)) && folder.names == ["f"])
    }

    @Test("a second concurrent download to one path is an error, and the first continues")
    func twice() async throws {
        let (started, startedContinuation) = AsyncStream.makeStream(of: Void.self)
        let (released, releasedContinuation) = AsyncStream.makeStream(of: Void.self)
        let content = content
        let executor = MockExecutor { request in
            var response = MockResponse(header: [Field(name: .etag, value: "\"v1\"")])
            response.header.add(Field(name: .contentLength, value: "300000"))
            response.body = [.bytes(content.prefix(10)), .pause(.endless)]
            if request.header.contains(.range) {
                startedContinuation.yield()
                for await _ in released { break }
                response.status = 206
                response.header.add(Field(name: .contentRange, value: "bytes 10-299999/300000"))
                response.header.set(Field(name: .contentLength, value: "299990"))
                response.body = [.bytes(content.dropFirst(10))]
            }
            return response
        }
        let api = AnonymousRequestProvider("http://e.com")
        let task = Task { await failure(api, executor) }
        while folder.read("f.partial")?.count != 10 {
            try Task.checkCancellation()
            await Task.yield()
        }
        task.cancel()
        #expect(await task.value?.reason == .cancelled)
        #expect(folder.read("f.partial")?.count == 10)

        async let first = download(api, executor)
        for await _ in started { break }
        let error = await failure(api, executor)
        #expect(error?.reason == .fileAccessFailed, "\(String(describing: error))")
        releasedContinuation.yield()
        _ = try await first
        #expect(isWhole() && folder.names == ["f"])
    }

    @Test("progress includes the bytes of the partial file")
    func progress() async throws {
        let server = RangeServer(content)
        server.set { $0.cuts = [100_000] }
        let reports = Lock<[TransferProgress]>([])
        try await Transport.memory.run(serving: server.executor) { api, executor in
            #expect(await failure(api, executor)?.reason == .connectionLost)
            let request = api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: "/f")
                .onProgress { progress in reports.withLock { $0.append(progress) } }
            _ = try await executor.resumingDownloads().perform(request)
        }
        let last = try #require(reports.withLock { $0.last })
        #expect(last.bytesReceived == 300_000 && last.bytesExpectedToReceive == 300_000)
    }

    @Test("an invalid or unusable path is an error")
    func impossiblePlaces() async throws {
        let executor = MockExecutor(.ok("x"))
        let api = AnonymousRequestProvider("http://e.com")
        func reason(_ path: String) async -> RequestError.Reason? {
            await #expect(throws: RequestError.self) {
                try await executor.resumingDownloads().perform(api.get(.download(to: URL(filePath: path)), from: "/"))
            }?.reason
        }
        for path in ["", "a\0b"] { #expect(await reason(path) == .fileAccessFailed) }
        try folder.write("x".utf8, to: "file")
        try FileManager.default.createDirectory(atPath: folder.path(of: "g.partial"), withIntermediateDirectories: true)
        for path in [folder.path(of: "file/f"), folder.path(of: "missing/f"), folder.path(of: "g")] {
            #expect(await reason(path) == .fileAccessFailed, "\(path)")
        }
    }
}
