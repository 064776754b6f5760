import Requests

extension MockExecutor {
    /// Adds a stub that responds to `call` with `value`, as ``on(_:return:fileID:line:)-(E,_,_,_)`` does to an
    /// endpoint.
    ///
    /// ```swift
    /// mock.on(.repos(of: "octocat"), return: [repo])
    /// ```
    @discardableResult
    public func on<API, Resource: Encodable & Sendable>(
        _ call: Call<API, Resource>, return value: Resource, fileID: StaticString = #fileID, line: UInt = #line
    ) -> MockStub {
        on(call, respond: .value(value), fileID: fileID, line: line)
    }

    /// Adds a stub that responds to `call` with `result`; see ``on(_:return:fileID:line:)-(E,_,_,_)``.
    @discardableResult
    public func on<API, Resource>(
        _ call: Call<API, Resource>, respond result: MockResult<Resource>, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MockStub {
        add(call, hasIdentity: false, result, fileID, line)
    }

    /// Adds a stub that responds to the request that `make` describes with `value`.
    ///
    /// A mock belongs to no API, so the function names the type of its parameter:
    ///
    /// ```swift
    /// mock.on(
    ///     { (api: GitHub) in api.get(.text, from: "/zen") },
    ///     return: "Keep it logically awesome.")
    /// ```
    ///
    /// - Parameters:
    ///   - make: The function from the API to the request. It may run several times.
    ///   - value: The value that the call returns.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    /// - Returns: The stub.
    @discardableResult
    public func on<API, Resource: Encodable & Sendable>(
        _ make: @escaping @Sendable (API) -> Request<API, Resource>, return value: Resource,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> MockStub {
        on(Call(make), respond: .value(value), fileID: fileID, line: line)
    }

    /// Adds a stub that responds to the request that `make` describes with `result`.
    @discardableResult
    public func on<API, Resource>(
        _ make: @escaping @Sendable (API) -> Request<API, Resource>, respond result: MockResult<Resource>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> MockStub {
        on(Call(make), respond: result, fileID: fileID, line: line)
    }
}
