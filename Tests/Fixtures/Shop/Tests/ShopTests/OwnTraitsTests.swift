import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import Synchronization
import Testing

/// An executor of an app, which declares traits, and records what it receives and returns.
private final class DeclaringExecutor: RequestExecutor {
    let traits: ExecutorTraits
    private let exchanges = Mutex<[(request: PreparedRequest, isStream: Bool)]>([])

    init(_ traits: ExecutorTraits) { self.traits = traits }

    var received: [PreparedRequest] { exchanges.withLock { $0.map(\.request) } }
    var returnedStreams: [Bool] { exchanges.withLock { $0.map(\.isStream) } }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let response = try await SocketExecutor().execute(request)
        let isStream = if case .stream = response.body { true } else { false }
        exchanges.withLock { $0.append((request, isStream)) }
        return response
    }
}

@Suite("The traits of an app's own executor", .timeLimit(.minutes(10)))
struct OwnTraitsTests {
    /// The text `hello` in the coding gzip.
    private static let coded: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
    ]

    /// A server whose responses have a coding, whatever was requested.
    private let server = MockExecutor { _ in
        var response = MockResponse.data(Data(coded), contentType: .plainText)
        response.header["Content-Encoding"] = "gzip"
        return response
    }

    private func download(with traits: ExecutorTraits) async throws -> (file: [UInt8], request: PreparedRequest) {
        let url = FileManager.default.temporaryDirectory.appending(path: "traits-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        return try await withTestServer(serving: server) { server in
            let executor = DeclaringExecutor(traits)
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let client = Client(api, executor: executor.decodingContent())
            let file = try await client.perform { $0.get(.download(to: url), from: "/file") }
            return (try Array(Data(contentsOf: file)), try #require(executor.received.first))
        }
    }

    @Test("middleware that decodes passes a download on to an executor that writes files, and decodes it for another")
    func files() async throws {
        let own = try await download(with: .writesFiles)
        guard case .file = own.request.delivery else { throw RequestError(.other, detail: "\(own.request.delivery)") }
        #expect(own.request.header[.acceptEncoding] == nil)
        // The executor has promised to write the file itself, so nothing decodes it.
        #expect(own.file == Self.coded)

        let other = try await download(with: [])
        guard case .streamed = other.request.delivery else { throw RequestError(.other, detail: "\(other.request)") }
        #expect(other.request.header[.acceptEncoding]?.contains("gzip") == true)
        #expect(other.file == Array("hello".utf8))
    }

    @Test("an executor that streams encoded bodies may return a stream to the middleware that decodes, and to no other")
    func collected() async throws {
        try await withTestServer(serving: server) { server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            for (traits, isDirect, permits) in [
                (.streamsEncodedBodies, true, true), ([], true, false), (.writesFiles, true, false),
                // Other middleware would not expect a stream, and does not pass the trait on.
                (.streamsEncodedBodies, false, false),
            ] as [(ExecutorTraits, Bool, Bool)] {
                let executor = DeclaringExecutor(traits)
                let passing = executor.intercepting { request, next in try await next.execute(request) }
                let decoding = isDirect ? executor.decodingContent() : passing.decodingContent()
                let text = try await Client(api, executor: decoding).perform { $0.get(.text, from: "/text") }
                #expect(text == "hello")
                let request = try #require(executor.received.first)
                #expect(request.permitsEncodedStream == permits, "\(traits)")
                // A body that arrives with its head may be in memory already.
                #expect(permits || executor.returnedStreams == [false], "\(traits)")
                guard case .collected = request.delivery else { throw RequestError(.other, detail: "\(request)") }
            }
        }
    }

    @Test("middleware sees the traits that the executor declares, with those that other middleware adds")
    func passedOn() {
        let executor = DeclaringExecutor([.writesFiles, .streamsEncodedBodies])
        #expect(executor.intercepting { try await $1.execute($0) }.traits == .writesFiles)
        #expect(DeclaringExecutor([]).resumingDownloads().traits == .writesFiles)
    }
}
