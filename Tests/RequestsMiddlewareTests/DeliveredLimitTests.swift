@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

/// The limit of a collected body, and bodies without a byte.
@Suite(
    "Content decoding: limits of the delivered body", .tags(.concurrent), .timeLimit(.minutes(10)),
    .enabled(if: !Coding.available.isEmpty, "zlib is not installed"))
struct DeliveredLimitTests {
    private let content = Data("0123456789".utf8)

    /// Returns the gzip data of `content` after `members` empty members of 60,022 bytes each.
    private func padded(members: Int) throws -> Data {
        let whole = try Self.widened(#require(Coding.gzip.apply(to: content)))
        return try (0..<members).reduce(Data()) { data, _ in
            try data + Self.widened(#require(Coding.gzip.apply(to: Data())))
        } + whole
    }

    /// Returns `gzip` with an extra field of 60,000 bytes in its header, which decoders skip (RFC 1952 §2.3.1.1).
    private static func widened(_ gzip: Data) -> Data {
        var head = gzip.prefix(10)
        head[3] |= 4
        return head + [0x60, 0xEA] + Data(count: 60_000) + gzip.dropFirst(10)
    }

    private func request(_ api: AnonymousRequestProvider, limit: Int) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("\(api.baseURL.absoluteString)/"), delivery: .collected(limit: limit))
    }

    /// Expects `content` at the limit, and an error one byte below it, awaited and blocking.
    private func expectLimits(
        _ api: AnonymousRequestProvider, _ executor: any RequestExecutor,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let fits = try request(api, limit: content.count)
        #expect(try await executor.execute(fits).whole() == content, sourceLocation: sourceLocation)
        #expect(try await bodyAndWait(for: fits, executor) == content, sourceLocation: sourceLocation)
        let short = try request(api, limit: content.count - 1)
        let error = await #expect(throws: RequestError.self, sourceLocation: sourceLocation) {
            try await executor.execute(short)
        }
        #expect(error?.reason == .tooLarge(limit: content.count - 1), sourceLocation: sourceLocation)
        #expect(error?.status == 200 && error?.request != nil, sourceLocation: sourceLocation)
        let blocked = await #expect(throws: RequestError.self, sourceLocation: sourceLocation) {
            try await bodyAndWait(for: short, executor)
        }
        #expect(blocked?.reason == .tooLarge(limit: content.count - 1), sourceLocation: sourceLocation)
    }

    @Test(
        "the limit of a collected body counts decoded bytes, with every executor and middleware", .rows("R-25"),
        arguments: Transport.allCases)
    func delivered(transport: Transport) async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        #expect(coded.count > 2 * content.count)
        // URLSession decodes gzip itself, and supports only one member.
        for body in [coded, try padded(members: 0)] + (transport == .urlSession ? [] : [try padded(members: 8)]) {
            for response in [
                MockResponse.coded(body, "gzip"), MockResponse(body: [.chunks(count: 1) { _ in body }]).coded("gzip"),
            ] {
                try await transport.run(serving: MockExecutor(response)) { api, executor in
                    try await expectLimits(api, executor.decodingContent())
                    let wrapped = executor.intercepting { try await $1.execute($0) }
                    try await expectLimits(api, wrapped.decodingContent())
                }
            }
        }
    }

    @Test(
        "the limit applies to a body without a coding, with every executor and middleware", .rows("R-25"),
        arguments: Transport.allCases)
    func plain(transport: Transport) async throws {
        for response in [MockResponse.data(content), MockResponse(body: [.chunks(count: 10) { Data("\($0)".utf8) }])] {
            try await transport.run(serving: MockExecutor(response)) { api, executor in
                try await expectLimits(api, executor.decodingContent())
                let wrapped = executor.intercepting { try await $1.execute($0) }
                try await expectLimits(api, wrapped.decodingContent())
            }
        }
    }

    @Test("coded data that decodes to nothing is limited to 16 MiB", .rows("R-24", "R-25"))
    func endless() async throws {
        let member = try Self.widened(#require(Coding.gzip.apply(to: Data())))
        let pulled = Lock(0)
        let mock = MockExecutor(
            MockResponse(body: [
                .chunks(count: .max) { index in
                    pulled.withLock { $0 = index }
                    return member
                }
            ]).coded("gzip"))
        let api = AnonymousRequestProvider("http://e.com")
        let error = await #expect(throws: RequestError.self) {
            try await mock.decodingContent().execute(request(api, limit: 100))
        }
        #expect(error?.reason == .tooLarge(limit: 100))
        #expect(pulled.withLock { $0 } == (16 << 20) / member.count)
    }

    @Test("an empty body without a Content-Length is truncated coded data", .rows("R-24"), arguments: Coding.available)
    func empty(coding: Coding) async throws {
        let folder = TemporaryDirectory()
        let chunked = MockResponse(body: [.chunks(count: 0) { _ in Data() }]).coded(coding.name)
        for transport in [Transport.memory, .socket] {
            try await transport.run(serving: MockExecutor(chunked)) { api, plain in
                let executor = plain.decodingContent()
                for delivery in [
                    ResponseBody.Delivery.collected(limit: 10), .streamed, .file(path: folder.path(of: "f")),
                ] {
                    var request = try request(api, limit: 10)
                    request.delivery = delivery
                    let error = await #expect(throws: RequestError.self, "\(transport) \(delivery)") {
                        try await executor.execute(request).whole()
                    }
                    #expect(error?.reason == .protocolViolation)
                    let underlying = error?.underlying as? ContentCodingError
                    #expect(underlying?.problem == .truncated && underlying?.offset == 0)
                    let blocked = await #expect(throws: RequestError.self, "\(transport) \(delivery), blocking") {
                        try await bodyAndWait(for: request, executor)
                    }
                    #expect(blocked?.reason == .protocolViolation)
                }
                #expect(folder.names == [])
            }
        }
    }

    @Test("a coding without data inside another coding is truncated", .rows("R-24"))
    func emptyInside() async throws {
        let nothing = try #require(Coding.gzip.apply(to: Data()))
        let error = await #expect(throws: RequestError.self) {
            try await MockExecutor(.coded(nothing, "deflate, gzip")).decodingContent()
                .execute(request(AnonymousRequestProvider("http://e.com"), limit: 10))
        }
        #expect((error?.underlying as? ContentCodingError)?.coding == "deflate")
        #expect((error?.underlying as? ContentCodingError)?.problem == .truncated)
    }

    @Test("a body with Content-Length 0 is empty, whatever its coding", .rows("R-24"), arguments: Transport.allCases)
    func declaredEmpty(transport: Transport) async throws {
        try await transport.run(serving: MockExecutor(MockResponse().coded("gzip"))) { api, plain in
            let executor = plain.decodingContent()
            for delivery in [ResponseBody.Delivery.collected(limit: 0), .streamed] {
                var request = try request(api, limit: 0)
                request.delivery = delivery
                #expect(try await executor.execute(request).whole() == Data())
                #expect(try await bodyAndWait(for: request, executor) == Data())
            }
        }
    }
}

/// Returns the response body of a blocking call.
private func bodyAndWait(for request: PreparedRequest, _ executor: any RequestExecutor) async throws -> Data {
    try await onThread { try executor.executeAndWait(request) }.whole()
}
