import Dispatch
import Requests
import TestSupport
import Testing

/// An API that writes and reads names in snake case and dates as seconds.
private struct SnakeAPI: RequestProviding {
    let baseURL = URL("https://e.com/api")

    func makeJSONEncoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    func makeJSONDecoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }
}

private struct Commit: Codable, Sendable, Equatable {
    var authorName: String
    var pushedAt: Date
}

private let api = SnakeAPI()
private let commit = Commit(authorName: "Ada", pushedAt: Date(timeIntervalSince1970: 7))
private let json = #"{"author_name":"Ada","pushed_at":7}"#

@Suite("The JSON coders of an API")
struct CoderTests {
    private static func body(_ request: some RequestConvertible) throws -> String? {
        guard case .bytes(let data) = try request.prepared().body else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    // Only a synchronous function can block its thread.
    private static func blocking<Value>(
        _ client: Client<SnakeAPI>, _ decoder: ResponseDecoder<Value>
    ) throws(RequestError) -> Value {
        try client.performAndWait { $0.get(decoder, from: "/x") }
    }

    @Test("every JSON body is encoded by the encoder of the API, unless the body has its own", .rows("RQ-23"))
    func bodies() throws {
        #expect(try Self.body(api.post(.json(commit), to: "/x")) == json)
        #expect(try Self.body(api.post(.json(commit).throttled(), to: "/x")) == nil)
        let identity = BodyProvider.json(commit).compressed(as: "x") { $0 }
        #expect(try Self.body(api.post(identity, to: "/x")) == json)
        let own = BodyProvider.json(commit, using: BodyProvider.makeDeterministicEncoder)
        #expect(try Self.body(api.post(own, to: "/x"))?.contains("authorName") == true)
        let date = RequestParameters.Value.date(commit.pushedAt)
        let parameters = api.post(.none, to: "/x").adding(parameters: ["at": date], in: .json)
        #expect(try Self.body(parameters) == #"{"at":7}"#)
        #expect(try Self.body(AnonymousRequestProvider.example.post(.json(commit), to: "/x")) != json)
    }

    @Test(
        "every JSON response is decoded by the decoder of the API, unless the response decoder has its own",
        .rows("RQ-25"))
    func responses() async throws {
        let executor = StubExecutor(200, json)
        let client = Client(api, executor: executor)
        #expect(try await client.perform { $0.get(.json(Commit.self), from: "/x") } == commit)
        #expect(try await client.response(for: { $0.get(.json(Commit.self), from: "/x") }).value == commit)
        #expect(try Self.blocking(client, .json(Commit.self)) == commit)
        #expect(try await executor.perform(api.get(.json(Commit.self), from: "/x")) == commit)
        let called = await withCheckedContinuation { continuation in
            client.perform(api.get(.json(Commit.self), from: "/x"), on: .global()) {
                continuation.resume(returning: $0.map(\.value))
            }
        }
        #expect(try called.get() == commit)
        let error = await #expect(throws: RequestError.self) {
            try await client.perform { $0.get(.json(Commit.self) { JSONDecoder() }, from: "/x") }
        }
        #expect(error?.reason == .decodingFailed)
        await #expect(throws: RequestError.self) {
            try await executor.perform(AnonymousRequestProvider.example.get(.json(Commit.self), from: "/x"))
        }
    }

    @Test("decoders that need a JSON decoder use the API's", .rows("RQ-25"))
    func combined() async throws {
        let client = Client(api, executor: StubExecutor(200, json))
        #expect(try await client.perform { $0.get(.optional(.json(Commit.self)), from: "/x") } == commit)
        #expect(try await client.perform { $0.get(.action(.json(Commit.self)), from: "/x") }.value == commit)
        let other = ResponseDecoder.json([Commit].self).map { $0[0] }
        #expect(try await client.perform { $0.get(other.or(.json()), from: "/x") } == commit)
        let all = ResponseDecoder.json(Commit.self)
        #expect(try await client.perform { $0.get(all.accepting([]).limited(to: 99), from: "/x") } == commit)
        #expect(try await client.perform { $0.get(all.withHead, from: "/x") }.value == commit)
        #expect(try Self.blocking(client, all.map { $0.authorName }) == "Ada")
    }

    @Test("each line of NDJSON, and the payload of an error, are decoded by the decoder of the API", .rows("RQ-25"))
    func linesAndErrors() async throws {
        let lines = Client(api, executor: StubExecutor(200, json + "\n" + json))
        var commits: [Commit] = []
        for try await value in try await lines.perform({ $0.get(.ndjson(Commit.self), from: "/x") }) {
            commits.append(value)
        }
        #expect(commits == [commit, commit])
        let failing = StubExecutor(500, header: [.contentType(.json)], json)
        let error = await #expect(throws: RequestError.self) {
            try await failing.perform(api.get(.none, from: "/x").decodingErrorPayload(as: Commit.self))
        }
        #expect(error?.payload(as: Commit.self) == commit)
    }

    @Test("a request of your own type has its own coders", .rows("RQ-2"))
    func convertible() async throws {
        struct GetCommit: RequestConvertible {
            typealias Resource = Commit
            let baseURL = URL("https://e.com")
            let endpoint: RequestPath = "/commit"
            let method = HTTPMethod.post
            var bodyProvider: BodyProvider { .json(commit) }
            var responseDecoder: ResponseDecoder<Commit> { .json() }
            func makeJSONEncoder() -> JSONEncoder { api.makeJSONEncoder() }
            func makeJSONDecoder() -> JSONDecoder { api.makeJSONDecoder() }
        }
        #expect(try Self.body(GetCommit()) == json)
        #expect(try await StubExecutor(200, json).perform(GetCommit()) == commit)
    }
}
