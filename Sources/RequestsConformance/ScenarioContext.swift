import Synchronization

/// What a scenario runs in: an executor under test, and a server or a mock to answer it.
struct ScenarioContext: Sendable {
    let subject: ExecutorUnderTest

    /// Whether a mock answers for any host, without a connection.
    var isInMemory: Bool { subject.transport == .memory }

    /// Runs `body` with the executor under test, its requests answered by `mock`, each response sent as `behavior` says.
    ///
    /// In memory the mock is the executor; it plays the faults, and framing, pace and limits mean nothing.
    func run(
        serving mock: MockExecutor, limits: TestServer.Limits = TestServer.Limits(),
        behaving behavior: @escaping @Sendable (_ connection: Int, _ exchange: Int) -> Behavior,
        _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        switch subject.transport {
        case .memory:
            let counter = Counter()
            let faulty = MockExecutor { request in
                let exchange = counter.next()
                let response = try await mock.response(to: request)
                return try response.playing(behavior(0, exchange).fault)
            }
            try await body(
                ScenarioClient(
                    executor: subject.face.executor(over: faulty), baseURL: ScenarioClient.memoryURL, server: nil,
                    mock: faulty))
        case .loopback:
            try await run(serving: mock, on: .loopback(), limits: limits, behaving: behavior, body)
        case .unixSocket:
            try await run(serving: mock, on: .temporarySocket(), limits: limits, behaving: behavior, body)
        }
    }

    private func run(
        serving mock: MockExecutor, on address: TestServer.Address, limits: TestServer.Limits,
        behaving behavior: @escaping @Sendable (Int, Int) -> Behavior, _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        try await withTestServer(serving: mock, on: address, limits: limits, behaving: behavior) { server in
            let executor = subject.face.executor(over: subject.makeExecutor(server.socketPath ?? ""))
            try await body(
                ScenarioClient(executor: executor, baseURL: server.baseURL, server: server, mock: mock))
        }
    }

    /// The same, with all responses sent in one way.
    func run(
        serving mock: MockExecutor = MockExecutor(.ok()), behaving behavior: Behavior = .standard,
        _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        try await run(serving: mock, behaving: { _, _ in behavior }, body)
    }

    /// The same, with `fault` in every response.
    func run(
        serving mock: MockExecutor = MockExecutor(.ok()), fault: Fault, _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        try await run(serving: mock, behaving: .failing(fault), body)
    }

    /// An executor without a server, for scenarios that bring their own address.
    func executor() -> any RequestExecutor {
        subject.face.executor(over: subject.makeExecutor("/nowhere/there.sock"))
    }
}

/// Counts exchanges.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    /// The number of calls before this one.
    @discardableResult
    func next() -> Int { count.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue }
}

extension MockResponse {
    /// This response as a client sees it when `fault` happens to it.
    fileprivate func playing(_ fault: Fault?) throws -> MockResponse {
        var copy = self
        switch fault {
        case .closeBeforeHead, .resetBeforeHead, .truncateHead: throw RequestError(.connectionLost)
        case .raw, .rawWithoutClosing: throw RequestError(.protocolViolation)
        case .stallBeforeHead: copy.delay = .endless
        case .truncateBody(let byte), .resetBody(let byte):
            copy.body = body.prefix(bytes: byte) + [.failure(RequestError(.connectionLost))]
        case .stallBody(let byte): copy.body = body.prefix(bytes: byte) + [.pause(.endless), .bytes(Data([0]))]
        case .extraBytes, .closeAfterResponse, nil: break
        }
        return copy
    }
}

extension [MockResponse.Piece] {
    /// The pieces up to so many bytes.
    fileprivate func prefix(bytes: Int) -> [MockResponse.Piece] {
        var rest = bytes
        return map { piece in
            guard case .bytes(let data) = piece else { return piece }
            defer { rest -= Swift.min(rest, data.count) }
            return .bytes(data.prefix(rest))
        }
    }
}
