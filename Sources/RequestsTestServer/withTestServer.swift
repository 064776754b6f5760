import RequestsPOSIX

/// Runs a test server for the time of `body`.
///
/// When it returns, every thread of the server has ended and every descriptor is closed. An executor whose exchange is
/// under way then is cancelled; one that ignores this delays the end.
///
/// - Parameters:
///   - executor: Answers the requests; its responses are asked for streamed, without limits.
///   - address: Where to listen.
///   - limits: What is taken of a request, and of all clients together.
///   - behavior: How each response is sent, by the index of the connection and of the exchange on it, both from 0.
///   - body: What to do with the server.
/// - Returns: What `body` gives.
/// - Throws: What `body` throws, or the system's error when the server cannot be started.
@discardableResult
public func withTestServer<Value>(
    serving executor: any RequestExecutor, on address: TestServer.Address = .loopback(),
    limits: TestServer.Limits = TestServer.Limits(),
    behaving behavior: @escaping @Sendable (_ connection: Int, _ exchange: Int) -> Behavior,
    _ body: (TestServer) async throws -> Value
) async throws -> Value {
    let state = ServerState(executor: executor, limits: limits, behavior: behavior)
    let bound = try start(state, on: address)
    let result: Result<Value, any Error>
    do {
        result = .success(try await body(TestServer(state: state, address: bound)))
    } catch {
        result = .failure(error)
    }
    await state.stop()
    if case .unix(let path) = bound { try? FileManager.default.removeItem(atPath: path) }
    return try result.get()
}

/// Runs a test server for the time of `body`, all of whose responses are sent in the same way.
///
/// - Parameters:
///   - executor: Answers the requests.
///   - address: Where to listen.
///   - limits: What is taken of a request, and of all clients together.
///   - behavior: How each response is sent.
///   - body: What to do with the server.
/// - Returns: What `body` gives.
/// - Throws: What `body` throws, or the system's error when the server cannot be started.
@discardableResult
public func withTestServer<Value>(
    serving executor: any RequestExecutor, on address: TestServer.Address = .loopback(),
    limits: TestServer.Limits = TestServer.Limits(), behaving behavior: Behavior = .standard,
    _ body: (TestServer) async throws -> Value
) async throws -> Value {
    try await withTestServer(serving: executor, on: address, limits: limits, behaving: { _, _ in behavior }, body)
}

/// Runs a test server for the time of `body`, with every response of which `fault` happens.
///
/// - Parameters:
///   - executor: Answers the requests.
///   - address: Where to listen.
///   - limits: What is taken of a request, and of all clients together.
///   - fault: What goes wrong.
///   - body: What to do with the server.
/// - Returns: What `body` gives.
/// - Throws: What `body` throws, or the system's error when the server cannot be started.
@discardableResult
public func withTestServer<Value>(
    serving executor: any RequestExecutor, on address: TestServer.Address = .loopback(),
    limits: TestServer.Limits = TestServer.Limits(), fault: Fault, _ body: (TestServer) async throws -> Value
) async throws -> Value {
    try await withTestServer(serving: executor, on: address, limits: limits, behaving: .failing(fault), body)
}

/// The listener's descriptor is the threads' alone once this has returned.
private func start(_ state: ServerState, on address: TestServer.Address) throws -> TestServer.Address {
    let listener = try Listener(address)
    try state.start(listener)
    return listener.address
}
