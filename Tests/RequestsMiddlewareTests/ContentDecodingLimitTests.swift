@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite(
    "Content decoding: corrupt data and limits", .tags(.concurrent), .timeLimit(.minutes(10)),
    .enabled(if: !Coding.available.isEmpty, "zlib is not installed"))
struct ContentDecodingLimitTests {
    private let folder: TemporaryDirectory
    private let content = Data("hello, hello, hello, and so on".utf8)

    init() throws { folder = TemporaryDirectory() }

    private var deliveries: [ResponseBody.Delivery] {
        [.collected(limit: 64 << 20), .streamed, .file(path: folder.path(of: "f"))]
    }

    private func request(_ delivery: ResponseBody.Delivery = .collected(limit: 64 << 20)) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("http://e.com/"), delivery: delivery)
    }

    /// Reads the whole body of a response, and returns the error, if any.
    private func failure(
        of response: MockResponse, _ delivery: ResponseBody.Delivery, _ limits: ContentDecoding.Limits = .init()
    ) async throws -> RequestError? {
        try await failure(of: MockExecutor(response).decodingContent(limits), request(delivery))
    }

    private func failure(of executor: some RequestExecutor, _ request: PreparedRequest) async -> RequestError? {
        do throws(RequestError) {
            let response = try await executor.execute(request)
            // The body is read without keeping it.
            if case .stream(let stream) = response.body { while try await stream.next() != nil {} }
            return nil
        } catch {
            return error
        }
    }

    // MARK: Corrupt data

    @Test(
        "coded data truncated at any byte is an error, and no file is created", .rows("R-24"),
        arguments: Coding.available)
    func truncated(coding: Coding) async throws {
        let coded = try #require(coding.apply(to: content))
        try folder.write("old".utf8, to: "f")
        for count in 1..<coded.count {
            for delivery in deliveries {
                let error = try await failure(of: .coded(coded.prefix(count), coding.name), delivery)
                let underlying = error?.underlying as? ContentCodingError
                #expect(error?.reason == .protocolViolation, "\(count) \(delivery)")
                #expect(underlying?.problem == .truncated && underlying?.offset == count, "\(count) \(delivery)")
                #expect(error?.status == 200 && error?.request != nil)
            }
        }
        #expect(folder.names == ["f"] && folder.read("f") == Data("old".utf8))
        #expect(try await failure(of: .coded(coded, coding.name), .streamed) == nil)
    }

    @Test(
        "bytes after the end of coded data are an error with their offset", .rows("R-24"), arguments: Coding.available)
    func garbage(coding: Coding) async throws {
        let coded = try #require(coding.apply(to: content)) + Data("garbage".utf8)
        for response in [MockResponse.coded(coded, coding.name), .bytewise(coded, coding.name)] {
            for delivery in deliveries {
                let error = try await failure(of: response, delivery)
                let underlying = try #require(error?.underlying as? ContentCodingError)
                #expect(error?.reason == .protocolViolation && underlying.coding == coding.name)
                #expect((coded.count - 7...coded.count).contains(underlying.offset), "\(underlying)")
                if case .damaged = underlying.problem {} else { Issue.record("\(underlying)") }
            }
        }
    }

    @Test("the error of corrupt data contains the offset and the data decoded before it", .rows("R-24"))
    func damage() async throws {
        let long = pattern(200_000)
        var coded = try #require(Coding.gzip.apply(to: long))
        let offset = coded.count / 2
        for index in offset..<offset + 64 { coded[index] = 0xFF }
        let error = try #require(try await failure(of: .coded(coded, "gzip"), .collected(limit: 1 << 20)))
        let underlying = try #require(error.underlying as? ContentCodingError)
        #expect(error.reason == .protocolViolation && underlying.offset >= offset)
        #expect(error.response?.header[.contentEncoding] == nil)
        let body = try #require(error.body)
        #expect(!body.isEmpty && long.starts(with: body.prefix(10_000)))
        #expect("\(error)".contains("gzip"))
        // The checksum is verified.
        var wrong = try #require(Coding.gzip.apply(to: content))
        wrong[wrong.count - 5] ^= 1
        #expect(try await failure(of: .coded(wrong, "gzip"), .streamed)?.reason == .protocolViolation)
    }

    @Test("a stream that failed throws again at the next read")
    func failsAgain() async throws {
        let response = try await MockExecutor(.coded(Data("junk".utf8), "gzip")).decodingContent()
            .execute(request(.streamed))
        let stream = try #require(response.stream)
        for _ in 0..<2 { await #expect(throws: RequestError.self) { try await stream.next() } }
    }

    @Test("an unsupported coding is an error before the body is read", .rows("R-24"))
    func unknown() async throws {
        for (value, name) in [("compress", "compress"), ("gzip, xz", "xz"), ("br-2,gzip", "br-2")] {
            for delivery in deliveries {
                let error = try await failure(of: .coded(content, value), delivery)
                #expect(error?.reason == .protocolViolation && error?.status == 200)
                let underlying = error?.underlying as? ContentCodingError
                #expect(underlying?.coding == name && underlying?.problem == .unknown)
            }
        }
        // A coding that is not enabled is unsupported.
        let none = MockExecutor(.coded(content, "gzip")).intercepted(by: ContentDecoding(codings: []))
        #expect(await failure(of: none, try request())?.reason == .protocolViolation)
    }

    // MARK: Limits

    @Test("five codings of one body are decoded, and six are an error", .rows("R-24"))
    func depth() async throws {
        var coded = content
        for _ in 0..<5 { coded = try #require(Coding.gzip.apply(to: coded)) }
        let five = Array(repeating: "gzip", count: 5).joined(separator: ", ")
        for response in [MockResponse.coded(coded, five), .bytewise(coded, five)] {
            for delivery in deliveries {
                let decoded = try await MockExecutor(response).decodingContent().execute(request(delivery))
                #expect(try await decoded.whole() == content)
            }
        }
        coded = try #require(Coding.gzip.apply(to: coded))
        for value in ["\(five), gzip", Array(repeating: "xz", count: 2_000).joined(separator: ",")] {
            for delivery in deliveries {
                let error = try await failure(of: .coded(coded, value), delivery)
                #expect(error?.reason == .protocolViolation)
                #expect((error?.underlying as? ContentCodingError)?.problem == .tooMany(limit: 5))
            }
        }
        var limits = ContentDecoding.Limits()
        limits.codings = 6
        #expect(try await failure(of: .coded(coded, "\(five), gzip"), .streamed, limits) == nil)
    }

    @Test("10 GB of zeros in 10 MB exceed the ratio limit in every delivery, and no file remains", .rows("R-24"))
    func bombs() async throws {
        let coded = bomb(mebibytes: 10_000)
        #expect(coded.count < 11_000_000)
        let pieces = stride(from: 0, to: coded.count, by: 64 << 10).map { coded.dropFirst($0).prefix(64 << 10) }
        let pulled = Lock(0)
        let response = MockResponse(body: [
            .chunks(count: pieces.count) { index in
                pulled.withLock { $0 = index }
                return pieces[index]
            }
        ]).coded("gzip")
        for delivery in deliveries {
            let error = try #require(try await failure(of: response, delivery))
            guard case .tooLarge(let limit) = error.reason else { return #expect(error.reason == .other) }
            #expect(limit == 16 << 20)
            #expect(error.body?.count ?? 0 <= 16 << 20)
            #expect("\(error)".contains("256 times"))
        }
        // A chunk of 64 KiB decodes to more than the limit, so at most one further chunk is read.
        #expect(pulled.withLock { $0 } <= 1 && folder.names == [])
    }

    @Test("the size limit applies whatever the ratio", .rows("R-24", "R-25"))
    func size() async throws {
        let coded = bomb(mebibytes: 64)
        var limits = ContentDecoding.Limits()
        limits.ratio = .max
        limits.bodySize = 20 << 20
        for delivery in deliveries {
            let error = try await failure(of: .coded(coded, "gzip"), delivery, limits)
            #expect(error?.reason == .tooLarge(limit: 20 << 20))
        }
        let error = try #require(try await failure(of: .coded(coded, "gzip"), .collected(limit: 1_000), limits))
        #expect(error.reason == .tooLarge(limit: 1_000))
    }

    @Test("a collected body over its limit is an error, however short its coded data", .rows("R-25"))
    func collected() async throws {
        let long = Data(count: 5_000)
        let coded = try #require(Coding.gzip.apply(to: long))
        for limit in [coded.count - 1, 4_999, 0] {
            let error = try await failure(of: .coded(coded, "gzip"), .collected(limit: limit))
            #expect(error?.reason == .tooLarge(limit: limit))
        }
        #expect(try await failure(of: .coded(coded, "gzip"), .collected(limit: 5_000)) == nil)
    }

    @Test("the ratio limit applies between two codings, even if the body decodes to nothing", .rows("R-24"))
    func between() async throws {
        // gzip members without data, each with an extra field of 60,000 bytes (RFC 1952 §2.3.1.1).
        let start: [UInt8] = [0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 3, 0x60, 0xEA]
        var members = Data(start) + Data(count: 60_000) + Data([3, 0]) + Data(count: 8)
        #expect(try await failure(of: .coded(members, "gzip"), .streamed) == nil)
        while members.count < 32 << 20 { members.append(members) }
        let coded = try #require(Coding.gzip.apply(to: members))
        #expect(coded.count * 256 < members.count)
        for delivery in deliveries {
            let error = try await failure(of: .coded(coded, "gzip, gzip"), delivery)
            #expect(error?.reason == .tooLarge(limit: 16 << 20))
        }
    }

    @Test("a decompression bomb in the body of a redirect is not read", .rows("R-24"))
    func redirect() async throws {
        let coded = bomb(mebibytes: 1_000)
        let mock = MockExecutor { request in
            guard request.target.path == "/bomb" else { return .ok("arrived") }
            var response = MockResponse.redirect(to: "/there").coded("gzip, gzip")
            response.body = [.bytes(coded)]
            return response
        }
        try await withTestServer(serving: mock) { server in
            let executors: [any RequestExecutor] = [
                mock.decodingContent(), SocketExecutor().decodingContent(), SocketExecutor().decodingContent(),
            ]
            for executor in executors {
                let client = Client(AnonymousRequestProvider(baseURL: server.baseURL), executor: executor)
                #expect(try await client.perform(client.api.get(.text, from: "/bomb")) == "arrived")
                let bytes = try await client.perform(client.api.get(.chunks, from: "/bomb"))
                for try await chunk in bytes { #expect(chunk == Data("arrived".utf8)) }
                let file = folder.path(of: "f")
                _ = try await client.perform(client.api.get(.download(to: URL(filePath: file)), from: "/bomb"))
                #expect(folder.read("f") == Data("arrived".utf8))
            }
        }
    }

    /// Responds at once, whatever the deadline.
    private struct ImmediateExecutor: RequestExecutor {
        let response: RawResponse

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse { response }
    }

    @Test("decoding ends at the deadline and when the call is cancelled")
    func time() async throws {
        let coded = try #require(Coding.gzip.apply(to: Data(count: 8 << 20)))
        let head = ResponseHead(
            status: 200, header: [Field(name: .contentEncoding, value: "gzip")], target: try TargetURI("http://e.com/"))
        for body in [ResponseBody.bytes(coded), .stream(ResponseStream(coded))] {
            let executor = ImmediateExecutor(response: RawResponse(head: head, body: body)).decodingContent()
            var late = try request()
            if case .stream = body { late.delivery = .streamed }
            late.deadline = .now
            #expect(await failure(of: executor, late)?.reason == .timedOut(.total))
        }
        let executor = ImmediateExecutor(response: RawResponse(head: head, body: .bytes(coded))).decodingContent()
        let request = try request()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await failure(of: executor, request)?.reason
        }
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test("a concurrent second read of a decoded body is an error")
    func overlapping() async throws {
        let coded = try #require(Coding.gzip.apply(to: content))
        let mock = MockExecutor(MockResponse(body: [.pause(.endless), .bytes(coded)]).coded("gzip"))
        let response = try await mock.decodingContent().execute(request(.streamed))
        let stream = try #require(response.stream)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do throws(RequestError) {
                        return try await stream.next() != nil
                    } catch {
                        return error.reason == .other
                    }
                }
            }
            #expect(await group.next() == true)
            group.cancelAll()
        }
    }
}

/// Opt-in, and to be run alone because it measures the peak memory of the process:
/// `REQUESTS_LARGE=1 swift test --filter DecodingMemoryTests`.
@Suite(
    "Memory of content decoding",
    .enabled(if: ProcessInfo.processInfo.environment["REQUESTS_LARGE"] != nil, "REQUESTS_LARGE is not set"))
struct DecodingMemoryTests {
    @Test("10 GB of zeros in 10 MB exceed the limit, or are decoded if allowed, within 48 MiB of memory", .rows("R-24"))
    func memory() async throws {
        let coded = bomb(mebibytes: 10_000)
        let response = MockResponse.coded(coded, "gzip")
        let folder = TemporaryDirectory()
        // Measured from here on: the data of the tests and the server is already allocated.
        let before = try #require(ProcessUsage.peakResidentKiB)
        try await withTestServer(serving: MockExecutor(response)) { server in
            let client = Client(
                AnonymousRequestProvider(baseURL: server.baseURL), executor: SocketExecutor().decodingContent())
            await #expect(throws: RequestError.self) { try await client.perform(client.api.get(.data, from: "/")) }
            await #expect(throws: RequestError.self) {
                try await client.perform(client.api.get(.download(to: URL(filePath: folder.path(of: "f"))), from: "/"))
            }
            var limits = ContentDecoding.Limits()
            limits.ratio = .max
            let trusting = Client(client.api, executor: SocketExecutor().decodingContent(limits))
            var count = 0
            let bytes = try await trusting.perform(client.api.get(.chunks, from: "/"))
            await #expect(throws: RequestError.self) { for try await piece in bytes { count += piece.count } }
            #expect(count == 10_000 << 20)
        }
        let peak = try #require(ProcessUsage.peakResidentKiB)
        print("peak resident memory: \(peak >> 10) MiB, \(before >> 10) MiB before the test")
        #expect(peak - before < 48 << 10)
    }
}
