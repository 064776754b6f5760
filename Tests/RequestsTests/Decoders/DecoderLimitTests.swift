import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Limits of decoders")
struct DecoderLimitTests {
    private static func streaming(_ chunks: [String]) -> StubExecutor {
        StubExecutor { request in .stream(chunks, type: "text/plain", to: request) }
    }

    @Test("a limit replaces the decoder's, and reaches the executor", .rows("RQ-25"))
    func delivery() throws {
        let limits: [ResponseBody.Delivery] = [
            ResponseDecoder.json([Int].self).limited(to: 9).delivery,
            ResponseDecoder.json([Int].self) { JSONDecoder() }.limited(to: 9).delivery,
            ResponseDecoder.data.limited(to: 9).delivery, ResponseDecoder.text.limited(to: 9).delivery,
            ResponseDecoder.none.limited(to: 9).delivery,
            ResponseDecoder.json([Int].self).map { $0.count }.limited(to: 9).delivery,
        ]
        #expect(limits.allSatisfy { $0 == .collected(limit: 9) }, "\(limits)")
        #expect(ResponseDecoder.data.limited(to: -1).delivery == .collected(limit: 0))
        #expect(ResponseDecoder.data.limited(to: .max).delivery == .collected(limit: .max))
        #expect(ResponseDecoder<ResponseStream.Lines>.lines.limited(to: 9).delivery == .streamed)
        #expect(try api.get(.data.limited(to: 9), from: "/x").prepared().delivery == .collected(limit: 9))
        #expect(ResponseDecoder.json([Int].self).limited(to: 9).acceptedTypes == [.json])
    }

    @Test("a combined decoder decodes a body as long as the limit, and rejects a longer one", .rows("RQ-25"))
    func combined() async throws {
        let decoder = ResponseDecoder.json([Int].self).map { $0.count }
        #expect(try await StubExecutor(200, "[1]").perform(api.get(decoder.limited(to: 3), from: "/x")) == 1)
        let error = await #expect(throws: RequestError.self) {
            try await StubExecutor(200, "[1]").perform(api.get(decoder.limited(to: 2), from: "/x"))
        }
        #expect(error?.reason == .tooLarge(limit: 2))
    }

    @Test("a streamed body fails beyond the limit, after the bytes within it, and on every later call", .rows("RQ-25"))
    func streamed() async throws {
        let executor = Self.streaming(["ab", "cd", "e"])
        let all = try await executor.perform(api.get(.chunks.limited(to: 5), from: "/x"))
        var text = ""
        for try await chunk in all { text += String(decoding: chunk, as: UTF8.self) }
        #expect(text == "abcde")
        var cut = try await executor.perform(api.get(.chunks.limited(to: 3), from: "/x")).makeAsyncIterator()
        #expect(try await cut.next() == Data("ab".utf8))
        for _ in 0..<2 {
            let error = await #expect(throws: RequestError.self) { try await cut.next() }
            #expect(error?.reason == .tooLarge(limit: 3))
        }
        let known = StubExecutor { request in
            RawResponse(
                head: ResponseHead(status: 200, target: request.target),
                body: .stream(ResponseStream(Data(repeating: 1, count: 10))))
        }
        let error = await #expect(throws: RequestError.self) {
            try await known.perform(api.get(.chunks.limited(to: 9), from: "/x"))
        }
        #expect(error?.reason == .tooLarge(limit: 9))
    }

    @Test("a download over the limit is removed", .rows("RQ-25"))
    func download() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "file")
        let url = URL(filePath: path)
        let executor = StubExecutor { request throws(RequestError) in
            try RequestError.wrapping(.other) { try Data("abc".utf8).write(to: url) }
            return RawResponse(
                head: ResponseHead(status: 200, target: request.target), body: .file(path: path))
        }
        #expect(try await executor.perform(api.get(.download(to: url).limited(to: 3), from: "/x")) == url)
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(api.get(.download(to: url).limited(to: 2), from: "/x"))
        }
        #expect(error?.reason == .tooLarge(limit: 2))
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
