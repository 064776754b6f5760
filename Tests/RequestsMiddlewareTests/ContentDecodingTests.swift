@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite(
    "Content decoding", .tags(.concurrent), .timeLimit(.minutes(10)),
    .enabled(if: !Coding.available.isEmpty, "zlib is not installed"))
struct ContentDecodingTests {
    private let folder: TemporaryDirectory
    private let content = pattern(300_000) + Data(repeating: 0x61, count: 200_000)

    init() throws { folder = TemporaryDirectory() }

    private var deliveries: [ResponseBody.Delivery] {
        [.collected(limit: 1 << 20), .streamed, .file(path: folder.path(of: "f"))]
    }

    private func request(
        _ path: String = "/", _ api: AnonymousRequestProvider = AnonymousRequestProvider("http://e.com"),
        header: Header = .empty, delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        let target = try TargetURI("\(api.baseURL.absoluteString)\(path)")
        return PreparedRequest(target: target, header: header, delivery: delivery)
    }

    @Test(
        "a body is decoded in every delivery, and the header describes the decoded body", .rows("R-24"),
        arguments: Coding.available, Transport.allCases)
    func decodes(coding: Coding, transport: Transport) async throws {
        let coded = try #require(coding.apply(to: content))
        let served = MockExecutor(.coded(coded, coding.name))
        try await transport.run(serving: served) { api, executor in
            for delivery in deliveries {
                let response = try await executor.decodingContent().execute(request("/", api, delivery: delivery))
                #expect(response.head.header[.contentEncoding] == nil)
                #expect(response.head.header[.contentLength] == nil)
                #expect(response.metrics.contentEncoding == coding.name)
                #expect(response.metrics.encodedBodyLength == coded.count)
                let isSame = try await response.whole() == content
                #expect(isSame, "\(delivery)")
            }
        }
        #expect(folder.read("f") == content && folder.names == ["f"])
    }

    @Test("Accept-Encoding lists the codings that can be decoded, and is identity if there are none")
    func offers() async throws {
        let served = MockExecutor(.ok("plain"))
        try await withTestServer(serving: served) { server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let executors: [any RequestExecutor] = [
                SocketExecutor(), SocketExecutor().decodingContent(),
                SocketExecutor().intercepted(by: ContentDecoding(codings: [.gzip])),
                SocketExecutor().intercepted(by: ContentDecoding(codings: [])),
            ]
            for executor in executors {
                for delivery in deliveries {
                    let response = try await executor.execute(request("/", api, delivery: delivery))
                    #expect(try await response.whole() == Data("plain".utf8))
                    #expect(response.head.header[.contentLength] == "5")
                    #expect(response.metrics.contentEncoding == nil)
                }
            }
        }
        let offered = served.recordedRequests.map { $0.header[.acceptEncoding] }
        let all = ContentDecoding.availableCodings.joined(separator: ", ")
        #expect(all.hasPrefix("gzip, deflate"))
        #expect(offered == ["identity", all, "gzip", "identity"].flatMap { [$0, $0, $0] })
    }

    @Test("HEAD, range requests and requests with Accept-Encoding are sent unchanged and not decoded")
    func unchanged() async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        let mock = MockExecutor { request in
            .coded(coded, "gzip", status: request.header.contains(.range) ? 206 : 200)
        }
        let executor = mock.decodingContent()
        let own: [Field] = [
            Field(name: .acceptEncoding, value: "gzip"), Field(name: .acceptEncoding, value: "identity"),
            Field(name: .range, value: "bytes=0-9"),
        ]
        for field in own {
            for delivery in deliveries {
                let response = try await executor.execute(request(header: [field], delivery: delivery))
                let isSame = try await response.whole() == coded
                #expect(isSame && response.head.header[.contentEncoding] == "gzip", "\(field) \(delivery)")
                #expect(response.head.header[.contentLength] == "\(coded.count)")
            }
        }
        var head = try request()
        head.method = .head
        #expect(try await executor.execute(head).head.header[.contentEncoding] == "gzip")
        #expect(
            mock.recordedRequests.map { $0.header[.acceptEncoding] } == [
                "gzip", "gzip", "gzip", "identity", "identity", "identity", nil, nil, nil, nil,
            ])
    }

    @Test("a response without content is not changed, whatever its header")
    func withoutContent() async throws {
        for (status, body) in [(204, "x"), (304, "x"), (206, "x"), (200, ""), (404, "")] as [(HTTPStatus, String)] {
            let executor = MockExecutor(.status(status, body).coded("no-such-coding")).decodingContent()
            for delivery in [ResponseBody.Delivery.collected(limit: 10), .streamed] {
                let response = try await executor.execute(request(delivery: delivery))
                #expect(response.head.header[.contentEncoding] == "no-such-coding", "\(status) \(delivery)")
                #expect(response.metrics.contentEncoding == nil)
            }
        }
    }

    @Test("identity, none, empty members and the case of letters in Content-Encoding are ignored")
    func names() async throws {
        let gzip = try #require(Coding.gzip.apply(to: content))
        let deflated = try #require(Coding.deflate.apply(to: content))
        let both = try #require(Coding.gzip.apply(to: deflated))
        let values: [([String], Data)] = [
            (["identity"], content), (["none"], content), ([""], content), ([", ,"], content), (["GZip"], gzip),
            (["x-gzip"], gzip), (["X-GZIP ,, identity"], gzip), (["\tgzip\t,"], gzip),
            (["deflate, identity, , gzip"], both), (["deflate", "gzip"], both),
            (["Identity, deflate", "x-gzip"], both),
        ]
        for (fields, body) in values {
            var response = MockResponse.data(body)
            for value in fields { response = response.adding(headerField: Field(name: .contentEncoding, value: value)) }
            let decoded = try await MockExecutor(response).decodingContent().execute(request())
            let isSame = try await decoded.whole() == content
            #expect(isSame, "\(fields)")
        }
    }

    @Test("several gzip members or Zstandard frames are decoded as one body, however they arrive")
    func members() async throws {
        for coding in [Coding.gzip, .zstd] where Coding.available.contains(coding) {
            let parts = ["", "one ", "", "two"].map { coding.apply(to: Data($0.utf8)) ?? Data() }
            let whole = parts.reduce(Data(), +)
            for response in [MockResponse.coded(whole, coding.name), .bytewise(whole, coding.name)] {
                let decoded = try await MockExecutor(response).decodingContent().execute(request(delivery: .streamed))
                #expect(try await decoded.whole() == Data("one two".utf8), "\(coding)")
            }
        }
    }

    @Test("a stream delivers all data decoded so far before it reads the next chunk")
    func incremental() async throws {
        let deflater = try #require(Deflater(windowBits: 31))
        let words = ["one", "two", "three"]
        let pieces = words.map { deflater.append(Data($0.utf8)) } + [deflater.finish(Data())]
        let pulled = Lock(0)
        let mock = MockExecutor(
            MockResponse(body: [
                .chunks(count: pieces.count) { index in
                    pulled.withLock { $0 += 1 }
                    return pieces[index]
                }
            ]).coded("gzip"))
        let stream = try #require(
            try await mock.decodingContent().execute(request(delivery: .streamed)).stream)
        #expect(stream.length == nil)
        for (index, word) in words.enumerated() {
            #expect(try await stream.next() == Data(word.utf8))
            #expect(pulled.withLock { $0 } == index + 1)
        }
        #expect(try await stream.next() == nil)
        #expect(try await stream.next() == nil)
    }

    @Test("the decoded data of one chunk is delivered in pieces of 64 KiB before the next chunk is read")
    func pieces() async throws {
        let coded = try #require(Coding.gzip.apply(to: Data(count: 1 << 20)))
        let pulled = Lock(0)
        let mock = MockExecutor(
            MockResponse(body: [
                .chunks(count: 2) { index in
                    pulled.withLock { $0 += 1 }
                    return index == 0 ? coded.dropLast() : coded.suffix(1)
                }
            ]).coded("gzip"))
        let stream = try #require(try await mock.decodingContent().execute(request(delivery: .streamed)).stream)
        var sizes: [Int] = []
        while pulled.withLock({ $0 }) < 2, let piece = try await stream.next() { sizes.append(piece.count) }
        #expect(sizes == Array(repeating: 64 << 10, count: 16))
    }

    @Test("trailers are available after a decoded body, and its connection is reused", .rows("R-44"))
    func end() async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        let trailers: Header = [Field(name: "X-Sum", value: "7")]
        try await withTestServer(serving: MockExecutor(MockResponse.coded(coded, "gzip").with(trailers: trailers))) {
            server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let sockets = SocketExecutor()
            let executor = sockets.decodingContent()
            for _ in 0..<2 {
                let response = try await executor.execute(request("/", api, delivery: .streamed))
                let stream = try #require(response.stream)
                #expect(try await stream.collect() == content)
                #expect(stream.trailers["X-Sum"] == "7")
            }
            #expect(try await executor.execute(request("/", api)).trailers["X-Sum"] == "7")
            let file = try await executor.execute(request("/", api, delivery: .file(path: folder.path(of: "f"))))
            #expect(file.trailers["X-Sum"] == "7")
            #expect(sockets.connections == (1, 1))
            var dropped: ResponseStream? = try await executor.execute(request("/", api, delivery: .streamed)).stream
            #expect(try await dropped?.next() != nil)
            dropped = nil
            #expect(sockets.connections == (0, 0))
        }
    }

    @Test("the body of an error status is decoded into memory up to the limit, not into the file")
    func errorStatus() async throws {
        let long = Data(count: 3 << 20)
        for body in [content, long] {
            let coded = try #require(Coding.gzip.apply(to: body))
            let executor = MockExecutor(.coded(coded, "gzip", status: 404)).decodingContent()
            let response = try await executor.execute(request(delivery: .file(path: folder.path(of: "f"))))
            #expect(try await response.whole() == body.prefix(ResponseBody.Delivery.errorBodyLimit))
            #expect(folder.names == [])
        }
    }

    @Test("the body of a redirect is decoded only if the redirect is not followed")
    func redirects() async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        let junk = MockResponse.redirect(to: "/there").coded("no-such-coding")
        let mock = MockExecutor { request in
            var response = request.target.path == "/" ? junk : .coded(coded, "gzip")
            if request.target.path == "/" { response.body = [.bytes(coded)] }
            return response
        }
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: mock.decodingContent())
        #expect(try await client.perform(client.api.get(.data, from: "/")) == content)
        let unfollowed = client.api.get(.data, from: "/").with(redirectPolicy: .none).validating(.none)
        await #expect(throws: RequestError.self) { _ = try await client.perform(unfollowed) }
    }

    @Test("interrupted downloads resume, whether the middleware is inside or outside of decoding", .rows("R-24"))
    func resuming() async throws {
        let server = RangeServer(content)
        let served = server.executor
        let orders: [any RequestExecutor] = [
            served.resumingDownloads().decodingContent(), served.decodingContent().resumingDownloads(),
            served.resumingDownloads().intercepting { try await $1.execute($0) }.decodingContent(),
        ]
        for executor in orders {
            server.set { $0.cuts = [100_000] }
            let download = try request(delivery: .file(path: folder.path(of: "f")))
            await #expect(throws: RequestError.self) { try await executor.execute(download) }
            _ = try await executor.execute(download)
            #expect(folder.read("f") == content && folder.names == ["f"])
        }
        #expect(served.recordedRequests.map { $0.header[.range] != nil } == [false, true, false, true, false, true])
        #expect(served.recordedRequests.allSatisfy { $0.header[.acceptEncoding] == "identity" })
    }

    @Test("a blocking call decodes bodies", .rows("HT-1"))
    func blocking() async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        try await withTestServer(serving: MockExecutor(.coded(coded, "gzip"))) { server in
            let executor = SocketExecutor().decodingContent()
            let request = try request("/", AnonymousRequestProvider(baseURL: server.baseURL))
            for _ in 0..<2 {
                #expect(try await onThread { try executor.executeAndWait(request).body.bytes } == content)
            }
            let path = folder.path(of: "f")
            _ = try await onThread { try executor.executeAndWait(request.delivered(.file(path: path))) }
            #expect(folder.read("f") == content)
        }
    }
}

extension ResponseBody {
    fileprivate var bytes: Data? { if case .bytes(let data) = self { data } else { nil } }
}

extension PreparedRequest {
    fileprivate func delivered(_ delivery: ResponseBody.Delivery) -> PreparedRequest {
        var copy = self
        copy.delivery = delivery
        return copy
    }
}
