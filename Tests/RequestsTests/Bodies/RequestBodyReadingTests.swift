import Requests
import Synchronization
import TestCorpora
import TestSupport
import Testing

@Suite("Reading request bodies", .timeLimit(.minutes(10)))
struct RequestBodyReadingTests {
    @Test("a file or a byte range of it is read in chunks of at most 256 KiB", .rows("PM-51"))
    func chunks() async throws {
        try await withFile(of: 1_000_000) { url, content in
            let body = RequestBody.file(path: url.path)
            #expect(try body.measuredLength() == 1_000_000)
            var whole = Data()
            var largest = 0
            var source = try body.makeSource()
            while let chunk = try await source.next() {
                largest = max(largest, chunk.count)
                whole.append(chunk)
            }
            let isWhole = whole == content
            #expect(isWhole)
            #expect(largest <= 256 << 10)
            let range = try await RequestBody.file(path: url.path, range: 10..<300_000).collected()
            let isRange = range.bytes == content[10..<300_000]
            #expect(isRange)
            #expect(try await RequestBody.file(path: url.path, range: 5..<5).collected().bytes == Data())
        }
    }

    @Test("a relative path and a symbolic link are read like the file they name")
    func links() async throws {
        try await withFile(of: 10) { url, content in
            let link = url.appendingPathExtension("link").path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: url.lastPathComponent)
            defer { try? FileManager.default.removeItem(atPath: link) }
            #expect(try await RequestBody.file(path: link).collected().bytes == content)
        }
        #expect(try await RequestBody.file(path: "Package.swift").collected().bytes?.isEmpty == false)
    }

    @Test(
        "a file that is not readable or too short is a typed error before anything is sent", .rows("AF-32", "T-47"),
        arguments: [
            RequestBody.file(path: "/no/such/file"), .file(path: "/tmp"), .file(path: ""), .file(path: "/tmp/a\u{0}b"),
            .file(path: "/dev/null"), .file(path: #filePath, range: 0..<1_000_000_000),
            .file(path: #filePath, range: -1..<2),
        ])
    func unreadable(body: RequestBody) async throws {
        expectUnreadable { try body.measuredLength() }
        let error = await #expect(throws: RequestError.self) { try await body.collected() }
        #expect(error?.reason == .fileAccessFailed)
        let part = MultipartForm.Part.body(body, name: "f")
        expectUnreadable {
            try AnonymousRequestProvider.example.post(.multipart([part]), to: "/x").prepared()
        }
    }

    @Test("a file that shrinks while it is sent ends the body with an error")
    func shrinking() async throws {
        try await withFile(of: 600_000) { url, _ in
            var source = try RequestBody.file(path: url.path).makeSource()
            _ = try await source.next()
            try Data().write(to: url)
            let error = await #expect(throws: RequestError.self) {
                while try await source.next() != nil {}
            }
            #expect(error?.reason == .bodyEncodingFailed)
        }
    }

    @Test("bodies are collected up to a limit and must have their declared length")
    func collected() async throws {
        #expect(try await RequestBody.none.collected().isNone)
        let long = RequestBody.chunks(["abc", "def"])
        #expect(try await long.collected(limit: 6).text == "abcdef")
        let error = await #expect(throws: RequestError.self) { try await long.collected(limit: 5) }
        #expect(error?.underlying as? BodyProvider.BodyError == .notInMemory)
        let wrong = await #expect(throws: RequestError.self) {
            try await RequestBody.chunks(["abc"], length: 4).collected()
        }
        #expect(wrong?.underlying as? BodyProvider.BodyError == .wrongLength(expected: 4, found: 3))
    }

    @Test("writing a body to a file replaces the file with the bytes that would be sent", .rows("T-48", "AF-40"))
    func writing() async throws {
        try await withFile(of: 600_000) { url, content in
            let target = url.appendingPathExtension("copy")
            defer { try? FileManager.default.removeItem(at: target) }
            for body in [RequestBody.file(path: url.path), .bytes(content), .chunks(["abc", "", "def"]), .none] {
                try await body.write(to: target)
                let expected = try await body.collected().bytes ?? Data()
                let isSame = try Data(contentsOf: target) == expected
                #expect(isSame)
            }
            let neighbours = try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path)
            #expect(!neighbours.contains { $0.contains(".part-") })
        }
    }

    @Test(
        "a body that fails keeps the existing file, and a path that is not writable is an error", .rows("T-48", "AF-40")
    )
    func failedWriting() async throws {
        struct Odd: Error {}
        let body = RequestBody.stream { AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Odd()) } }
        try await withFile(of: 3) { url, content in
            let error = await #expect(throws: RequestError.self) { try await body.write(to: url) }
            #expect(error?.underlying is Odd)
            let kept = try Data(contentsOf: url)
            #expect(kept == content)
            let nowhere = await #expect(throws: RequestError.self) {
                try await RequestBody.bytes(content).write(to: URL(filePath: "/no/such/folder/file"))
            }
            #expect(nowhere?.reason == .fileAccessFailed)
            let remote = await #expect(throws: RequestError.self) {
                try await RequestBody.bytes(content).write(to: URL("http://e.com/a"))
            }
            #expect(remote?.underlying as? BodyProvider.BodyError == .notAFileURL(scheme: "http"))
        }
    }

    @Test("a throttled body is sent in packets with a pause between them", .rows("AF-35"))
    func throttling() async throws {
        let clock = CountingClock()
        let body = try RequestBody.bytes(Data(repeating: 7, count: 40)).throttled(packetSize: 16, clock: clock)
        #expect(body.knownLength == 40 && body.isReplayable)
        var source = try body.makeSource()
        var sizes: [Int] = []
        while let packet = try await source.next() { sizes.append(packet.count) }
        #expect(sizes == [16, 16, 8])
        #expect(clock.pauses == [.milliseconds(200), .milliseconds(200)])
        let provider = BodyProvider.text("abc").throttled(packetSize: 0, delay: .seconds(1), clock: clock)
        let request = try AnonymousRequestProvider.example.post(provider, to: "/x").prepared()
        #expect(try await request.body.collected().text == "abc")
        #expect(clock.pauses.count == 4)
        var slow = try RequestBody.bytes(Data(count: 20_000)).throttled(clock: clock).makeSource()
        let first = try await slow.next()
        #expect(first?.count == 16 << 10)
        #expect(try RequestBody.none.throttled().isNone)
    }
}

extension RequestBody {
    /// A stream of `chunks`.
    static func chunks(_ chunks: [String], length: Int? = nil) -> RequestBody {
        .stream(length: length) {
            AsyncStream<Data> { continuation in
                for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
                continuation.finish()
            }
        }
    }
}

/// Runs `body` with a temporary file of `size` pseudorandom bytes.
func withFile(of size: Int, _ body: (URL, Data) async throws -> Void) async throws {
    let folder = TemporaryDirectory()
    var generator = SplitMix64(state: UInt64(size))
    let content = Data((0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
    try folder.write(content, to: "file.bin")
    try await body(URL(filePath: folder.path(of: "file.bin")), content)
}

/// A clock that never waits and records the requested durations.
final class CountingClock: Clock {
    private let durations = Mutex<[Duration]>([])
    var pauses: [Duration] { durations.withLock { $0 } }
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let pause = deadline - .now
        durations.withLock { $0.append(.milliseconds(Int64((pause / .milliseconds(1)).rounded(.up)))) }
    }
}
