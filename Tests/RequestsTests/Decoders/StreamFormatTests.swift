import Requests
import Synchronization
import Testing

private let api = AnonymousRequestProvider.example

/// A source of stored chunks, followed by an error if there is one.
final class ChunkSource: ResponseBody.Source {
    private let state: Mutex<(chunks: ArraySlice<Data>, error: RequestError?)>
    let trailers = Header.empty

    init(_ chunks: [String], error: RequestError? = nil) {
        state = Mutex((chunks.map { Data($0.utf8) }[...], error))
    }

    func next() async throws(RequestError) -> Data? {
        let (chunk, error) = state.withLock { ($0.chunks.popFirst(), $0.error) }
        if chunk == nil, let error { throw error }
        return chunk
    }
}

extension RawResponse {
    static func stream(_ chunks: [String], type: String, error: RequestError? = nil, to request: PreparedRequest)
        -> RawResponse
    {
        RawResponse(
            head: ResponseHead(status: 200, header: [Field(name: "Content-Type", value: type)], target: request.target),
            body: .stream(ResponseStream(ChunkSource(chunks, error: error))))
    }
}

@Suite("Streams of values and events")
struct StreamFormatTests {
    static func events(_ pieces: [String]) throws -> [ServerSentEvent] {
        var parser = ServerSentEvent.Parser()
        return try pieces.flatMap { try parser.read($0.utf8) }
    }

    @Test("event streams are parsed as in the examples of WHATWG HTML §9.2.6")
    func whatwg() throws {
        #expect(
            try Self.events(["data: YHOO\ndata: +2\ndata: 10\n\n"]) == [ServerSentEvent(data: "YHOO\n+2\n10")])
        #expect(
            try Self.events([
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
            ])
                == [
                    ServerSentEvent(data: "first event", lastEventID: "1"), ServerSentEvent(data: "second event"),
                    ServerSentEvent(data: " third event"),
                ])
        #expect(
            try Self.events(["data\n\ndata\ndata\n\ndata:"])
                == [ServerSentEvent(data: ""), ServerSentEvent(data: "\n")])
        #expect(try Self.events(["data:test\n\ndata: test\n\n"]).map(\.data) == ["test", "test"])
    }

    @Test("events do not depend on the line ends or on where the stream is split")
    func cuts() throws {
        let lines = ["\u{FEFF}event: a", "data: é😀", "id: 7", "", ":c", "retry: 15", "data: x", "", "data: lost"]
        for end in ["\n", "\r", "\r\n"] {
            let bytes = Array(lines.joined(separator: end).utf8)
            for cut in 0...bytes.count {
                var parser = ServerSentEvent.Parser()
                let events = try parser.read(bytes[..<cut]) + parser.read(bytes[cut...])
                #expect(
                    events == [
                        ServerSentEvent(type: "a", data: "é😀", lastEventID: "7"),
                        ServerSentEvent(data: "x", lastEventID: "7"),
                    ])
                #expect(parser.reconnectionTime == .milliseconds(15) && parser.lastEventID == "7")
            }
        }
    }

    @Test("unknown fields, an id with NUL, an invalid retry and a late byte order mark are ignored")
    func oddFields() throws {
        var parser = ServerSentEvent.Parser(lastEventID: "0")
        #expect(try parser.read("foo: 1\nid: a\0b\nretry: 1x\nretry:\nevent: e\n\n".utf8).isEmpty)
        #expect(parser.lastEventID == "0" && parser.reconnectionTime == nil)
        #expect(try parser.read("id: 9\n\n".utf8).isEmpty && parser.lastEventID == "9")
        #expect(try parser.read("\u{FEFF}data: x\ndata: y\n\n".utf8).map(\.data) == ["y"])
        #expect(try parser.read("retry: 99999999999999999999\n".utf8).isEmpty && parser.reconnectionTime != nil)
        var small = ServerSentEvent.Parser(limit: 8)
        let error = #expect(throws: RequestError.self) { try small.read("data: 123456".utf8) }
        #expect(error?.reason == .tooLarge(limit: 8))
    }

    @Test("events are a typed sequence whose error repeats")
    func eventStream() async throws {
        let executor = StubExecutor { request in
            .stream(
                ["id: 1\ndata: a\n", "\ndata: b\n\n"], type: "text/event-stream", error: RequestError(.connectionLost),
                to: request)
        }
        let request = api.get(.events, from: "/feed")
        #expect(try request.prepared().header[.accept] == "text/event-stream")
        let events = try await executor.perform(request)
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        #expect(try await iterator.next() == ServerSentEvent(data: "b", lastEventID: "1"))
        for _ in 0..<2 {
            await #expect(throws: RequestError.self) { try await iterator.next() }
        }
        #expect(events.lastEventID == "1")
        let wrong = await #expect(throws: RequestError.self) {
            try await FormatTests.stub("x", type: "text/html").perform(request)
        }
        #expect(wrong?.reason == .unexpectedContentType)
    }

    @Test("each line is a JSON text, an invalid line is an error with its number, and the next line is read")
    func ndjson() async throws {
        let executor = StubExecutor { request in
            .stream(["{\"a\":1}\r", "\n\n{\"a\"", ":2}\nnope\n{\"a\":3}"], type: "application/x-ndjson", to: request)
        }
        let values = try await executor.perform(api.get(.ndjson([String: Int].self), from: "/x"))
        var iterator = values.makeAsyncIterator()
        #expect(try await iterator.next() == ["a": 1])
        #expect(try await iterator.next() == ["a": 2])
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.reason == .decodingFailed && error?.detail == "line 4" && error?.body == Data("nope".utf8))
        #expect(try await iterator.next() == ["a": 3])
        #expect(try await iterator.next() == nil)
    }
}
