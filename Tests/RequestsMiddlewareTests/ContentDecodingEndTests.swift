import CRequestsPOSIX
import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

/// The ends of coded bodies, compared with curl 7.88.
@Suite(
    "The end of coded bodies", .timeLimit(.minutes(10)),
    .enabled(if: !Coding.available.isEmpty, "zlib is not installed"))
struct ContentDecodingEndTests {
    private let content = Data("content".utf8)

    private func request(
        _ api: AnonymousRequestProvider, _ delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("\(api.baseURL.absoluteString)/"), delivery: delivery)
    }

    @Test(
        "an error response with a coding and no bytes is returned", .rows("R-24"), arguments: Coding.available,
        Transport.allCases)
    func emptyErrors(coding: Coding, transport: Transport) async throws {
        let folder = TemporaryDirectory()
        for status in [400, 404, 500, 503] as [HTTPStatus] {
            // The first is chunked over a socket, the second has a length.
            for body in [[.chunks(count: 0) { _ in Data() }], []] as [[MockResponse.BodyEvent]] {
                let served = MockExecutor(MockResponse(status: status, body: body).coded(coding.name))
                try await transport.run(serving: served) { api, executor in
                    for delivery in [.collected(limit: 10), .streamed, .file(path: folder.path(of: "f"))]
                        as [ResponseBody.Delivery]
                    {
                        let response = try await executor.decodingContent().execute(request(api, delivery))
                        #expect(try await response.whole() == Data() && response.head.status == status)
                    }
                    let client = Client(api, executor: executor.decodingContent())
                    let error = await failure { () async throws(RequestError) in
                        try await client.perform { $0.get(.text, from: "/") }
                    }
                    #expect(error?.reason == .unacceptableStatus && error?.status == status)
                }
            }
        }
    }

    @Test(
        "an error response that ends with the connection, with a coding and no bytes, is returned", .rows("R-24"))
    func emptyUntilClose() async throws {
        let served = MockExecutor(MockResponse(status: 404).coded("gzip"))
        try await withTestServer(serving: served, behaving: { _, _ in .init(framing: .untilClose) }) { server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let client = Client(api, executor: SocketExecutor().decodingContent())
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/") }
            }
            #expect(error?.reason == .unacceptableStatus && error?.status == 404)
        }
    }

    /// The codings of zlib.
    static let zlibCodings: [Coding] = [.gzip, .deflate, .bareDeflate]

    @Test(
        "bytes after the end of zlib's codings are errors that say so, never truncation", .rows("R-24"),
        arguments: zlibCodings, [1, 2, 3, 4, 5, 512])
    func padding(coding: Coding, count: Int) async throws {
        let coded = try #require(coding.apply(to: content))
        for padding in [Data(count: count), Data(repeating: 0x20, count: count)] {
            let bodies = [MockResponse.coded(coded + padding, coding.name), .bytewise(coded + padding, coding.name)]
            for body in bodies {
                for status in [200, 404] as [HTTPStatus] {
                    var response = body
                    response.status = status
                    let executor = MockExecutor(response).decodingContent()
                    for delivery in [.collected(limit: 1 << 20), .streamed] as [ResponseBody.Delivery] {
                        let error = await #expect(throws: RequestError.self) {
                            try await executor.execute(request(AnonymousRequestProvider("http://e.com"), delivery))
                                .whole()
                        }
                        #expect(error?.reason == .protocolViolation)
                        let underlying = try #require(error?.underlying as? ContentCodingError)
                        #expect(underlying.problem == .damaged("unexpected bytes after the end"))
                        #expect(underlying.offset == coded.count)
                    }
                }
            }
        }
    }

    @Test(
        "an event stream that is flushed and not ended delivers each event at once, and ends where its body ends",
        .rows("R-24"), arguments: zlibCodings, [Transport.memory, .socket])
    func events(coding: Coding, transport: Transport) async throws {
        let windowBits = coding == .gzip ? rp_z_gzip : coding == .deflate ? rp_z_wrapped : rp_z_raw
        let deflater = try #require(Deflater(windowBits: windowBits))
        var events = (0..<3).map { MockResponse.BodyEvent.bytes(deflater.append(Data("data: \($0)\n\n".utf8))) }
        // An event without its end is discarded, as without a coding.
        events.append(.bytes(deflater.append(Data("data: cut".utf8))))
        for isEndless in [true, false] {
            var response = MockResponse(body: isEndless ? events + [.pause(.endless)] : events).coded(coding.name)
            response.header.set(.contentType(MediaType(type: .text, subtype: "event-stream")))
            try await transport.run(serving: MockExecutor(response)) { api, executor in
                let client = Client(api, executor: executor.decodingContent())
                var data: [String] = []
                for try await event in try await client.perform({ $0.get(.events, from: "/") }) {
                    data.append(event.data)
                    if isEndless, data.count == 3 { break }
                }
                #expect(data == ["0", "1", "2"])
                // Every other body must be whole.
                guard !isEndless else { return }
                for delivery in [.collected(limit: 100), .streamed] as [ResponseBody.Delivery] {
                    var other = response
                    if case .streamed = delivery { other.header.remove(.contentType) }
                    let cut = MockExecutor(other).decodingContent()
                    let error = await #expect(throws: RequestError.self) {
                        try await cut.execute(request(AnonymousRequestProvider("http://e.com"), delivery)).whole()
                    }
                    #expect((error?.underlying as? ContentCodingError)?.problem == .truncated)
                }
            }
        }
    }
}
