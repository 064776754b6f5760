import RequestsConformance
import RequestsURLSession
import Synchronization
import TestSupport
import Testing

private typealias Texts = Request<ServerAPI, String>

/// The values that a completion handler receives, for which a test can wait.
private struct EventRecorder<Value: Sendable>: Sendable {
    private let stream = AsyncStream.makeStream(of: Value.self)

    func record(_ value: Value) { stream.continuation.yield(value) }

    /// Waits for the next value.
    func next() async throws -> Value {
        for await value in stream.stream { return value }
        throw CancellationError()
    }
}

/// The result of a completion handler: the status and the text, or an error.
private typealias Outcome = Result<String, RequestTransportError>

extension URLSession {
    /// Performs `request` as an app would, and waits for its completion.
    fileprivate func outcome(
        of request: Texts, validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil,
        configureTask: (URLSessionTask) -> Void = { _ in }
    ) async throws -> Outcome {
        let results = EventRecorder<Outcome>()
        perform(
            request, validateResponse: validateResponse, callbackQueue: DispatchQueue(label: "test.completion"),
            configureTask: configureTask
        ) { results.record($0.map { "\($0.statusCode) \($1)" }) }
        return try await results.next()
    }
}

extension Outcome {
    fileprivate var failure: RequestTransportError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

@Suite("URLSession.perform of 0.3.2", .timeLimit(.minutes(10)))
struct URLSessionPerformTests {
    private let session = URLSession(configuration: .ephemeral)
    private let api = ServerAPI(baseURL: URL("http://127.0.0.1:1"))

    /// Serves `response`, and returns the result of a GET that decodes it as text.
    private func outcome(
        _ response: MockResponse, behaving behavior: TestServer.Behavior = .standard,
        validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil
    ) async throws -> Outcome {
        try await withTestServer(serving: MockExecutor(response), behaving: behavior) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text(encoding: .utf8), from: "/x")
            return try await session.outcome(of: request, validateResponse: validateResponse)
        }
    }

    @Test("the completion runs on the main actor or on the given queue", .rows("RQ-28", "C31"))
    func success() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text, from: "/x")
            let results = EventRecorder<Outcome>()
            session.perform(request) { result in
                MainActor.preconditionIsolated()
                results.record(result.map { "\($0.statusCode) \($1)" })
            }
            let first = try await results.next().get()
            #expect(first == "200 hi")
            let queue = DispatchQueue(label: "test.completion")
            session.perform(request, callbackQueue: queue) { result in
                dispatchPrecondition(condition: .onQueue(queue))
                results.record(result.map { "\($0.statusCode) \($1)" })
            }
            let second = try await results.next().get()
            #expect(second == "200 hi")
        }
    }

    @Test("a request that cannot be converted fails without a task, a request and a response", .rows("T-18", "RQ-29"))
    func conversion() async throws {
        enum ProviderFailure: Error { case body }
        let requests: [(Texts, (any Error) -> Bool)] = [
            (api.get(.text, from: "/a?b"), { $0 is InvalidRequestURLError }),
            (
                api.post(BodyProvider { _ in throw ProviderFailure.body }, to: "/x", receiving: .text),
                { $0 is ProviderFailure }
            ),
            (api.get(.text, from: "/x").using(method: "a b"), { $0 is RequestError }),
        ]
        for (request, isExpected) in requests {
            let error = try await session.outcome(of: request, configureTask: { _ in Issue.record("unexpected task") })
                .failure
            #expect(error?.request == nil && error?.response == nil && error?.httpResponse == nil)
            #expect(error.map { isExpected($0.underlyingError) } == true, "\(request)")
            #expect(error?.error.mayHaveReachedServer == false)
        }
    }

    @Test("without a response, the error contains the session's error and the request", .rows("RQ-29", "RQ-32"))
    func noResponse() async throws {
        let error = try await outcome(.ok(), behaving: .failing(.closeBeforeHead)).failure
        #expect((error?.underlyingError as? URLError)?.code == .badServerResponse)
        #expect(error?.error.reason == .connectionLost)
        #expect(error?.request?.url?.path() == "/x" && error?.response == nil)
    }

    @Test("a truncated response results in an error with the response, which is not validated", .rows("RQ-29"))
    func truncated() async throws {
        let error = try await outcome(.ok("0123456789"), behaving: .failing(.truncateBody(atByte: 3))) { _ in
            Issue.record("unexpected validation")
            return true
        }.failure
        #expect(error?.underlyingError is URLError && error?.httpResponse?.statusCode == 200)
    }

    @Test("a validation that rejects the response or throws runs before the decoder", .rows("RQ-29", "RQ-32", "T-17"))
    func validation() async throws {
        enum ValidationFailure: Error { case teapot }
        let undecodable = MockResponse.data(Data([0xFF]))
        let rejected = try await outcome(undecodable, validateResponse: { $0.statusCode == 404 }).failure
        #expect((rejected?.underlyingError as? RequestError)?.reason == .unacceptableStatus)
        #expect(rejected?.httpResponse?.statusCode == 200 && rejected?.request != nil)
        let thrown = try await outcome(undecodable, validateResponse: { _ in throw ValidationFailure.teapot }).failure
        #expect(thrown?.underlyingError is ValidationFailure && thrown?.httpResponse?.statusCode == 200)
        let text = try await outcome(.ok("hi"), validateResponse: { $0.statusCode == 200 }).get()
        #expect(text == "200 hi")
    }

    @Test("responses are not validated by default: a 404 that decodes is a success", .rows("RQ-31", "T-17", "C11"))
    func missing() async throws {
        let text = try await outcome(.status(404, "none")).get()
        #expect(text == "404 none")
    }

    @Test("an error of the decoder contains the request and the response", .rows("RQ-30"))
    func undecodable() async throws {
        let error = try await outcome(.data(Data([0xFF]))).failure
        #expect(error?.error.reason == .decodingFailed)
        #expect(error?.httpResponse?.statusCode == 200 && error?.request?.url?.path() == "/x")
    }

    @Test("a missing body is an error with the request and the response", .rows("RQ-32", "T-16"))
    func noContent() async throws {
        let error = try await outcome(.status(204)).failure
        #expect((error?.underlyingError as? RequestError)?.reason == .unexpectedNoContent)
        #expect(error?.httpResponse?.statusCode == 204 && error?.request != nil)
    }

    @Test("the decoder of Void is not called, whatever the body", .rows("RQ-30", "T-15"), arguments: ["", "junk"])
    func void(body: String) async throws {
        try await withTestServer(serving: MockExecutor(.ok(body))) { server in
            let decoder = ResponseDecoder<Void> { (_: ResponseHead, _: Data) in Issue.record("unexpected decoding") }
            let request = ServerAPI(baseURL: server.baseURL).delete("/x").receiving(decoder)
            let results = EventRecorder<Bool>()
            session.perform(request, callbackQueue: DispatchQueue(label: "test.completion")) { result in
                results.record((try? result.get()) != nil)
            }
            let isSuccess = try await results.next()
            #expect(isSuccess)
        }
    }

    @Test("the decoder runs on the decoding queue", .rows("RQ-30"))
    func decodingQueue() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let queue = DispatchQueue(label: "test.decoding")
            let key = DispatchSpecificKey<Bool>()
            queue.setSpecific(key: key, value: true)
            let decoder = ResponseDecoder<Bool> { (_: ResponseHead, _: Data) in
                DispatchQueue.getSpecific(key: key) == true
            }
            let results = EventRecorder<Bool?>()
            let request = ServerAPI(baseURL: server.baseURL).get(decoder, from: "/x")
            session.perform(request, decodingQueue: queue) { results.record(try? $0.get().1) }
            let isThere = try await results.next()
            #expect(isThere == true)
        }
    }
}

@Suite("The task of URLSession.perform", .timeLimit(.minutes(10)))
struct URLSessionPerformTaskTests {
    private let session = URLSession(configuration: .ephemeral)
    private let queue = DispatchQueue(label: "test.completion")

    @Test("the task is configured once, before it starts and before the call returns", .rows("RQ-28", "RQ-29"))
    func configured() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text, from: "/x")
            var states: [URLSessionTask.State] = []
            let results = EventRecorder<Void>()
            session.perform(request, callbackQueue: queue, configureTask: { states.append($0.state) }) { _ in
                results.record(())
            }
            #expect(states == [.suspended])
            try await results.next()
            #expect(server.exchanges.map(\.target) == ["/x"])
        }
    }

    @Test("a task that is cancelled while it is configured sends nothing", .rows("RQ-28", "T-61"))
    func cancelledBefore() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hi"))) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text, from: "/x")
            let error = try await session.outcome(of: request, configureTask: { $0.cancel() }).failure
            #expect((error?.underlyingError as? URLError)?.code == .cancelled)
            #expect(server.exchanges.isEmpty)
        }
    }

    @Test(
        "cancelling the task, or the returned call, ends it with a cancellation", .rows("RQ-28", "PM-81", "T-61"),
        arguments: [false, true])
    func cancelled(byReturned: Bool) async throws {
        let mock = MockExecutor(MockResponse.ok().delayed(by: .endless))
        try await withTestServer(serving: mock) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text, from: "/x")
            let results = EventRecorder<RequestTransportError?>()
            var task: URLSessionTask?
            let call = session.perform(request, callbackQueue: queue, configureTask: { task = $0 }) { result in
                if case .failure(let error) = result { results.record(error) } else { results.record(nil) }
            }
            try await server.waitUntil { $0.exchanges.count { $0.isComplete } == 1 }
            byReturned ? call.cancel() : task?.cancel()
            let error = try await results.next()
            #expect((error?.underlyingError as? URLError)?.code == .cancelled)
            #expect(error?.error.isCancellation == true && error?.request != nil)
            #expect(call.state == .cancelled)
        }
    }

    @Test("a time limit of the request results in a timeout error of URLSession", .rows("RQ-32"))
    func timedOut() async throws {
        try await withTestServer(serving: MockExecutor(.ok()), fault: .stallBeforeHead) { server in
            let request = ServerAPI(baseURL: server.baseURL).get(.text, from: "/x").timeout(after: 0.05)
            let error = try await session.outcome(of: request).failure
            #expect((error?.underlyingError as? URLError)?.code == .timedOut)
            #expect(error?.error.reason == .timedOut(.firstByte))
        }
    }

    @Test("a streamed body is sent in chunks, by a task that is configured once", .rows("RQ-22", "RQ-28"))
    func streamed() async throws {
        try await withTestServer(serving: echo) { server in
            let body = BodyProvider.raw(stream: InputStream(data: Data(repeating: 0x61, count: 100_000)))
            let request = ServerAPI(baseURL: server.baseURL).post(body, to: "/x", receiving: .text)
            let results = EventRecorder<(Int?, TransferProgress)>()
            var count = 0
            let last = Mutex(TransferProgress())
            session.perform(
                request.onProgress { progress in last.withLock { $0 = progress } }, callbackQueue: queue,
                configureTask: { _ in count += 1 }
            ) { results.record((try? $0.get().1.utf8.count, last.withLock { $0 })) }
            #expect(count == 1)
            let (length, progress) = try await results.next()
            #expect(length == 100_000 && progress.bytesSent == 100_000)
            #expect(server.exchanges.first?.header[.transferEncoding] == "chunked")
        }
    }

    @Test(
        "the task has the configuration of the session, and a redirect keeps its description", .rows("RQ-28", "PM-10"))
    func configuration() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [RedirectProtocol.self]
        let session = URLSession(configuration: configuration)
        let request = ServerAPI(baseURL: URL("http://api.example.com")).get(.text, from: "/moved")
        let outcome = try await session.outcome(of: request, configureTask: { $0.taskDescription = "ours" })
        let text = try outcome.get()
        #expect(text == "200 /here for ours")
    }

    @Test(
        "the task of a request has its priority", .rows("PM-27"),
        arguments: [
            (RequestOptions.userInitiated, 0.75), (RequestOptions(priority: .background), 0.25),
            (RequestOptions(priority: .medium), 0.5), (RequestOptions(), 0.5),
        ] as [(RequestOptions, Float)])
    func priority(options: RequestOptions, priority: Float) async throws {
        let request = ServerAPI(baseURL: URL("http://127.0.0.1:1")).get(.text, from: "/x").with(options: options)
        var found: Float?
        _ = try await session.outcome(of: request, configureTask: { found = $0.priority })
        #expect(found == priority)
    }
}

/// Responds in the process: to `/moved` with a redirect, to other paths with the path and the description of the task.
private final class RedirectProtocol: URLProtocol {
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
        client?.urlProtocol(self, didLoad: Data("\(url.path()) for \(task?.taskDescription ?? "no task")".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}
