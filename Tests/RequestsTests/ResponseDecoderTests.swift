import Requests
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("ResponseDecoder")
struct ResponseDecoderTests {
    @Test("a Void resource accepts any body or none, and its decoder is never called", .rows("RQ-27", "RQ-30", "T-15"))
    func nothing() async throws {
        let decoder = ResponseDecoder<Void> { _, _ in Issue.record("the decoder was called") }
        try await StubExecutor(200).perform(api.get(decoder, from: "/x"))
        try await StubExecutor(200, "junk").perform(api.get(decoder, from: "/x"))
        try await StubExecutor(204).perform(api.head("/x"))
    }

    @Test("an ignored body is still read, and its connection can be reused", .rows("RQ-25"))
    func ignored() {
        let whole = ResponseBody.Delivery.collected(limit: ResponseBody.Delivery.defaultLimit)
        #expect(ResponseDecoder<Void>.none.delivery == whole)
        #expect(ResponseDecoder<Int> { _, _ in 1 }.delivery == whole)
        #expect(api.delete("/x").responseDecoder.delivery == whole)
        #expect(ResponseDecoder<ResponseHead>.head.delivery == .streamed)
        #expect(ResponseDecoder<Int>(streaming: { _, _ in 1 }).delivery == .streamed)
    }

    @Test("data is the body, and text is the body decoded as UTF-8", .rows("RQ-25", "AF-52"))
    func plain() async throws {
        #expect(try await StubExecutor(200, "é").perform(api.get(.data, from: "/x")) == Data([0xC3, 0xA9]))
        #expect(try await StubExecutor(200).perform(api.get(.data, from: "/x")).isEmpty)
        #expect(try await StubExecutor(200, "é").perform(api.get(.text, from: "/x")) == "é")
    }

    @Test("missing content is a typed error with the request and response", .rows("RQ-27", "C13", "T-16"))
    func noContent() async throws {
        let json = await #expect(throws: RequestError.self) {
            try await StubExecutor(204).perform(api.get(.json([Int].self), from: "/x"))
        }
        let text = await #expect(throws: RequestError.self) {
            try await StubExecutor(204).perform(api.get(.text, from: "/x"))
        }
        for error in [json, text] {
            #expect(error?.reason == .unexpectedNoContent && error?.status == 204)
            #expect(error?.request?.target.path == "/api/x")
        }
    }

    @Test("a decoder's error is the underlying error, next to the body that was read", .rows("RQ-30"))
    func failing() async throws {
        struct Refused: Error, Equatable {}
        let decoder = ResponseDecoder<Int> { _, _ in throw Refused() }
        let error = await #expect(throws: RequestError.self) {
            try await StubExecutor(200, "x").perform(api.get(decoder, from: "/x"))
        }
        #expect(error?.reason == .decodingFailed && error?.underlying as? Refused == Refused())
        #expect(error?.response?.status == 200 && error?.body == Data("x".utf8))
    }

    @Test("both JSON decoders decode, and a JSONDecoder is made for each use", .rows("RQ-25"))
    func json() async throws {
        struct Snake: Decodable, Equatable { let aB: Int }
        let made = Mutex(0)
        let request = api.get(
            .json(Snake.self) {
                made.withLock { $0 += 1 }
                let decoder = JSONDecoder()
                decoder.keyDecodingStrategy = .convertFromSnakeCase
                return decoder
            }, from: "/x")
        for _ in 1...2 { #expect(try await StubExecutor(200, #"{"a_b":1}"#).perform(request) == Snake(aB: 1)) }
        #expect(made.withLock { $0 } == 2)
        #expect(try await StubExecutor(200, "[1]").perform(api.get(.json(encoded: [Int].self), from: "/x")) == [1])
    }

    @Test("a request that cannot be prepared does not reach the executor", .rows("RQ-27", "T-18"))
    func conversion() async throws {
        let executor = StubExecutor { (_) throws(RequestError) in
            Issue.record("the executor was called")
            throw RequestError(.other)
        }
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(api.get(.text, from: "/a?b"))
        }
        #expect(error?.reason == .invalidRequest(.queryInPath))
        #expect(error?.request == nil && error?.response == nil)
    }

    @Test("a typed response has a value, status, header, URL and history", .rows("HT-34"))
    func typedResponse() async throws {
        let executor = StubExecutor { request in
            request.target.path == "/api/x"
                ? .stub(302, header: [Field(name: .location, value: "/y")], to: request)
                : .stub(201, header: [Field(name: "X-A", value: "1")], "text", to: request)
        }
        let response = try await executor.response(for: api.get(.text, from: "/x"))
        #expect(response.value == "text" && response.status == 201 && response.header["x-a"] == "1")
        #expect(response.url.absoluteString == "https://e.com/y")
        #expect(response.history.map(\.status) == [302])
    }

    @Test(
        "a decoding function receives every accepted response, of any content type, and an empty body of a 204",
        .rows("PM-60"))
    func function() async throws {
        let decoder = ResponseDecoder { head, data in "\(head.status.rawValue) \(String(decoding: data, as: UTF8.self))"
        }
        let request = api.get(decoder, from: "/x")
        #expect(try request.prepared().acceptedTypes.isEmpty && !request.prepared().header.contains(.accept))
        #expect(try request.prepared().cachePolicy == .useProtocolCachePolicy)
        for type in [MediaType.html, .json, nil] {
            let header = type.map { Header([.contentType($0)]) } ?? .empty
            #expect(try await StubExecutor(200, header: header, "a").perform(request) == "200 a")
        }
        #expect(try await StubExecutor(204).perform(request) == "204 ")
        struct Unreadable: Error {}
        let failing = ResponseDecoder<Int> { _, _ in throw Unreadable() }
        let error = await #expect(throws: RequestError.self) {
            try await StubExecutor(200, "a").perform(api.get(failing, from: "/x"))
        }
        #expect(error?.reason == .decodingFailed && error?.underlying is Unreadable && error?.body == Data("a".utf8))
    }

    @Test("a decoder of the whole body collects a streamed body up to its limit")
    func collected() async throws {
        let executor = StubExecutor { request in
            let stream = ResponseStream(Data("12345".utf8))
            return RawResponse(head: ResponseHead(status: 200, target: request.target), body: .stream(stream))
        }
        let five = ResponseDecoder<Int>(limit: 5) { _, data in data.count }
        let four = ResponseDecoder<Int>(limit: 4) { _, data in data.count }
        #expect(try await executor.perform(api.get(five, from: "/x")) == 5)
        let error = await #expect(throws: RequestError.self) { try await executor.perform(api.get(four, from: "/x")) }
        #expect(error?.reason == .tooLarge(limit: 4))
    }
}
