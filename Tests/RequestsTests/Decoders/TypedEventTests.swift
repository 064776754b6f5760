import Requests
import Synchronization
import TestSupport
import Testing

private struct Delta: Codable, Equatable, Sendable {
    var textPart: String
}

/// An API whose JSON has names in snake case.
private struct Gateway: RequestProviding {
    let baseURL = AnonymousRequestProvider.example.baseURL

    func makeJSONDecoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }
}

private func client(_ chunks: [String], error: RequestError? = nil) -> Client<Gateway> {
    Client(Gateway(), executor: StubExecutor { .stream(chunks, type: "text/event-stream", error: error, to: $0) })
}

@Suite("Events with decoded data")
struct TypedEventTests {
    @Test("the API's decoder decodes the data of each event, and the event's name is available", .rows("RQ-25"))
    func values() async throws {
        let client = client([
            ": ping\n\nevent: part\nid: 7\ndata: {\"text_part\":\ndata: \"a\"}\n\nda", "ta: {\"text_part\": \"b\"}\n\n",
            "event: ping\ndata:\n\nevent: ping\ndata: \t\n\n", "data: {\"text_part\": \"c\"}\n\ndata: [DONE]\n\n",
            "data: {\"text_part\": \"late\"}\n\n",
        ])
        let request = client.api.post(.json([1]), to: "/chat", receiving: .events(Delta.self, until: "[DONE]"))
        #expect(try request.prepared().header[.accept] == "text/event-stream")
        var events: [ServerSentEvent.Typed<Delta>] = []
        var iterator = try await client.perform(request).makeAsyncIterator()
        while let event = try await iterator.next() { events.append(event) }
        #expect(
            events == [
                .init(type: "part", value: Delta(textPart: "a"), lastEventID: "7"),
                .init(value: Delta(textPart: "b"), lastEventID: "7"),
                .init(value: Delta(textPart: "c"), lastEventID: "7"),
            ])
        // The end remains the end.
        #expect(try await iterator.next() == nil)
    }

    @Test(
        "without an end of its own, the sequence ends with the body; a decoder of the request is used", .rows("RQ-25"))
    func bodyEnd() async throws {
        let client = client(["data: 1\n\ndata: [2]\n\n"])
        let json = try await client.perform { $0.get(.events(JSONValue.self), from: "/x") }
        #expect(try await json.reduce(into: []) { $0.append($1.value) } == [1, [2]])
        let plain = try await Client(
            Gateway(),
            executor: StubExecutor { request in
                .stream(["data: {\"textPart\": \"a\"}\n\n"], type: "text/event-stream", to: request)
            }
        ).perform { $0.get(.events(Delta.self, using: { JSONDecoder() }), from: "/x") }
        #expect(try await plain.reduce(into: []) { $0.append($1.value.textPart) } == ["a"])
        // The decoders of events as they are remain.
        let raw = try await client.perform { $0.get(.events(limit: 20), from: "/x") }
        #expect(try await raw.reduce(into: []) { $0.append($1.data) } == ["1", "[2]"])
    }

    @Test(
        "data that cannot be decoded is an error that names the event, and the next events can be read", .rows("R-25"))
    func failures() async throws {
        let client = client(
            ["data: {\"text_part\": 1}\n\nevent: e\ndata: x\n\ndata: {\"text_part\": \"b\"}\n\n"],
            error: RequestError(.connectionLost))
        var iterator = try await client.perform { $0.get(.events(Delta.self), from: "/x") }.makeAsyncIterator()
        for detail in ["event 1, “message”", "event 2, “e”"] {
            do throws(RequestError) {
                _ = try await iterator.next()
                Issue.record("expected an error")
            } catch {
                #expect(error.reason == .decodingFailed && error.detail == detail)
                #expect(error.underlying is DecodingError && error.response?.status == 200)
                #expect("\(error)".contains("could not decode Delta"))
            }
        }
        #expect(try await iterator.next()?.value == Delta(textPart: "b"))
        // A connection that is lost is an error, not the end; it is thrown again.
        for _ in 0..<2 {
            do throws(RequestError) {
                _ = try await iterator.next()
                Issue.record("expected an error")
            } catch {
                #expect(error.reason == .connectionLost)
            }
        }
    }

    @Test("an event over the limit is an error", .rows("R-25"))
    func limit() async throws {
        let client = client(["data: 1\n\ndata: \(String(repeating: "1", count: 100))\n\n"])
        var iterator = try await client.perform { $0.get(.events(Int.self, limit: 50), from: "/x") }.makeAsyncIterator()
        #expect(try await iterator.next()?.value == 1)
        do throws(RequestError) {
            _ = try await iterator.next()
            Issue.record("expected an error")
        } catch {
            #expect(error.reason == .tooLarge(limit: 50))
        }
    }

    @Test("nothing is read before an event is requested, and nothing after the end", .rows("RQ-25"))
    func backPressure() async throws {
        let source = CountingSource(["data: 1\n\n", "data: 2\n\n", "data: end\n\n", "data: 3\n\n"])
        let executor = StubExecutor { request in
            RawResponse(
                head: ResponseHead(
                    status: 200, header: [Field(name: .contentType, value: "text/event-stream")],
                    target: request.target), body: .stream(ResponseStream(source)))
        }
        var iterator = try await Client(Gateway(), executor: executor)
            .perform { $0.get(.events(Int.self, until: "end"), from: "/x") }.makeAsyncIterator()
        #expect(source.count == 0)
        for count in 1...2 {
            #expect(try await iterator.next()?.value == count)
            #expect(source.count == count)
        }
        #expect(try await iterator.next() == nil)
        #expect(source.count == 3)
    }
}

/// A source that counts the chunks that have been read.
private final class CountingSource: ResponseBody.Source {
    private let chunks: [String]
    private let position = Mutex(0)
    let trailers = Header.empty

    init(_ chunks: [String]) { self.chunks = chunks }

    var count: Int { position.withLock { $0 } }

    func next() async throws(RequestError) -> Data? {
        let index = position.withLock { position in
            defer { position += 1 }
            return position
        }
        return index < chunks.count ? Data(chunks[index].utf8) : nil
    }
}
