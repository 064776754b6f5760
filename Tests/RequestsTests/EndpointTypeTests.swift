@_spi(Lock) import Requests
import TestSupport
import Testing

private struct Identified: Endpoint {
    let path: String

    func request(from api: AnonymousRequestProvider) -> Request<AnonymousRequestProvider, Void> {
        api.get(.none, from: "/\(path)")
    }
}

private struct Outer: Endpoint {
    func request(from api: AnonymousRequestProvider) -> Request<AnonymousRequestProvider, Void> {
        Identified(path: "inner").request(from: api)
    }
}

/// Records the endpoint types of the requests it receives.
private final class TypeRecorder: RequestExecutor {
    let types = Lock<[String]>([])

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        types.withLock { $0.append(request.endpointType.map { "\($0)" } ?? "nil") }
        let isFirst = request.target.path.hasBytePrefix("/first")
        let header: Header = isFirst ? ["Location": "/second"] : .empty
        return RawResponse(
            head: ResponseHead(status: isFirst ? 302 : 200, header: header, target: request.target),
            body: .bytes(Data()))
    }
}

@Suite("The identity of endpoints")
struct EndpointTypeTests {
    private let api = AnonymousRequestProvider("http://example.com")

    @Test("a prepared request has the type of the endpoint from which a client made it, also after redirects")
    func types() async throws {
        let recorder = TypeRecorder()
        let client = Client(api, executor: recorder)
        try await client.perform(Identified(path: "first"))
        _ = try await client.response(for: Outer())
        try await client.perform(Identified(path: "x").request(from: api))
        #expect(recorder.types.withLock { $0 } == ["Identified", "Identified", "Outer", "nil"])
        #expect(try client.preparedRequest(for: Identified(path: "x")).endpointType == Identified.self)
        #expect(try PreparedRequest(url: try #require(URL(string: "http://example.com"))).endpointType == nil)
    }
}
