import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("Event streams")
struct EventStreamTests {
    /// The events, state and failures of a parser that reads `pieces` one after another.
    private struct Reading: Equatable {
        var events: [ServerSentEvent] = []
        var lastEventID = ""
        var reconnectionTime: Duration?
        var failures: [RequestError.Reason] = []

        init(_ pieces: [ArraySlice<UInt8>], limit: Int = 1 << 20) {
            var parser = ServerSentEvent.Parser(limit: limit)
            for piece in pieces {
                do {
                    try parser.read(piece, into: &events)
                } catch {
                    failures = [error.reason]
                }
            }
            (lastEventID, reconnectionTime) = (parser.lastEventID, parser.reconnectionTime)
        }
    }

    @Test(
        "parsing does not depend on where a stream is split, even with an event over the limit", .rows("R-71", "R-75"))
    func cuts() {
        let pieces = [
            "data", "data: a", "data:b\u{301}", "id: 1", "id: \0", "id", "event: e", "retry: 7", ":", "\u{FEFF}", "",
            "", "\n", "\r", "\r\n", "datax: 1", "data\u{301}: 1", "x", "data: 0123456789",
        ].map { Array($0.utf8) }
        var generator = SplitMix64(state: 16)
        for _ in 0..<300 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                bytes += pieces.randomElement(using: &generator) ?? []
                bytes += [[0x0A], [0x0D], [0x0D, 0x0A], [0xFF]].randomElement(using: &generator) ?? []
            }
            let whole = Reading([bytes[...]], limit: 30)
            #expect(Reading(bytes.indices.map { bytes[$0...$0] }, limit: 30) == whole)
            for cut in bytes.indices { #expect(Reading([bytes[..<cut], bytes[cut...]], limit: 30) == whole) }
        }
    }

    @Test(
        "retry is a number of milliseconds in digits, limited to one day", .rows("R-75"),
        arguments: [
            ("0", 0), ("007", 7), ("86400000", 86_400_000), ("86400001", 86_400_000),
            ("9223372036854775807", 86_400_000), ("9223372036854775808", 86_400_000),
            ("18446744073709551616", 86_400_000), (String(repeating: "9", count: 400), 86_400_000),
            (String(repeating: "0", count: 400) + "1", 1), ("", nil), ("-1", nil), ("+1", nil), ("1 ", nil),
            ("1\u{301}", nil), ("٣", nil), ("1.5", nil), ("1e3", nil),
        ] as [(String, Int?)])
    func retry(text: String, milliseconds: Int?) throws {
        var parser = ServerSentEvent.Parser()
        _ = try parser.read("retry: \(text)\n\n".utf8)
        #expect(parser.reconnectionTime == milliseconds.map { .milliseconds($0) })
    }

    @Test("field names are compared byte by byte, and a mark after a delimiter belongs to the value", .rows("R-75"))
    func marks() throws {
        var parser = ServerSentEvent.Parser()
        let events = try parser.read("data:\u{301}x\ndata: \u{200D}y\nevent\u{FE0F}: e\ndata:a\r\u{301}:b\n\n".utf8)
        #expect(events.map { Array($0.data.unicodeScalars) } == [Array("\u{301}x\n\u{200D}y\na".unicodeScalars)])
        #expect(events.map(\.type) == ["message"])
    }

    @Test("an event over the limit is an error that repeats, after the events before it", .rows("R-25"))
    func limit() async throws {
        var parser = ServerSentEvent.Parser(limit: 10)
        var events: [ServerSentEvent] = []
        let text = "data: 1\n\ndata: 23\n\ndata: 4567\ndata: 89\n\ndata: 1\n\n"
        for bytes in [text, "\n\ndata: 1\n\n"] {
            let error = #expect(throws: RequestError.self) { try parser.read(bytes.utf8, into: &events) }
            #expect(error?.reason == .tooLarge(limit: 10))
        }
        #expect(events.map(\.data) == ["1", "23"])
        var iterator = ResponseStream.Events(ResponseStream(Data(text.utf8)), limit: 10).makeAsyncIterator()
        #expect(try await iterator.next()?.data == "1")
        #expect(try await iterator.next()?.data == "23")
        for _ in 1...2 {
            let error = await #expect(throws: RequestError.self) { try await iterator.next() }
            #expect(error?.reason == .tooLarge(limit: 10))
        }
    }

    @Test(
        "the type, the data and each line count toward the limit, comments and unknown fields too", .rows("R-25"),
        arguments: [
            "data: 1234\ndata: 123456\n", "event: 12345\ndata: 123456", ":12345678901234567", "x12345678901234567",
            "id: 1234567890123",
        ])
    func limits(text: String) {
        var parser = ServerSentEvent.Parser(limit: 16)
        let error = #expect(throws: RequestError.self) { try parser.read(text.utf8) }
        #expect(error?.reason == .tooLarge(limit: 16))
    }

    @Test("an id without an event is the last event ID when the connection is lost")
    func lastEventID() async throws {
        let source = ChunkSource(["id: 7\n\n"], error: RequestError(.connectionLost))
        let events = ResponseStream.Events(ResponseStream(source))
        var iterator = events.makeAsyncIterator()
        await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(events.lastEventID == "7")
    }
}
