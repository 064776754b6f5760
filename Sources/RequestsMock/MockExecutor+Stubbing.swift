@_spi(Lock) import Requests

// MARK: Endpoints

extension MockExecutor {
    /// Adds a stub that responds to `endpoint` with `value`.
    ///
    /// ```swift
    /// let mock = MockExecutor()
    /// mock.on(Users.named("octocat"), return: User(login: "octocat"))
    /// let github = Client(GitHub.staging, executor: mock)
    /// ```
    ///
    /// The value is encoded with the JSON encoder of the API; see ``MockResult/value(_:)``. The stub matches the
    /// request that the endpoint describes for the API of the client: the same method, target and body. A request that
    /// was made from another type of endpoint does not match. The newest stub that matches responds.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - value: The value that the call returns.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    /// - Returns: The stub.
    @discardableResult
    public func on<E: Endpoint>(
        _ endpoint: E, return value: E.Resource, fileID: StaticString = #fileID, line: UInt = #line
    ) -> MockStub where E.Resource: Encodable & Sendable {
        on(endpoint, respond: .value(value), fileID: fileID, line: line)
    }

    /// Adds a stub that responds to `endpoint` with `result`; see ``on(_:return:fileID:line:)-(E,_,_,_)``.
    @discardableResult
    public func on<E: Endpoint>(
        _ endpoint: E, respond result: MockResult<E.Resource>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> MockStub {
        // A client does not record requests and calls as endpoints.
        add(endpoint, hasIdentity: !(endpoint is any EndpointWithoutIdentity), result, fileID, line)
    }

    func add<E: Endpoint>(
        _ endpoint: E, hasIdentity: Bool, _ result: MockResult<E.Resource>, _ fileID: StaticString, _ line: UInt
    ) -> MockStub {
        let matcher = EndpointMatcher(endpoint, hasIdentity: hasIdentity)
        return add(.endpoint(matcher), .script(result.script), fileID, line)
    }

    /// Adds a stub that responds to every endpoint of `type` with the result of `respond`.
    ///
    /// ```swift
    /// mock.on(Users.self) { user in
    ///     switch user {
    ///     case .me: .value(User(login: "octocat"))
    ///     case .named(let login): .value(User(login: login))
    ///     case .create: .status(403)
    ///     }
    /// }
    /// ```
    ///
    /// The function receives the endpoint that the client performed. Requests that follow redirects do not match.
    ///
    /// - Parameters:
    ///   - type: The type of the endpoints.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    ///   - respond: The function that responds. Its error ends the exchange.
    /// - Returns: The stub.
    @discardableResult
    public func on<E: Endpoint>(
        _ type: E.Type, fileID: StaticString = #fileID, line: UInt = #line,
        _ respond: @escaping @Sendable (E) async throws -> MockResult<E.Resource>
    ) -> MockStub {
        add(
            .endpointType(ObjectIdentifier(type), name: String(describing: type)),
            .endpointHandler { request in
                guard let endpoint = request.endpoint(as: type) else { return .failure(RequestError(.other)) }
                return try await respond(endpoint).script
            }, fileID, line)
    }
}

/// An endpoint that a client does not record with its requests.
private protocol EndpointWithoutIdentity {}

extension Request: EndpointWithoutIdentity {}
extension Call: EndpointWithoutIdentity {}

// MARK: Patterns and conditions

extension MockExecutor {
    /// Adds a stub that responds to requests whose URL matches `pattern` with `result`.
    ///
    /// ```swift
    /// mock.on(.delete, "/users/:login", respond: .status(204))
    /// ```
    ///
    /// | pattern | matches |
    /// |---|---|
    /// | `users/:id` | below the base URL of the API; without an API, the whole path |
    /// | `/users/:id` | the whole path, at the scheme, host and port of the API |
    /// | `//example.com/users` | this host, with any scheme |
    /// | `https://example.com:8443/users` | this scheme, host and port |
    /// | `users?page=1` | requests whose query contains this item |
    ///
    /// `:name` matches one component that is not empty. Components are compared after percent-decoding. Doubled and
    /// trailing slashes and the fragment are ignored. A malformed pattern matches nothing, and reports name it.
    ///
    /// - Parameters:
    ///   - method: The method, in any case; nil for every method.
    ///   - pattern: The URL pattern.
    ///   - result: The result.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    /// - Returns: The stub.
    @discardableResult
    public func on(
        _ method: HTTPMethod?, _ pattern: String, respond result: MockResult<Void>, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MockStub {
        add(.pattern(method, pattern), .script(result.script), fileID, line)
    }

    /// Adds a stub that responds to requests whose URL matches `pattern` with the result of `respond`.
    ///
    /// - Parameters:
    ///   - method: The method, in any case; nil for every method.
    ///   - pattern: The URL pattern; see ``on(_:_:respond:fileID:line:)``.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    ///   - respond: The function that responds. It receives the request with its body in memory, and the decoded values
    ///     of the parameters by name. Its error ends the exchange.
    /// - Returns: The stub.
    @discardableResult
    public func on(
        _ method: HTTPMethod?, _ pattern: String, fileID: StaticString = #fileID, line: UInt = #line,
        _ respond: @escaping @Sendable (PreparedRequest, [String: String]) async throws -> MockResponse
    ) -> MockStub {
        add(.pattern(method, pattern), .handler(respond), fileID, line)
    }

    /// Adds a stub that responds to requests whose URL matches `pattern`, with a state that all its calls share.
    ///
    /// - Parameters:
    ///   - method: The method, in any case; nil for every method.
    ///   - pattern: The URL pattern; see ``on(_:_:respond:fileID:line:)``.
    ///   - state: The initial state.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    ///   - respond: The function that changes the state and responds. Calls of it do not overlap.
    /// - Returns: The stub.
    @discardableResult
    public func on<Value: Sendable>(
        _ method: HTTPMethod?, _ pattern: String, state: Value, fileID: StaticString = #fileID, line: UInt = #line,
        _ respond:
            @escaping @Sendable (inout Value, PreparedRequest, [String: String]) throws -> MockResponse
    ) -> MockStub {
        let shared = StubState(state)
        return on(method, pattern, fileID: fileID, line: line) { request, parameters in
            try shared.value.withLock { try respond(&$0, request, parameters) }
        }
    }

    /// Adds a stub that responds to requests for which `condition` returns true.
    ///
    /// The condition may run several times for a request, and for requests to which another stub responds. All stubs of
    /// this kind are checked for each request.
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - result: The result.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    /// - Returns: The stub.
    @discardableResult
    public func on(
        where condition: @escaping @Sendable (PreparedRequest) -> Bool, respond result: MockResult<Void>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> MockStub {
        add(.predicate(condition), .script(result.script), fileID, line)
    }

    /// Removes all stubs, and the record of the requests that matched none.
    ///
    /// The recorded requests are kept, and the handling of unmatched requests does not change.
    public func removeAllStubs() { stubs.removeAll() }

    /// Adds a stub for requests to one URL with exactly its query items.
    ///
    /// The stub expects `calls` calls.
    func onExactly(
        _ method: HTTPMethod, _ url: String, respond result: MockResult<Void>, calls: Int,
        from supply: (any StubSupply)?, fileID: StaticString, line: UInt
    ) {
        let pattern = Result { () throws(StubPattern.SyntaxError) in try StubPattern(exactly: url) }
        add(.pattern(method, text: url, pattern), .script(result.script), fileID, line, supply).expecting(calls: calls)
    }

    private func add(
        _ condition: Stub.Condition, _ reaction: Stub.Reaction, _ fileID: StaticString, _ line: UInt,
        _ supply: (any StubSupply)? = nil
    ) -> MockStub {
        MockStub(stubs.add(condition, reaction, Stub.Location(fileID: fileID, line: line), supply), of: self)
    }
}

/// The state of a stub, shared by its calls.
private final class StubState<Value: Sendable>: Sendable {
    let value: Lock<Value>

    init(_ value: Value) {
        self.value = Lock(value)
    }
}

extension Stub.Condition {
    fileprivate static func pattern(_ method: HTTPMethod?, _ text: String) -> Self {
        .pattern(method, text: text, Result { () throws(StubPattern.SyntaxError) in try StubPattern(text) })
    }
}
