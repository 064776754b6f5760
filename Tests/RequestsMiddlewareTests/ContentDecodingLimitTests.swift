@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import Testing

@Suite(
    "Content decoding: damage and limits", .timeLimit(.minutes(5)),
    .enabled(if: !Coding.available.isEmpty, "no zlib here"))
struct ContentDecodingLimitTests {
    private let folder: TestFolder
    private let content = Data("hello, hello, hello, and so on".utf8)

    init() throws { folder = try TestFolder() }

    private var deliveries: [Delivery] { [.collected(limit: 64 << 20), .streamed, .file(path: folder.path("f"))] }

    private func request(_ delivery: Delivery = .collected(limit: 64 << 20)) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("http://e.com/"), delivery: delivery)
    }

    /// What reading the whole body of a response ends with.
    private func failure(
        of response: MockResponse, _ delivery: Delivery, _ limits: ContentDecoding.Limits = .init()
    ) async throws -> RequestError? {
        try await failure(of: MockExecutor(response).decodingContent(limits), request(delivery))
    }

    private func failure(of executor: some RequestExecutor, _ request: PreparedRequest) async -> RequestError? {
        do throws(RequestError) {
            let response = try await executor.execute(request)
            // Counted, not kept.
            if case .stream(let stream) = response.body { while try await stream.next() != nil {} }
            return nil
        } catch {
            return error
        }
    }

    // MARK: Damage

    @Test("a coding that ends early is an error at every byte, and no file appears (R-24)", arguments: Coding.available)
    func endsEarly(coding: Coding) async throws {
        let coded = try #require(coding.apply(to: content))
        try folder.write("old", to: "f")
        for count in 1..<coded.count {
            for delivery in deliveries {
                let error = try await failure(of: .coded(coded.prefix(count), coding.name), delivery)
                let underlying = error?.underlying as? ContentCodingError
                #expect(error?.reason == .protocolViolation, "\(count) \(delivery)")
                #expect(underlying?.problem == .endsEarly && underlying?.offset == count, "\(count) \(delivery)")
                #expect(error?.status == 200 && error?.request != nil)
            }
        }
        #expect(folder.names == ["f"] && folder.contents("f") == Data("old".utf8))
        #expect(try await failure(of: .coded(coded, coding.name), .streamed) == nil)
    }

    @Test("bytes behind the end of a coding are an error that says where (R-24)", arguments: Coding.available)
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

    @Test("damage says what it is and where, with what was decoded before it (R-24)")
    func damage() async throws {
        let long = pattern(200_000)
        var coded = try #require(Coding.gzip.apply(to: long))
        let place = coded.count / 2
        for index in place..<place + 64 { coded[index] = 0xFF }
        let error = try #require(try await failure(of: .coded(coded, "gzip"), .collected(limit: 1 << 20)))
        let underlying = try #require(error.underlying as? ContentCodingError)
        #expect(error.reason == .protocolViolation && underlying.offset >= place)
        #expect(error.response?.header[.contentEncoding] == nil)
        let body = try #require(error.body)
        #expect(!body.isEmpty && long.starts(with: body.prefix(10_000)))
        #expect("\(error)".contains("gzip"))
        // The checksum is read, too.
        var wrong = try #require(Coding.gzip.apply(to: content))
        wrong[wrong.count - 5] ^= 1
        #expect(try await failure(of: .coded(wrong, "gzip"), .streamed)?.reason == .protocolViolation)
    }

    @Test("a stream that failed fails again")
    func failsAgain() async throws {
        let response = try await MockExecutor(.coded(Data("junk".utf8), "gzip")).decodingContent()
            .execute(request(.streamed))
        let stream = try #require(response.stream)
        for _ in 0..<2 { await #expect(throws: RequestError.self) { try await stream.next() } }
    }

    @Test("a coding that is not known is an error, before the body is read (R-24)")
    func unknown() async throws {
        for (value, name) in [("compress", "compress"), ("gzip, xz", "xz"), ("br-2,gzip", "br-2")] {
            for delivery in deliveries {
                let error = try await failure(of: .coded(content, value), delivery)
                #expect(error?.reason == .protocolViolation && error?.status == 200)
                let underlying = error?.underlying as? ContentCodingError
                #expect(underlying?.coding == name && underlying?.problem == .unknown)
            }
        }
        // One that is known elsewhere is not known here.
        let none = MockExecutor(.coded(content, "gzip")).intercepted(by: ContentDecoding(codings: []))
        #expect(await failure(of: none, try request())?.reason == .protocolViolation)
    }

    // MARK: Limits

    @Test("five codings are undone, six are refused, whatever they are (R-24)")
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

    @Test("10 GB of zeros in 10 MB end at the limit, in every form, and none of it stays (R-24)")
    func bombs() async throws {
        let coded = bomb(mebibytes: 10_000)
        #expect(coded.count < 11_000_000)
        let pieces = stride(from: 0, to: coded.count, by: 64 << 10).map { coded.dropFirst($0).prefix(64 << 10) }
        let asked = Lock(0)
        let response = MockResponse(body: [
            .chunks(count: pieces.count) { index in
                asked.withLock { $0 = index }
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
        // A sixteenth of a MiB decodes to more than is allowed: no more was read.
        #expect(asked.withLock { $0 } <= 1 && folder.names == [])
    }

    @Test("a limit of size ends a body, whatever its ratio (R-24, R-25)")
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

    @Test("a collected body over its limit is an error, however short it was sent (R-25)")
    func collected() async throws {
        let long = Data(count: 5_000)
        let coded = try #require(Coding.gzip.apply(to: long))
        for limit in [coded.count - 1, 4_999, 0] {
            let error = try await failure(of: .coded(coded, "gzip"), .collected(limit: limit))
            #expect(error?.reason == .tooLarge(limit: limit))
        }
        #expect(try await failure(of: .coded(coded, "gzip"), .collected(limit: 5_000)) == nil)
    }

    @Test("what is blown up between two codings counts, though nothing comes of it (R-24)")
    func between() async throws {
        // Members of gzip without a byte in them, but with 60,000 bytes of what is said of it (RFC 1952 §2.3.1.1).
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

    @Test("a bomb as the body of a redirect is not read (R-24)")
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
                let bytes = try await client.perform(client.api.get(.bytes, from: "/bomb"))
                for try await chunk in bytes { #expect(chunk == Data("arrived".utf8)) }
                let file = folder.path("f")
                _ = try await client.perform(client.api.get(.download(to: file), from: "/bomb"))
                #expect(folder.contents("f") == Data("arrived".utf8))
            }
        }
    }

    /// Answers at once, whatever the time is.
    private struct Canned: RequestExecutor {
        let response: RawResponse

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse { response }
    }

    @Test("decoding ends with the call: at its deadline, and when it is cancelled")
    func time() async throws {
        let coded = try #require(Coding.gzip.apply(to: Data(count: 8 << 20)))
        let head = ResponseHead(
            status: 200, header: [Field(name: .contentEncoding, value: "gzip")], target: try TargetURI("http://e.com/"))
        for body in [ResponseBody.bytes(coded), .stream(ResponseStream(coded))] {
            let executor = Canned(response: RawResponse(head: head, body: body)).decodingContent()
            var late = try request()
            if case .stream = body { late.delivery = .streamed }
            late.deadline = .now
            #expect(await failure(of: executor, late)?.reason == .timedOut(.total))
        }
        let executor = Canned(response: RawResponse(head: head, body: .bytes(coded))).decodingContent()
        let request = try request()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await failure(of: executor, request)?.reason
        }
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test("two calls at once for one decoded body fail, and the first goes on")
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

/// `REQUESTS_LARGE=1 swift test --filter DecodingMemoryTests`, by itself: it asks what the process has ever used.
@Suite(
    "Content decoding in little memory",
    .enabled(if: ProcessInfo.processInfo.environment["REQUESTS_LARGE"] != nil, "REQUESTS_LARGE is not set"))
struct DecodingMemoryTests {
    @Test("10 GB of zeros in 10 MB end at the limit, and 10 GB that are allowed go through, within 48 MiB (R-24)")
    func memory() async throws {
        let coded = bomb(mebibytes: 10_000)
        let response = MockResponse.coded(coded, "gzip")
        let folder = try TestFolder()
        // What the tests and the server's data take is there already.
        let before = try #require(ProcessUsage.peakResidentKiB)
        try await withTestServer(serving: MockExecutor(response)) { server in
            let client = Client(
                AnonymousRequestProvider(baseURL: server.baseURL), executor: SocketExecutor().decodingContent())
            await #expect(throws: RequestError.self) { try await client.perform(client.api.get(.data, from: "/")) }
            await #expect(throws: RequestError.self) {
                try await client.perform(client.api.get(.download(to: folder.path("f")), from: "/"))
            }
            var limits = ContentDecoding.Limits()
            limits.ratio = .max
            let trusting = Client(client.api, executor: SocketExecutor().decodingContent(limits))
            var count = 0
            let bytes = try await trusting.perform(client.api.get(.bytes, from: "/"))
            await #expect(throws: RequestError.self) { for try await piece in bytes { count += piece.count } }
            #expect(count == 10_000 << 20)
        }
        let peak = try #require(ProcessUsage.peakResidentKiB)
        print("peak resident memory: \(peak >> 10) MiB, \(before >> 10) MiB of it before")
        #expect(peak - before < 48 << 10)
    }
}
