@_spi(Lock) import Requests

extension TestServer {
    /// Waits until a request to `path` has received its whole response, and returns the request.
    ///
    /// Requests that arrived before the call count too. Together with `async let`, the wait can begin before the
    /// request:
    ///
    /// ```swift
    /// async let arrived = server.expectRequest(.post, to: "/users/:login")
    /// try await client.perform(Users.create(user))
    /// #expect(try await arrived.status == 201)
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method; nil for any method.
    ///   - path: The pattern of the path, as in ``Routes/on(_:_:_:)``.
    ///   - skipped: The number of matching requests to skip; 0 waits for the first.
    ///   - limit: The maximum time to wait.
    /// - Returns: The request, with the status of its response.
    /// - Throws: An error that describes the received requests if the limit passes first; `CancellationError` if the
    ///   task is cancelled or the server stops first.
    @discardableResult
    public func expectRequest(
        _ method: HTTPMethod? = nil, to path: String, skipping skipped: Int = 0, within limit: Duration = .seconds(60)
    ) async throws -> Exchange {
        let expected = ExpectedRequest(method, RoutePattern(path), skipping: max(0, skipped))
        try await waitUntil(within: limit) { expected.find(in: $0) }
        guard let exchange = expected.found else { throw CancellationError() }
        return exchange
    }
}

extension TestServer.Exchange {
    /// The path of the target, without the query, percent-encoded.
    public var path: String {
        if target.hasBytePrefix("/") {
            return String(target.splitBytes(at: "?", maxSplits: 1, omittingEmptySubsequences: false)[0])
        }
        return (try? TargetURI(target))?.path ?? target
    }
}

/// A search for a request in a growing record; it checks each request once.
private final class ExpectedRequest: Sendable {
    private struct State {
        /// The number of requests that have been compared with the pattern.
        var compared = 0
        /// The numbers of the requests that match.
        var matching: [Int] = []
        var found: TestServer.Exchange?
    }

    private let method: HTTPMethod?
    private let pattern: RoutePattern
    private let skipped: Int
    private let state = Lock(State())

    init(_ method: HTTPMethod?, _ pattern: RoutePattern, skipping skipped: Int) {
        self.method = method
        self.pattern = pattern
        self.skipped = skipped
    }

    /// The request; nil until it is found.
    var found: TestServer.Exchange? { state.withLock { $0.found } }

    /// Returns whether the request has received its whole response.
    ///
    /// If so, it is kept, because the record may be trimmed before the wait returns.
    func find(in record: TestServer.Record) -> Bool {
        let exchanges = record.exchanges
        // The number of the oldest request that the record contains.
        let first = record.requestCount - exchanges.count
        return state.withLock { state in
            for number in max(state.compared, first)..<record.requestCount where matches(exchanges[number - first]) {
                state.matching.append(number)
            }
            state.compared = record.requestCount
            // A request that was removed from the record is skipped like the others before the expected one.
            let responded = state.matching.lazy.filter { $0 < first || exchanges[$0 - first].status != nil }
            guard let number = responded.dropFirst(self.skipped).first(where: { $0 >= first }) else { return false }
            state.found = exchanges[number - first]
            return true
        }
    }

    private func matches(_ exchange: TestServer.Exchange) -> Bool {
        (method == nil || method == exchange.method) && pattern.parameters(in: exchange.path) != nil
    }
}
