@_spi(Lock) import Requests
import RequestsMock
import TestSupport
import Testing

private let target: TargetURI = {
    guard let target = try? TargetURI("http://mock.test/users/7?page=1") else {
        preconditionFailure("invalid URI literal")
    }
    return target
}()

private func request(
    _ method: HTTPMethod = .get, body: RequestBody = .none, delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
) -> PreparedRequest {
    PreparedRequest(method: method, target: target, body: body, delivery: delivery)
}

private func reason(of operation: () async throws -> some Sendable) async -> RequestError.Reason? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return (error as? RequestError)?.reason
    }
}

extension RawResponse {
    fileprivate var bytes: Data? { if case .bytes(let data) = body { data } else { nil } }
    fileprivate var stream: ResponseStream? { if case .stream(let stream) = body { stream } else { nil } }
}

@Suite("Mock executor", .timeLimit(.minutes(10)))
struct MockExecutorTests {
    @Test("a text response has the given content type")
    func types() async throws {
        let request = AnonymousRequestProvider("https://e.com").get(.json([Int].self), from: "/x")
        #expect(try await MockExecutor(.ok("[1]", contentType: .json)).perform(request) == [1])
        let error = await #expect(throws: RequestError.self) { try await MockExecutor(.ok("[1]")).perform(request) }
        #expect(error?.reason == .unexpectedContentType)
        let teapot = MockExecutor(.status(418, "{\"code\":\"E1\"}", contentType: .json))
        let rejection = await #expect(throws: RequestError.self) { try await teapot.perform(request) }
        #expect(rejection?.status == 418 && rejection?.message?.code == "E1")
    }

    @Test(
        "the function of a mock makes the response; target and Content-Length are added",
        .rows("PM-120", "PM-122", "L8"))
    func responds() async throws {
        let mock = MockExecutor { request in .ok("hello \(request.target.path)") }
        let response = try await mock.execute(request())
        #expect(response.head.status == 200)
        #expect(response.head.target == target)
        #expect(response.bytes == Data("hello /users/7".utf8))
        #expect(response.head.header == [.contentType(.plainText), Field(name: .contentLength, value: "14")])
        let json = try await MockExecutor(try .json(["a": 1])).execute(request())
        #expect(json.head.contentType == .json)
        #expect(json.bytes == Data(#"{"a":1}"#.utf8))
    }

    @Test(
        "a request is recorded with its body as bytes, whatever the kind of body", .rows("PM-129"),
        arguments: [
            RequestBody.bytes(Data("abc".utf8)), .oneShot(length: 3, Chunks(["a", "", "bc"])),
            .stream(length: nil, isReplayable: true) { Chunks(["abc"]) },
        ])
    func records(body: RequestBody) async throws {
        let mock = MockExecutor(.ok())
        _ = try await mock.execute(request(.put, body: body))
        #expect(mock.recordedRequests == [request(.put, body: .bytes(Data("abc".utf8)))])
    }

    @Test(
        "a body that throws or has another length than declared is an error, and is not recorded", .rows("R-5"),
        arguments: [2, 4, nil])
    func wrongLength(length: Int?) async {
        let mock = MockExecutor(.ok())
        let body = RequestBody.stream(length: length, isReplayable: true) {
            Chunks(["a", "bc"], failing: length == nil)
        }
        #expect(await reason { try await mock.execute(request(.post, body: body)) } == .bodyEncodingFailed)
        #expect(mock.recordedRequests.isEmpty)
    }

    @Test("an invalid request is rejected before the function is called", .rows("R-1"))
    func validates() async {
        let mock = MockExecutor(.ok())
        var bad = request()
        bad.header = [Field(name: "X", value: "a\r\nB: c")]
        #expect(await reason { try await mock.execute(bad) } == .invalidRequest(.invalidFieldValue))
        #expect(mock.recordedRequests.isEmpty)
    }

    @Test(
        "responses to HEAD, and 204 and 304, have no body",
        arguments: [(.head, 200), (.get, 204), (.get, 304)] as [(HTTPMethod, Int)])
    func noBody(method: HTTPMethod, status: Int) async throws {
        let mock = MockExecutor(.status(HTTPStatus(status), "body"))
        #expect(try await mock.execute(request(method)).bytes == Data())
    }

    @Test("a body over the limit is an error, even if it is endless")
    func limit() async {
        let mock = MockExecutor(.ok("12345"))
        #expect(await reason { try await mock.execute(request(delivery: .collected(limit: 5))) } == nil)
        #expect(
            await reason { try await mock.execute(request(delivery: .collected(limit: 4))) } == .tooLarge(limit: 4))
        let endless = MockExecutor(MockResponse(body: [.chunks(count: .max) { _ in Data("abc".utf8) }]))
        #expect(
            await reason { try await endless.execute(request(delivery: .collected(limit: 4))) } == .tooLarge(limit: 4))
    }

    @Test("a streamed body is produced chunk by chunk, only when it is read", .rows("R-69"))
    func streams() async throws {
        let made = Lock(0)
        let mock = MockExecutor { _ in
            MockResponse(
                body: [
                    .chunks(count: 3) { index in
                        made.withLock { $0 += 1 }
                        return Data("\(index)".utf8)
                    }
                ], trailers: [Field(name: "X-Sum", value: "3")])
        }
        let stream = try #require(try await mock.execute(request(delivery: .streamed)).stream)
        #expect(made.withLock { $0 } == 0)
        #expect(try await stream.next() == Data("0".utf8))
        #expect(made.withLock { $0 } == 1)
        #expect(stream.trailers.isEmpty)
        #expect(try await stream.collect() == Data("12".utf8))
        #expect(try await stream.next() == nil)
        #expect(stream.trailers["X-Sum"] == "3")
    }

    @Test("a download creates a file for 2xx, is collected otherwise, and leaves no file if it fails")
    func download() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "file")
        let delivery = ResponseBody.Delivery.file(path: path)
        let missing = try await MockExecutor(.status(404, "no")).execute(request(delivery: delivery))
        #expect(missing.bytes == Data("no".utf8))
        var cut = MockResponse.ok("abc")
        cut.header.set(Field(name: .contentLength, value: "64"))
        #expect(
            await reason { try await MockExecutor(cut).execute(request(delivery: delivery)) } == .connectionLost)
        #expect(throws: (any Error).self) { try Data(contentsOf: URL(filePath: path)) }
        _ = try await MockExecutor(.ok("file")).execute(request(delivery: delivery))
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("file".utf8))
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test("each time limit of a request ends an endless delay with its own error", .rows("R-48"))
    func limits() async {
        var first = request()
        first.timeouts.firstByte = .milliseconds(20)
        let silent = MockExecutor(.ok().delayed(by: .endless))
        #expect(await reason { try await silent.execute(first) } == .timedOut(.firstByte))
        var between = request()
        between.timeouts.betweenBytes = .milliseconds(20)
        let stalling = MockExecutor(MockResponse(body: [.bytes(Data([1])), .pause(.endless), .bytes(Data([2]))]))
        #expect(await reason { try await stalling.execute(between) } == .timedOut(.betweenBytes))
        var total = request()
        total.deadline = .now + .milliseconds(20)
        #expect(await reason { try await silent.execute(total) } == .timedOut(.total))
        total.deadline = .now
        #expect(await reason { try await MockExecutor(.ok()).execute(total) } == .timedOut(.total))
    }

    @Test("cancellation ends a delay; a call cancelled before its start is not recorded", .rows("PM-129", "R-67"))
    func cancellation() async {
        let started = AsyncStream.makeStream(of: Void.self)
        let mock = MockExecutor { _ in
            started.continuation.finish()
            return .ok().delayed(by: .endless)
        }
        let task = Task { try await mock.execute(request()) }
        for await _ in started.stream {}
        task.cancel()
        #expect(await reason { try await task.value } == .cancelled)
        let early = MockExecutor(.ok())
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await early.execute(request())
        }
        #expect(await reason { try await cancelled.value } == .cancelled)
        #expect(early.recordedRequests.isEmpty)
    }

    @Test("an error of the function is wrapped in a RequestError with the request")
    func handlerThrows() async {
        struct HandlerFailure: Error {}
        let mock = MockExecutor { _ in throw HandlerFailure() }
        let error = await #expect(throws: RequestError.self) { try await mock.execute(request()) }
        #expect(error?.reason == .other)
        #expect(error?.underlying is HandlerFailure)
        #expect(error?.request == request())
    }

    @Test(
        "routes match by method, template or path; an unmatched request gets a marked 500",
        .rows("PM-120", "PM-124", "PM-126"))
    func routes() async throws {
        let mock = MockExecutor(
            routes: .on(.get, "/users/{}", .ok("user")), .on(.delete, "/users/{}", .status(204)),
            .on(nil, "/any", .ok()))
        #expect(try await mock.execute(request()).bytes == Data("user".utf8))
        #expect(try await mock.execute(request(.delete)).head.status == 204)
        let any = PreparedRequest(method: .patch, target: try TargetURI("http://mock.test/any"))
        #expect(try await mock.execute(any).head.status == 200)
        let unmatched = try await mock.execute(request(.post))
        #expect(unmatched.head.status == 500)
        #expect(unmatched.head.header["X-Requests-Mock"] == "unmatched")
    }

    @Test(
        "a route pattern is compared by octets: canonically equivalent texts are different", .rows("PM-124"),
        arguments: [
            ("/caf\u{E9}", "/caf\u{E9}", true), ("/caf\u{E9}", "/cafe\u{301}", false),
            ("/users/{}", "/users/{}", true), ("/users/{}\u{301}", "/users/{}", false),
            ("/users\u{200D}/{}", "/users/{}", false), ("/\u{301}users/{}", "/users/{}", false),
            ("/users/7", "/other", true), ("/users/{}", "/other", true), ("/users/7/", "/other", false),
            ("users/7", "/other", false), ("/users//7", "/other", false), ("/{}/{}", "/other", true),
            ("/{}", "/other", false), ("/users/{}{}", "/other", false),
        ])
    func octets(pattern: String, template: String, matches: Bool) async throws {
        var request = request()
        request.pathTemplate = template
        let response = try await MockExecutor(routes: .on(.get, pattern, .status(204))).execute(request)
        #expect((response.head.status == 204) == matches)
    }

    @Test("an empty segment does not match a placeholder", .rows("PM-124"))
    func emptySegment() async throws {
        let mock = MockExecutor(routes: .on(.get, "/users/{}", .status(204)))
        for (path, status) in [("/users/", 500), ("/users", 500), ("/users/%CC%81", 204), ("/users/a/b", 500)] {
            let request = PreparedRequest(target: try TargetURI("http://mock.test\(path)"))
            #expect(try await mock.execute(request).head.status.code == status, "\(path)")
        }
    }

    @Test("the newest requests are recorded within limits, and all are counted", .rows("PM-129", "R-73"))
    func recording() async throws {
        let mock = MockExecutor(.ok())
        #expect(mock.recordedCount == 0)
        let few = mock.recording(.init(requests: 5))
        let small = mock.recording(.init(bodyBytes: 30))
        let none = mock.recording(.none)
        for number in 0..<20 {
            let request = request(.put, body: .bytes(Data(repeating: UInt8(number), count: 10)))
            for mock in [mock, few, small, none] { _ = try await mock.execute(request) }
        }
        #expect([mock, few, small, none].map(\.recordedCount) == [20, 20, 20, 20])
        #expect([mock, few, small, none].map(\.recordedRequests.count) == [20, 5, 2, 0])
        #expect(few.recordedRequests.map(\.body.firstByte) == Array(15..<20))
        #expect(small.recordedRequests.map(\.body.firstByte) == [18, 19])
        let large = request(.put, body: .bytes(Data(count: 31)))
        _ = try await small.execute(large)
        #expect(small.recordedRequests == [large])
    }

    @Test("progress counts the bytes of both bodies", .rows("HT-6"))
    func progress() async throws {
        let reports = Lock<[TransferProgress]>([])
        var post = request(.post, body: .bytes(Data("abc".utf8)))
        post.progressHandler = { progress in reports.withLock { $0.append(progress) } }
        _ = try await MockExecutor(.ok("hello")).execute(post)
        let last = try #require(reports.withLock { $0.last })
        #expect(
            last == TransferProgress(bytesSent: 3, bytesExpectedToSend: 3, bytesReceived: 5, bytesExpectedToReceive: 5))
    }
}

extension RequestBody {
    fileprivate var firstByte: UInt8? { if case .bytes(let data) = self { data.first } else { nil } }
}

private struct Chunks: RequestBody.Source {
    struct SourceFailure: Error {}

    private var remainder: ArraySlice<String>
    private let isFailing: Bool

    init(_ texts: [String], failing isFailing: Bool = false) {
        remainder = texts[...]
        self.isFailing = isFailing
    }

    mutating func next() throws -> Data? {
        guard let text = remainder.popFirst() else {
            if isFailing { throw SourceFailure() }
            return nil
        }
        return Data(text.utf8)
    }
}
