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
    /// - Returns: The request, with the status of its response.
    /// - Throws: `CancellationError` if the task is cancelled or the server stops first.
    @discardableResult
    public func expectRequest(
        _ method: HTTPMethod? = nil, to path: String, skipping skipped: Int = 0
    ) async throws -> Exchange {
        let pattern = RoutePattern(path)
        let find = { @Sendable (record: Record) -> Exchange? in
            let matching = record.exchanges.lazy.filter { exchange in
                exchange.status != nil && (method == nil || method == exchange.method)
                    && pattern.parameters(in: exchange.path) != nil
            }
            return matching.dropFirst(max(0, skipped)).first
        }
        let found = FoundExchange()
        try await waitUntil { record in
            guard let exchange = find(record) else { return false }
            // Kept here, because the record may be trimmed before the wait returns.
            found.exchange.withLock { $0 = exchange }
            return true
        }
        guard let exchange = found.exchange.withLock({ $0 }) else { throw CancellationError() }
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

/// The result of a wait, which its condition finds.
private final class FoundExchange: Sendable {
    let exchange = Lock<TestServer.Exchange?>(nil)
}
