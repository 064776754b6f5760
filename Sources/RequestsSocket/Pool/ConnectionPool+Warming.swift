import Requests
import RequestsPOSIX

extension ConnectionPool {
    /// Establishes connections to the origin of `url` until `count` are idle or a limit is reached.
    ///
    /// All connections are taken before the first is put back: otherwise two tasks could receive the same connection.
    func warm(_ url: URL, _ count: Int, within timeout: Duration?) async throws(RequestError) {
        var request = try PreparedRequest(url: url)
        request.timeouts.connect = timeout
        let timeLimits = SocketTimeLimits(request)
        do throws(RequestError) {
            let origin = try origin(of: request)
            let limit = min(configuration.maximumIdleConnectionsPerOrigin, configuration.maximumConnectionsPerOrigin)
            try await establish(min(count, max(limit, 0)), to: origin, timeLimits)
        } catch {
            throw error.beforeSending().adding(request: request)
        }
    }

    private func establish(
        _ count: Int, to origin: Origin, _ timeLimits: SocketTimeLimits
    ) async throws(RequestError) {
        guard count > 0 else { return }
        try timeLimits.check()
        let mayShare = mayShare(origin)
        var leases: [Lease] = []
        let connector: Connector
        do throws(RequestError) {
            // A call that waits for one of these connections would prevent the following ones.
            while leases.count < count, let lease = try leaseAtOnce(origin, timeLimits) { leases.append(lease) }
            connector = try self.connector(to: origin, timeLimits)
        } catch {
            for case .connection(let connection) in leases { putBack(connection) }
            throw error
        }
        let results = await withTaskGroup(of: Result<Connection, RequestError>.self) { group in
            for case .slot(let slot) in leases {
                group.addTask {
                    await Result(catching: { () async throws(RequestError) in
                        try await NewSocketConnection.established(to: origin, in: slot, with: connector)
                    })
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // Put back, not parked: they have carried no exchange, so their idle time continues.
        for case .connection(let connection) in leases { putBack(connection) }
        for case .success(let connection) in results {
            recordUse(of: connection)
            connection.end()
            if connection.isShared { putBack(connection) } else { park(connection, at: .now) }
        }
        for result in results { _ = try result.get() }
        // The server has selected HTTP/1.1, so the connections are not shared, and the others are needed, too.
        if mayShare, !self.mayShare(origin) { try await establish(count, to: origin, timeLimits) }
    }
}
