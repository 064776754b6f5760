import RequestsPOSIX

/// Runs a test server while `body` runs.
///
/// When the function returns, every thread of the server has ended and every descriptor is closed. An exchange that the
/// executor still performs is cancelled; an executor that ignores cancellation delays the end.
///
/// An executor or a body that is suspended when the client leaves is cancelled within 50 ms, and the connection is
/// closed. A client that ends only its sending side (a half-close) counts as one that has left: over TCP the two look
/// the same until the server writes, and the clients of this package never end only one side.
///
/// If the executor throws an error of a connection, such as `connectionLost`, the server closes the connection, or, in
/// HTTP/2, resets the stream. For other errors it responds with the description of the error and a status: 400 if the
/// request is invalid; 429 or 503, with Retry-After if the delay is known, if middleware that protects the executor
/// refuses the request; 501 if repeating the request cannot help, for example if no stub of a mock matches; otherwise
/// 500.
///
/// - Parameters:
///   - executor: The executor that responds to the requests, which specify a streamed delivery and no time limits.
///   - address: The address on which the server listens.
///   - version: The version of HTTP that the server uses.
///   - tls: The TLS of the server; nil for none.
///   - limits: The limits of requests, and of all clients together.
///   - behavior: The behavior of each response, by the numbers of the connection and the exchange on it, from 0.
///   - body: The function to run with the server.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the error of the system or of TLS if the server cannot be
///   started.
@discardableResult
public func withTestServer<Value>(
    serving executor: any RequestExecutor, on address: TestServer.Address = .loopback(),
    using version: TestServer.Version = .http1, tls: TestServer.TLS? = nil,
    limits: TestServer.Limits = TestServer.Limits(),
    behaving behavior: @escaping @Sendable (_ connection: Int, _ exchange: Int) -> TestServer.Behavior,
    _ body: (TestServer) async throws -> Value
) async throws -> Value {
    let state = ServerState(
        executor: executor, version: version, limits: limits,
        security: try tls.map { try ServerSecurity($0, using: version) }, behavior: behavior)
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

/// Runs a test server while `body` runs, with the same behavior for all responses.
///
/// - Parameters:
///   - executor: The executor that responds to the requests.
///   - address: The address on which the server listens.
///   - version: The version of HTTP that the server uses.
///   - tls: The TLS of the server; nil for none.
///   - limits: The limits of requests, and of all clients together.
///   - behavior: The behavior of all responses.
///   - body: The function to run with the server.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the error of the system or of TLS if the server cannot be
///   started.
@discardableResult
public func withTestServer<Value>(
    serving executor: any RequestExecutor, on address: TestServer.Address = .loopback(),
    using version: TestServer.Version = .http1, tls: TestServer.TLS? = nil,
    limits: TestServer.Limits = TestServer.Limits(),
    behaving behavior: TestServer.Behavior = .standard,
    _ body: (TestServer) async throws -> Value
) async throws -> Value {
    try await withTestServer(
        serving: executor, on: address, using: version, tls: tls, limits: limits, behaving: { _, _ in behavior },
        body)
}

/// Runs a test server while `body` runs, with the same fault in all responses.
///
/// - Parameters:
///   - executor: The executor that responds to the requests.
///   - address: The address on which the server listens.
///   - version: The version of HTTP that the server uses.
///   - tls: The TLS of the server; nil for none.
///   - limits: The limits of requests, and of all clients together.
///   - fault: The fault to inject.
///   - body: The function to run with the server.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the error of the system or of TLS if the server cannot be
///   started.
@discardableResult
public func withTestServer<Value>(
    serving executor: any RequestExecutor, on address: TestServer.Address = .loopback(),
    using version: TestServer.Version = .http1, tls: TestServer.TLS? = nil,
    limits: TestServer.Limits = TestServer.Limits(), fault: TestServer.Fault,
    _ body: (TestServer) async throws -> Value
) async throws -> Value {
    try await withTestServer(
        serving: executor, on: address, using: version, tls: tls, limits: limits, behaving: .failing(fault), body)
}

/// Starts the listener; only the server's threads refer to it when this function has returned.
private func start(_ state: ServerState, on address: TestServer.Address) throws -> TestServer.Address {
    let listener = try Listener(address)
    try state.start(listener)
    return listener.address
}
