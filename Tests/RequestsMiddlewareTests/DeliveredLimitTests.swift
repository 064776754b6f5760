@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import Testing

/// What the limit of a collected body counts, and what a body without a byte is.
@Suite(
    "Content decoding: what is delivered", .timeLimit(.minutes(5)),
    .enabled(if: !Coding.available.isEmpty, "no zlib here"))
struct DeliveredLimitTests {
    private let content = Data("0123456789".utf8)

    /// gzip with so many members that decode to nothing before that of `content`, each 60,022 bytes long.
    private func padded(members: Int) throws -> Data {
        let whole = try Self.widened(#require(Coding.gzip.apply(to: content)))
        return try (0..<members).reduce(Data()) { data, _ in
            try data + Self.widened(#require(Coding.gzip.apply(to: Data())))
        } + whole
    }

    /// `gzip` with 60,000 bytes in the field of its header that readers skip (RFC 1952 §2.3.1.1).
    private static func widened(_ gzip: Data) -> Data {
        var head = gzip.prefix(10)
        head[3] |= 4
        return head + [0x60, 0xEA] + Data(count: 60_000) + gzip.dropFirst(10)
    }

    private func request(_ api: AnonymousRequestProvider, limit: Int) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("\(api.baseURL.absoluteString)/"), delivery: .collected(limit: limit))
    }

    /// Expects `content` where the limit allows it, and the limit's error below, called in each way.
    private func expectLimits(
        _ api: AnonymousRequestProvider, _ executor: any RequestExecutor,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let fits = try request(api, limit: content.count)
        #expect(try await executor.execute(fits).whole() == content, sourceLocation: sourceLocation)
        #expect(try await waiting(for: fits, executor) == content, sourceLocation: sourceLocation)
        let short = try request(api, limit: content.count - 1)
        let error = await #expect(throws: RequestError.self, sourceLocation: sourceLocation) {
            try await executor.execute(short)
        }
        #expect(error?.reason == .tooLarge(limit: content.count - 1), sourceLocation: sourceLocation)
        #expect(error?.status == 200 && error?.request != nil, sourceLocation: sourceLocation)
        let blocked = await #expect(throws: RequestError.self, sourceLocation: sourceLocation) {
            try await waiting(for: short, executor)
        }
        #expect(blocked?.reason == .tooLarge(limit: content.count - 1), sourceLocation: sourceLocation)
    }

    @Test(
        "the limit of a collected body counts decoded bytes, over every executor and behind middleware (R-25)",
        arguments: Way.allCases)
    func delivered(way: Way) async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        #expect(coded.count > 2 * content.count)
        // What URLSession decodes by itself may have one member only.
        for body in [coded, try padded(members: 0)] + (way == .urlSession ? [] : [try padded(members: 8)]) {
            for response in [
                MockResponse.coded(body, "gzip"), MockResponse(body: [.chunks(count: 1) { _ in body }]).coded("gzip"),
            ] {
                try await way.reaching(MockExecutor(response)) { api, executor in
                    try await expectLimits(api, executor.decodingContent())
                    let behind = executor.intercepted { try await $1.execute($0) }
                    try await expectLimits(api, behind.decodingContent())
                }
            }
        }
    }

    @Test(
        "a body without a coding keeps its limit, over every executor and behind middleware (R-25)",
        arguments: Way.allCases)
    func plain(way: Way) async throws {
        for response in [MockResponse.data(content), MockResponse(body: [.chunks(count: 10) { Data("\($0)".utf8) }])] {
            try await way.reaching(MockExecutor(response)) { api, executor in
                try await expectLimits(api, executor.decodingContent())
                let behind = executor.intercepted { try await $1.execute($0) }
                try await expectLimits(api, behind.decodingContent())
            }
        }
    }

    @Test("coded bytes that decode to nothing end at 16 MiB, though the limit is not reached (R-24, R-25)")
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

    @Test("a body of no bytes that does not declare it ends before its coding does (R-24)", arguments: Coding.available)
    func empty(coding: Coding) async throws {
        let folder = try TestFolder()
        let chunked = MockResponse(body: [.chunks(count: 0) { _ in Data() }]).coded(coding.name)
        for way in [Way.memory, .socket] {
            try await way.reaching(MockExecutor(chunked)) { api, plain in
                let executor = plain.decodingContent()
                for delivery in [Delivery.collected(limit: 10), .streamed, .file(path: folder.path("f"))] {
                    var request = try request(api, limit: 10)
                    request.delivery = delivery
                    let error = await #expect(throws: RequestError.self, "\(way) \(delivery)") {
                        try await executor.execute(request).whole()
                    }
                    #expect(error?.reason == .protocolViolation)
                    let underlying = error?.underlying as? ContentCodingError
                    #expect(underlying?.problem == .endsEarly && underlying?.offset == 0)
                    let blocked = await #expect(throws: RequestError.self, "\(way) \(delivery), blocking") {
                        try await waiting(for: request, executor)
                    }
                    #expect(blocked?.reason == .protocolViolation)
                }
                #expect(folder.names == [])
            }
        }
    }

    @Test("a coding of which nothing is left inside another ends early, too (R-24)")
    func emptyInside() async throws {
        let nothing = try #require(Coding.gzip.apply(to: Data()))
        let error = await #expect(throws: RequestError.self) {
            try await MockExecutor(.coded(nothing, "deflate, gzip")).decodingContent()
                .execute(request(AnonymousRequestProvider("http://e.com"), limit: 10))
        }
        #expect((error?.underlying as? ContentCodingError)?.coding == "deflate")
        #expect((error?.underlying as? ContentCodingError)?.problem == .endsEarly)
    }

    @Test("a Content-Length of 0 is no content, whatever coding is named (R-24)", arguments: Way.allCases)
    func declaredEmpty(way: Way) async throws {
        try await way.reaching(MockExecutor(MockResponse().coded("gzip"))) { api, plain in
            let executor = plain.decodingContent()
            for delivery in [Delivery.collected(limit: 0), .streamed] {
                var request = try request(api, limit: 0)
                request.delivery = delivery
                #expect(try await executor.execute(request).whole() == Data())
                #expect(try await waiting(for: request, executor) == Data())
            }
        }
    }
}

/// The body of the response, received by a call that blocks a thread.
private func waiting(for request: PreparedRequest, _ executor: any RequestExecutor) async throws -> Data {
    try await onOwnThread { try executor.executeAndWait(request) }.whole()
}

/// The result of `body` on a thread of its own.
private func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try DetachedThread.start(named: "caller") { continuation.resume(with: Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
