extension Client {
    /// Performs many calls, of which a limited number run at the same time.
    ///
    /// ```swift
    /// let users = try await client.concurrently(limit: 8)
    ///     .perform(names.map(Users.named))
    /// ```
    ///
    /// - Parameter limit: The largest number of calls at the same time; a number below 1 counts as 1.
    /// - Returns: A value that performs the calls.
    public func concurrently(limit: Int) -> FanOut { FanOut(client: self, limit: max(1, limit)) }

    /// A client that performs many calls at the same time.
    public struct FanOut: Sendable {
        fileprivate let client: Client
        fileprivate let limit: Int
    }
}

extension Client.FanOut {
    /// Performs the endpoints, and returns their values in the same order.
    ///
    /// The first failure cancels the calls that still run, and no others begin.
    ///
    /// - Throws: The `RequestError` of the call that failed first.
    public func perform<E: Endpoint>(
        _ endpoints: [E]
    ) async throws(RequestError) -> [E.Resource] where E.API == API, E.Resource: Sendable {
        var failure: RequestError?
        let results = await results(of: endpoints) { error in
            if failure == nil { failure = error }
            return false
        }
        if let failure { throw failure }
        var values: [E.Resource] = []
        for result in results {
            // Without a failure, all have run.
            guard let result else { throw RequestError(.cancelled) }
            values.append(try result.get())
        }
        return values
    }

    /// Performs the endpoints, and returns the value or the error of each in the same order.
    ///
    /// A failure does not end the other calls; a cancellation of the task does.
    public func results<E: Endpoint>(
        of endpoints: [E]
    ) async -> [Result<E.Resource, RequestError>] where E.API == API, E.Resource: Sendable {
        await results(of: endpoints) { _ in true }.map { $0 ?? .failure(RequestError(.cancelled)) }
    }

    /// Performs the endpoints until `continues` returns false for an error.
    private func results<E: Endpoint>(
        of endpoints: [E], _ continues: (RequestError) -> Bool
    ) async -> [Result<E.Resource, RequestError>?] where E.API == API, E.Resource: Sendable {
        await withTaskGroup(of: (Int, Result<E.Resource, RequestError>).self) { group in
            var results = [Result<E.Resource, RequestError>?](repeating: nil, count: endpoints.count)
            var (next, isEnding) = (0, false)
            func startNext() {
                guard next < endpoints.count, !isEnding else { return }
                let (index, endpoint) = (next, endpoints[next])
                next += 1
                group.addTask { [client] in
                    do throws(RequestError) {
                        return (index, .success(try await client.perform(endpoint)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            for _ in 0..<min(limit, endpoints.count) { startNext() }
            for await (index, result) in group {
                results[index] = result
                if case .failure(let error) = result, !continues(error) {
                    isEnding = true
                    group.cancelAll()
                }
                startNext()
            }
            return results
        }
    }
}
