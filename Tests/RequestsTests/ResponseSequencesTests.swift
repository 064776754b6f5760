import Requests
import Synchronization
import Testing

/// Gives chunks that are at hand, then ends or fails.
private final class Chunks: ResponseBodySource {
    private let rest: Mutex<[Data]>
    private let error: RequestError?

    init(_ chunks: [Data], error: RequestError? = nil) {
        rest = Mutex(chunks)
        self.error = error
    }

    func next() async throws(RequestError) -> Data? {
        if let chunk = rest.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return chunk }
        if let error { throw error }
        return nil
    }

    var trailers: Header { [Field(name: "X", value: "trailer")] }
}

extension ResponseStream {
    fileprivate convenience init(_ chunks: [Data], error: RequestError? = nil) {
        self.init(Chunks(chunks, error: error))
    }
}

extension Data {
    /// These bytes in two pieces, none of them empty, and as chunks of one byte.
    fileprivate var splits: [[Data]] {
        indices.dropFirst().map { [self[..<$0], Data(self[$0...])] } + [[self], map { Data([$0]) }]
    }
}

@Suite("Response sequences")
struct ResponseSequencesTests {
    private func lines(_ chunks: [Data], limit: Int = 100) async throws -> [String] {
        var lines: [String] = []
        for try await line in ResponseLines(ResponseStream(chunks), limit: limit) { lines.append(line) }
        return lines
    }

    @Test(
        "lines are the same wherever the chunks are cut",
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

    @Test("ill-formed UTF-8 is repaired, in its own line only")
    func repaired() async throws {
        #expect(try await lines([Data([0x61, 0xFF, 0x0A, 0x62])]) == ["a\u{FFFD}", "b"])
    }

    @Test("a line of the limit is a line, a longer one an error that stays")
    func limit() async throws {
        #expect(try await lines([Data("1234\n12345".utf8)], limit: 5) == ["1234", "12345"])
        for chunks in Data("ok\n123456\nmore\n".utf8).splits {
            var iterator = ResponseLines(ResponseStream(chunks), limit: 5).makeAsyncIterator()
            #expect(try await iterator.next() == "ok")
            for _ in 1...3 {
                let error = await #expect(throws: RequestError.self) { try await iterator.next() }
                #expect(error?.reason == .tooLarge(limit: 5))
            }
        }
    }

    @Test("a body cut short gives its whole lines, then the error, never the rest as a line (R-20)")
    func cutShort() async throws {
        let stream = ResponseStream([Data("a\nhal".utf8)], error: RequestError(.connectionLost))
        var iterator = ResponseLines(stream).makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        for _ in 1...2 {
            let error = await #expect(throws: RequestError.self) { try await iterator.next() }
            #expect(error?.reason == .connectionLost)
        }
    }

    @Test("the end stays the end")
    func end() async throws {
        var iterator = ResponseLines(ResponseStream(Data("a".utf8))).makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        for _ in 1...2 { #expect(try await iterator.next() == nil) }
    }

    @Test("bytes come chunk by chunk; a second iterator goes on where the first stopped")
    func bytes() async throws {
        let bytes = ResponseBytes(ResponseStream([Data("a".utf8), Data("b".utf8), Data("c".utf8)]))
        var first = bytes.makeAsyncIterator()
        #expect(try await first.next() == Data("a".utf8))
        var rest: [Data] = []
        for try await chunk in bytes { rest.append(chunk) }
        #expect(rest == [Data("b".utf8), Data("c".utf8)])
        #expect(bytes.trailers == [Field(name: "X", value: "trailer")])
    }

    @Test("collecting stops at the limit, by what is declared and by what comes (R-25)")
    func collect() async throws {
        let chunks = [Data("abc".utf8), Data("de".utf8)]
        #expect(try await ResponseStream(chunks).collect(limit: 5) == Data("abcde".utf8))
        for limit in [0, 2, 3, 4] {
            let error = await #expect(throws: RequestError.self) {
                try await ResponseStream(chunks).collect(limit: limit)
            }
            #expect(error?.reason == .tooLarge(limit: limit))
        }
        let declared = ResponseStream(length: 6, Chunks([], error: RequestError(.other)))
        let error = await #expect(throws: RequestError.self) { try await declared.collect(limit: 5) }
        #expect(error?.reason == .tooLarge(limit: 5))
        let cut = ResponseStream(chunks, error: RequestError(.connectionLost))
        let lost = await #expect(throws: RequestError.self) { try await cut.collect() }
        #expect(lost?.reason == .connectionLost)
    }

    @Test("streamed decoders give the sequence through the pipeline")
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
        let bytes = try await executor.perform(AnonymousRequestProvider.example.get(.bytes, from: "/x"))
        var count = 0
        for try await chunk in bytes { count += chunk.count }
        #expect(count == 5)
    }
}

@Suite("Progress")
struct ProgressReporterTests {
    @Test("the first report and the last are told, those between by bytes (HT-6)")
    func reports() {
        let seen = Mutex<[Int]>([])
        var reporter = ProgressReporter { progress in seen.withLock { $0.append(progress.received) } }
        for _ in 0..<4_096 {
            reporter.progress.received += 64
            reporter.report()
        }
        reporter.report(atEnd: true)
        let told = seen.withLock { $0 }
        #expect(told.first == 64)
        #expect(told.last == 4_096 * 64)
        #expect(told == told.sorted())
        for step in 1...3 { #expect(told.contains { $0 >= step << 16 && $0 < (step + 1) << 16 }, "\(told)") }
    }

    @Test("nobody listens, nothing happens (HT-6)")
    func silent() {
        var reporter = ProgressReporter(nil)
        reporter.progress.sent = .max
        reporter.progress.received = .max
        reporter.report()
        reporter.report(atEnd: true)
    }
}
