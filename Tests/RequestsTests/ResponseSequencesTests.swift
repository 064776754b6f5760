import Requests
import Synchronization
import TestSupport
import Testing

/// A source of stored chunks, which then ends or fails.
private final class StoredChunks: ResponseBody.Source {
    private let remaining: Mutex<[Data]>
    private let error: RequestError?

    init(_ chunks: [Data], error: RequestError? = nil) {
        remaining = Mutex(chunks)
        self.error = error
    }

    func next() async throws(RequestError) -> Data? {
        if let chunk = remaining.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return chunk }
        if let error { throw error }
        return nil
    }

    var trailers: Header { [Field(name: "X", value: "trailer")] }
}

extension ResponseStream {
    fileprivate convenience init(_ chunks: [Data], error: RequestError? = nil) {
        self.init(StoredChunks(chunks, error: error))
    }
}

extension Data {
    /// All splits of these bytes into two non-empty chunks, the whole, and chunks of one byte.
    fileprivate var splits: [[Data]] {
        indices.dropFirst().map { [self[..<$0], Data(self[$0...])] } + [[self], map { Data([$0]) }]
    }
}

@Suite("Response sequences", .tags(.concurrent))
struct ResponseSequencesTests {
    private func lines(_ chunks: [Data], limit: Int = 100) async throws -> [String] {
        var lines: [String] = []
        for try await line in ResponseStream.Lines(ResponseStream(chunks), limit: limit) { lines.append(line) }
        return lines
    }

    @Test(
        "lines do not depend on where the chunks are split",
        arguments: [
            ("a\nbc\r\n\r\nd", ["a", "bc", "", "d"]), ("", []), ("\n", [""]), ("\r\n\n", ["", ""]), ("a\n", ["a"]),
            ("a\rb\r", ["a\rb"]), ("é👍\nx", ["é👍", "x"]), ("\u{FEFF}a\n\u{0}", ["\u{FEFF}a", "\u{0}"]),
        ])
    func splitEverywhere(text: String, expected: [String]) async throws {
        for chunks in Data(text.utf8).splits where !text.isEmpty {
            #expect(try await lines(chunks) == expected)
        }
        #expect(try await lines(text.isEmpty ? [] : [Data(text.utf8)]) == expected)
    }

    @Test("invalid UTF-8 is replaced in its own line only")
    func repaired() async throws {
        #expect(try await lines([Data([0x61, 0xFF, 0x0A, 0x62])]) == ["a\u{FFFD}", "b"])
    }

    @Test("a line may be as long as the limit, and a longer line is an error that repeats")
    func limit() async throws {
        #expect(try await lines([Data("1234\n12345".utf8)], limit: 5) == ["1234", "12345"])
        for chunks in Data("ok\n123456\nmore\n".utf8).splits {
            var iterator = ResponseStream.Lines(ResponseStream(chunks), limit: 5).makeAsyncIterator()
            #expect(try await iterator.next() == "ok")
            for _ in 1...3 {
                let error = await #expect(throws: RequestError.self) { try await iterator.next() }
                #expect(error?.reason == .tooLarge(limit: 5))
            }
        }
    }

    @Test("a truncated body gives its complete lines and then the error, without a partial line", .rows("R-20"))
    func cutShort() async throws {
        let stream = ResponseStream([Data("a\nhal".utf8)], error: RequestError(.connectionLost))
        var iterator = ResponseStream.Lines(stream).makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        for _ in 1...2 {
            let error = await #expect(throws: RequestError.self) { try await iterator.next() }
            #expect(error?.reason == .connectionLost)
        }
    }

    @Test("a sequence that has ended keeps returning nil")
    func end() async throws {
        var iterator = ResponseStream.Lines(ResponseStream(Data("a".utf8))).makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        for _ in 1...2 { #expect(try await iterator.next() == nil) }
    }

    @Test("a body is read chunk by chunk, and a second iterator continues where the first stopped")
    func bytes() async throws {
        let bytes = ResponseStream.Chunks(ResponseStream([Data("a".utf8), Data("b".utf8), Data("c".utf8)]))
        var first = bytes.makeAsyncIterator()
        #expect(try await first.next() == Data("a".utf8))
        var remaining: [Data] = []
        for try await chunk in bytes { remaining.append(chunk) }
        #expect(remaining == [Data("b".utf8), Data("c".utf8)])
        #expect(bytes.trailers == [Field(name: "X", value: "trailer")])
    }

    @Test("collecting stops at the limit, for the declared and the received length", .rows("R-25"))
    func collect() async throws {
        let chunks = [Data("abc".utf8), Data("de".utf8)]
        #expect(try await ResponseStream(chunks).collect(limit: 5) == Data("abcde".utf8))
        for limit in [0, 2, 3, 4] {
            let error = await #expect(throws: RequestError.self) {
                try await ResponseStream(chunks).collect(limit: limit)
            }
            #expect(error?.reason == .tooLarge(limit: limit))
        }
        let declared = ResponseStream(length: 6, StoredChunks([], error: RequestError(.other)))
        let error = await #expect(throws: RequestError.self) { try await declared.collect(limit: 5) }
        #expect(error?.reason == .tooLarge(limit: 5))
        let cut = ResponseStream(chunks, error: RequestError(.connectionLost))
        let lost = await #expect(throws: RequestError.self) { try await cut.collect() }
        #expect(lost?.reason == .connectionLost)
    }

    @Test("streaming decoders return their sequence when the request is performed")
    func decoders() async throws {
        let executor = StubExecutor { request in
            #expect(request.delivery == .streamed)
            let stream = ResponseStream([Data("a\nb".utf8), Data("c\n".utf8)])
            return RawResponse(head: ResponseHead(status: 200, target: request.target), body: .stream(stream))
        }
        var lines: [String] = []
        for try await line in try await executor.perform(AnonymousRequestProvider.example.get(.lines, from: "/x")) {
            lines.append(line)
        }
        #expect(lines == ["a", "bc"])
        let bytes = try await executor.perform(AnonymousRequestProvider.example.get(.chunks, from: "/x"))
        var count = 0
        for try await chunk in bytes { count += chunk.count }
        #expect(count == 5)
    }
}

@Suite("Progress")
struct ProgressReporterTests {
    @Test("the first and the last progress are reported, and others every 64 KiB", .rows("HT-6"))
    func reports() {
        let seen = Mutex<[Int]>([])
        var reporter = ProgressReporter { progress in seen.withLock { $0.append(progress.bytesReceived) } }
        for _ in 0..<4_096 {
            reporter.progress.bytesReceived += 64
            reporter.report()
        }
        reporter.report(atEnd: true)
        let reports = seen.withLock { $0 }
        #expect(reports.first == 64)
        #expect(reports.last == 4_096 * 64)
        #expect(reports == reports.sorted())
        for step in 1...3 { #expect(reports.contains { $0 >= step << 16 && $0 < (step + 1) << 16 }, "\(reports)") }
    }

    @Test("without a handler nothing is reported", .rows("HT-6"))
    func silent() {
        var reporter = ProgressReporter(nil)
        reporter.progress.bytesSent = .max
        reporter.progress.bytesReceived = .max
        reporter.report()
        reporter.report(atEnd: true)
    }
}
