import RequestsConformance
import RequestsURLSession
import Synchronization
import Testing

private typealias Texts = Request<Place, String>

/// Where a completion leaves what it was given, and a test waits for it.
private struct Told<Value: Sendable>: Sendable {
    private let stream = AsyncStream.makeStream(of: Value.self)

    func tell(_ value: Value) { stream.continuation.yield(value) }

    /// The next value that is told.
    func next() async throws -> Value {
        for await value in stream.stream { return value }
        throw CancellationError()
    }
}

/// What a completion was given: the status and the text, or an error.
private typealias Outcome = Result<String, RequestTransportError>

extension URLSession {
    /// Performs `request` as an app would, and waits for its completion.
    fileprivate func outcome(
        of request: Texts, validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil,
        configureTask: (URLSessionTask) -> Void = { _ in }
    ) async throws -> Outcome {
        let told = Told<Outcome>()
        perform(
            request, validateResponse: validateResponse, callbackQueue: DispatchQueue(label: "test.completion"),
            configureTask: configureTask
        ) { told.tell($0.map { "\($0.statusCode) \($1)" }) }
        return try await told.next()
    }
}

extension Outcome {
    fileprivate var failure: RequestTransportError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

@Suite("URLSession.perform of 0.3.2", .timeLimit(.minutes(5)))
struct URLSessionPerformTests {
    private let session = URLSession(configuration: .ephemeral)
    private let place = Place(baseURL: URL("http://127.0.0.1:1"))

    /// Serves `response` and gives what comes of GETting it as text.
    private func outcome(
        _ response: MockResponse, behaving behavior: Behavior = .standard,
        validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil
    ) async throws -> Outcome {
        try await withTestServer(serving: MockExecutor(response), behaving: behavior) { server in
            let request = Place(baseURL: server.baseURL).get(.text(encoding: .utf8), from: "/x")
            return try await session.outcome(of: request, validateResponse: validateResponse)
        }
    }

    @Test("the response and the value come on the main actor, or on the queue that is asked for (RQ-28, C31)")
    func success() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let request = Place(baseURL: server.baseURL).get(.text, from: "/x")
            let told = Told<Outcome>()
            session.perform(request) { result in
                MainActor.preconditionIsolated()
                told.tell(result.map { "\($0.statusCode) \($1)" })
            }
            let first = try await told.next().get()
            #expect(first == "200 hi")
            let queue = DispatchQueue(label: "test.completion")
            session.perform(request, callbackQueue: queue) { result in
                dispatchPrecondition(condition: .onQueue(queue))
                told.tell(result.map { "\($0.statusCode) \($1)" })
            }
            let second = try await told.next().get()
            #expect(second == "200 hi")
        }
    }

    @Test("a request that cannot be converted fails without request and response, no task is made (T-18, RQ-29)")
    func conversion() async throws {
        enum Broken: Error { case body }
        let requests: [(Texts, (any Error) -> Bool)] = [
            (place.get(.text, from: "/a?b"), { $0 is InvalidRequestURLError }),
            (place.post(BodyProvider { _ in throw Broken.body }, to: "/x", receiving: .text), { $0 is Broken }),
            (place.get(.text, from: "/x").using(method: "a b"), { $0 is RequestError }),
        ]
        for (request, isExpected) in requests {
            let error = try await session.outcome(of: request, configureTask: { _ in Issue.record("a task was made") })
                .failure
            #expect(error?.request == nil && error?.response == nil && error?.httpResponse == nil)
            #expect(error.map { isExpected($0.underlyingError) } == true, "\(request)")
            #expect(error?.error.mayHaveReachedServer == false)
        }
    }

    @Test("no response: the session's error, and the request (RQ-29, RQ-32)")
    func noResponse() async throws {
        let error = try await outcome(.ok(), behaving: .failing(.closeBeforeHead)).failure
        #expect((error?.underlyingError as? URLError)?.code == .badServerResponse)
        #expect(error?.error.reason == .connectionLost)
        #expect(error?.request?.url?.path() == "/x" && error?.response == nil)
    }

    @Test("a response and an error: the error, with the response; nothing validates or decodes it (RQ-29)")
    func cutShort() async throws {
        let error = try await outcome(.ok("0123456789"), behaving: .failing(.truncateBody(atByte: 3))) { _ in
            Issue.record("validated")
            return true
        }.failure
        #expect(error?.underlyingError is URLError && error?.httpResponse?.statusCode == 200)
    }

    @Test("a validation that refuses, or throws, comes before the decoder (RQ-29, T-17)")
    func validation() async throws {
        enum Refusal: Error { case teapot }
        let broken = MockResponse.data(Data([0xFF]))
        let refused = try await outcome(broken, validateResponse: { $0.statusCode == 404 }).failure
        #expect((refused?.underlyingError as? RequestError)?.reason == .unacceptableStatus)
        #expect(refused?.httpResponse?.statusCode == 200 && refused?.request != nil)
        let thrown = try await outcome(broken, validateResponse: { _ in throw Refusal.teapot }).failure
        #expect(thrown?.underlyingError is Refusal && thrown?.httpResponse?.statusCode == 200)
        let text = try await outcome(.ok("hi"), validateResponse: { $0.statusCode == 200 }).get()
        #expect(text == "200 hi")
    }

    @Test("nothing is validated by default: a 404 that decodes is a success (RQ-31, T-17, C11)")
    func missing() async throws {
        let text = try await outcome(.status(404, "none")).get()
        #expect(text == "404 none")
    }

    @Test("what the decoder throws keeps request and response (RQ-30)")
    func undecodable() async throws {
        let error = try await outcome(.data(Data([0xFF]))).failure
        #expect(error?.error.reason == .notDecoded)
        #expect(error?.httpResponse?.statusCode == 200 && error?.request?.url?.path() == "/x")
    }

    @Test("no body where text is needed is an error with request and response (T-16)")
    func noContent() async throws {
        let error = try await outcome(.status(204)).failure
        #expect((error?.underlyingError as? RequestError)?.reason == .unexpectedNoContent)
        #expect(error?.httpResponse?.statusCode == 204 && error?.request != nil)
    }

    @Test("Void asks no decoder, whatever the body (RQ-30, T-15)", arguments: ["", "junk"])
    func void(body: String) async throws {
        try await withTestServer(serving: MockExecutor(.ok(body))) { server in
            let decoder = ResponseDecoder<Void> { (_: ResponseHead, _: Data) in Issue.record("decoded") }
            let request = Place(baseURL: server.baseURL).delete("/x").receiving(decoder)
            let told = Told<Bool>()
            session.perform(request, callbackQueue: DispatchQueue(label: "test.completion")) { result in
                told.tell((try? result.get()) != nil)
            }
            let isSuccess = try await told.next()
            #expect(isSuccess)
        }
    }

    @Test("the decoder runs on the decoding queue (RQ-30)")
    func decodingQueue() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let queue = DispatchQueue(label: "test.decoding")
            let key = DispatchSpecificKey<Bool>()
            queue.setSpecific(key: key, value: true)
            let decoder = ResponseDecoder<Bool> { (_: ResponseHead, _: Data) in
                DispatchQueue.getSpecific(key: key) == true
            }
            let told = Told<Bool?>()
            let request = Place(baseURL: server.baseURL).get(decoder, from: "/x")
            session.perform(request, decodingQueue: queue) { told.tell(try? $0.get().1) }
            let isThere = try await told.next()
            #expect(isThere == true)
        }
    }
}

@Suite("The task of URLSession.perform", .timeLimit(.minutes(5)))
struct URLSessionPerformTaskTests {
    private let session = URLSession(configuration: .ephemeral)
    private let queue = DispatchQueue(label: "test.completion")

    @Test("is configured once, before it starts and before the call returns (RQ-28, RQ-29)")
    func configured() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let request = Place(baseURL: server.baseURL).get(.text, from: "/x")
            var states: [URLSessionTask.State] = []
            let told = Told<Void>()
            session.perform(request, callbackQueue: queue, configureTask: { states.append($0.state) }) { _ in
                told.tell(())
            }
            #expect(states == [.suspended])
            try await told.next()
            #expect(server.exchanges.map(\.target) == ["/x"])
        }
    }

    @Test("cancelled while it is configured, it sends nothing (RQ-28)")
    func cancelledBefore() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let request = Place(baseURL: server.baseURL).get(.text, from: "/x")
            let error = try await session.outcome(of: request, configureTask: { $0.cancel() }).failure
            #expect((error?.underlyingError as? URLError)?.code == .cancelled)
            #expect(server.exchanges.isEmpty)
        }
    }

    @Test(
        "cancelled by itself, or by what the call returns, it ends as a cancellation (RQ-28, PM-81)",
        arguments: [false, true])
    func cancelled(byReturned: Bool) async throws {
        let mock = MockExecutor(MockResponse.ok().delayed(by: .endless))
        try await withTestServer(serving: mock) { server in
            let request = Place(baseURL: server.baseURL).get(.text, from: "/x")
            let told = Told<RequestTransportError?>()
            var task: URLSessionTask?
            let call = session.perform(request, callbackQueue: queue, configureTask: { task = $0 }) { result in
                if case .failure(let error) = result { told.tell(error) } else { told.tell(nil) }
            }
            try await server.waitUntil { $0.exchanges.count { $0.isComplete } == 1 }
            byReturned ? call.cancel() : task?.cancel()
            let error = try await told.next()
            #expect((error?.underlyingError as? URLError)?.code == .cancelled)
            #expect(error?.error.isCancellation == true && error?.request != nil)
            #expect(call.state == .cancelled)
        }
    }

    @Test("a limit of the request ends it as URLSession's own would (RQ-32)")
    func timedOut() async throws {
        try await withTestServer(serving: MockExecutor(.ok()), fault: .stallBeforeHead) { server in
            let request = Place(baseURL: server.baseURL).get(.text, from: "/x").timeout(after: 0.05)
            let error = try await session.outcome(of: request).failure
            #expect((error?.underlyingError as? URLError)?.code == .timedOut)
            #expect(error?.error.reason == .timedOut(.firstByte))
        }
    }

    @Test("a body that is a stream is sent in chunks, its task configured as any other (RQ-22, RQ-28)")
    func streamed() async throws {
        try await withTestServer(serving: echo) { server in
            let body = BodyProvider.raw(stream: InputStream(data: Data(repeating: 0x61, count: 100_000)))
            let request = Place(baseURL: server.baseURL).post(body, to: "/x", receiving: .text)
            let told = Told<(Int?, TransferProgress)>()
            var count = 0
            let last = Mutex(TransferProgress())
            session.perform(
                request.onProgress { progress in last.withLock { $0 = progress } }, callbackQueue: queue,
                configureTask: { _ in count += 1 }
            ) { told.tell((try? $0.get().1.utf8.count, last.withLock { $0 })) }
            #expect(count == 1)
            let (length, progress) = try await told.next()
            #expect(length == 100_000 && progress.sent == 100_000)
            #expect(server.exchanges.first?.header[.transferEncoding] == "chunked")
        }
    }

    @Test("is one of a session with this one's configuration; after a redirect the next is like it (RQ-28, PM-10)")
    func configuration() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Hall.self]
        let session = URLSession(configuration: configuration)
        let request = Place(baseURL: URL("http://hall.example.com")).get(.text, from: "/moved")
        let outcome = try await session.outcome(of: request, configureTask: { $0.taskDescription = "ours" })
        let text = try outcome.get()
        #expect(text == "200 /here for ours")
    }
}

/// Answers every request in the process: `/moved` with a redirect, others with their path and their task's description.
private final class Hall: URLProtocol {
    override static func canInit(with request: URLRequest) -> Bool { true }

    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url else { return }
        let isMoved = url.path() == "/moved"
        guard
            let response = HTTPURLResponse(
                url: url, statusCode: isMoved ? 302 : 200, httpVersion: "HTTP/1.1",
                headerFields: isMoved ? ["Location": "/here"] : [:])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("\(url.path()) for \(task?.taskDescription ?? "nobody")".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}
