import Synchronization

/// The environment of a scenario: an executor under test, and a server or a mock that responds.
struct ScenarioContext: Sendable {
    let subject: ExecutorUnderTest

    /// Whether a mock responds for any host, without a connection.
    var isInMemory: Bool { subject.transport == .memory }

    /// Runs `body` with the executor under test.
    ///
    /// `mock` creates the responses, and `behavior` determines how each is sent.
    ///
    /// In memory the mock is the executor. It simulates the faults; framing, pace and limits have no effect.
    func run(
        serving mock: MockExecutor, limits: TestServer.Limits = TestServer.Limits(),
        behaving behavior: @escaping @Sendable (_ connection: Int, _ exchange: Int) -> TestServer.Behavior,
        _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        switch subject.transport {
        case .memory:
            let counter = Counter()
            let faulty = MockExecutor { request in
                let exchange = counter.next()
                let response = try await mock.response(to: request)
                return try response.simulating(behavior(0, exchange).fault)
            }
            try await body(
                ScenarioClient(
                    executor: subject.callStyle.executor(over: faulty), baseURL: ScenarioClient.memoryURL, server: nil,
                    mock: faulty, sharesConnections: false))
        case .loopback:
            try await run(serving: mock, on: .loopback(), limits: limits, behaving: behavior, body)
        case .tls:
            try await run(serving: mock, on: .loopback(), tls: .init(), limits: limits, behaving: behavior, body)
        case .unixSocket:
            try await run(serving: mock, on: .temporarySocket(), limits: limits, behaving: behavior, body)
        }
    }

    private func run(
        serving mock: MockExecutor, on address: TestServer.Address, tls: TestServer.TLS? = nil,
        limits: TestServer.Limits,
        behaving behavior: @escaping @Sendable (Int, Int) -> TestServer.Behavior,
        _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        try await withTestServer(
            serving: mock, on: address, using: subject.version, tls: tls, limits: limits, behaving: behavior
        ) { server in
            let executor = subject.callStyle.executor(
                over: subject.makeExecutor(server.socketPath ?? "", server.clientTLS))
            try await body(
                ScenarioClient(
                    executor: executor, baseURL: server.baseURL, server: server, mock: mock,
                    sharesConnections: subject.version != .http1))
        }
    }

    /// Runs `body` with the executor under test; all responses are sent as `behavior` determines.
    func run(
        serving mock: MockExecutor = MockExecutor(.ok()), behaving behavior: TestServer.Behavior = .standard,
        _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        try await run(serving: mock, behaving: { _, _ in behavior }, body)
    }

    /// Runs `body` with the executor under test; every response has `fault`.
    func run(
        serving mock: MockExecutor = MockExecutor(.ok()), fault: TestServer.Fault,
        _ body: (ScenarioClient) async throws -> Void
    ) async throws {
        try await run(serving: mock, behaving: .failing(fault), body)
    }

    /// The scheme of URLs in scenarios that have their own address.
    var scheme: String { subject.transport == .tls ? "https" : "http" }

    /// Returns an executor without a server, for scenarios that have their own address.
    ///
    /// No handshake takes place there, so the executor does not need the certificates of the system.
    func executor() -> any RequestExecutor {
        let tls = TLSConfiguration(trust: .insecureSkipsVerification)
        return subject.callStyle.executor(over: subject.makeExecutor("/nowhere/there.sock", tls))
    }
}

final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    /// Counts a call, and returns the number of calls before it.
    @discardableResult
    func next() -> Int { count.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue }
}

extension MockResponse {
    /// Returns this response as a client receives it with `fault`.
    fileprivate func simulating(_ fault: TestServer.Fault?) throws -> MockResponse {
        var copy = self
        switch fault {
        case .closeBeforeHead, .resetBeforeHead, .truncateHead, .resetStream(_, nil):
            throw RequestError(.connectionLost)
        case .raw, .rawWithoutClosing: throw RequestError(.protocolViolation)
        case .stallBeforeHead: copy.delay = .endless
        case .truncateBody(let byte), .resetBody(let byte), .resetStream(_, let byte?):
            copy.body = body.prefix(bytes: byte) + [.failure(RequestError(.connectionLost))]
        // The last event is never sent; it makes the body incomplete.
        case .stallBody(let byte): copy.body = body.prefix(bytes: byte) + [.pause(.endless), .bytes(Data([0]))]
        case .unsolicitedBytes, .unannouncedClose, nil: break
        }
        return copy
    }
}

extension [MockResponse.BodyEvent] {
    /// Returns the events up to the first `bytes` bytes.
    fileprivate func prefix(bytes: Int) -> [MockResponse.BodyEvent] {
        var remainder = bytes
        return map { event in
            guard case .bytes(let data) = event else { return event }
            defer { remainder -= Swift.min(remainder, data.count) }
            return .bytes(data.prefix(remainder))
        }
    }
}
