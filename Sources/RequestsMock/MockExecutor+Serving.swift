import Requests

extension MockExecutor {
    /// Returns an executor for a test server, with which stubs for endpoints of `api` match requests from a socket.
    ///
    /// ```swift
    /// let served = mock.serving(GitHub.production)
    /// try await withTestServer(serving: served) { server in … }
    /// ```
    ///
    /// A request from a socket has neither an endpoint nor an API. The executor sets `api`, and replaces the server's
    /// origin with the origin of the API's base URL. So stubs for endpoints, calls and URL patterns respond as in
    /// memory, and values are encoded with the API's JSON encoder. The client of the test uses the same paths below the
    /// server's URL. A stub for all endpoints of a type does not match, because a path does not determine the type.
    ///
    /// - Parameter api: The API whose requests the server receives.
    /// - Returns: An executor with the stubs and the record of this mock.
    public func serving<API: RequestProviding>(_ api: API) -> some RequestExecutor {
        ServedMock(mock: self) { () throws(RequestError) in
            try Request<API, Void>.received(by: api).prepared()
        }
    }
}

/// A mock whose requests come from a socket and belong to one API.
private struct ServedMock: RequestExecutor {
    let mock: MockExecutor
    let makeRequest: @Sendable () throws(RequestError) -> PreparedRequest

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await mock.execute(attributed(request))
    }

    /// Returns `request` with the API and its origin, unless it has an API already.
    private func attributed(_ received: PreparedRequest) throws(RequestError) -> PreparedRequest {
        guard received.api == nil else { return received }
        var request = try makeRequest()
        do {
            request.target = try TargetURI(request.target.origin + received.target.requestTarget)
        } catch {
            throw RequestError(.invalidRequest(error), detail: "the target cannot be moved to the API")
        }
        request.method = received.method
        let types = (received.header[.accept] ?? "").splitBytes(at: ",").compactMap { MediaType(String($0)) }
        let concrete = types.filter { $0.subtype != .any }
        // Values are encoded in a form that the client accepts; without a preference, as JSON.
        request.acceptedTypes = concrete.isEmpty ? [.json] : concrete
        request.header = received.header
        request.body = received.body
        request.delivery = received.delivery
        request.timeouts = received.timeouts
        return request
    }
}

extension Request where Resource == Void {
    /// Returns a request of `api`; only its API and its origin are used.
    fileprivate static func received(by api: API) -> Request<API, Void> { api.request(to: "/", using: .get) }
}
