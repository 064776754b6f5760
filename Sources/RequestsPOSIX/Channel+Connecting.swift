@_spi(Lock) package import Requests

extension Channel {
    /// Begins to connect to `address`, and returns whether the connection is established.
    ///
    /// If it is not, `event` is signalled when connecting has ended; then call ``finishConnecting()``.
    ///
    /// - Throws: The error with which connecting failed.
    package func beginConnecting(to address: SocketAddress, reportingTo event: WakeEvent) throws(SystemError) -> Bool {
        try faults?.admitConnecting()
        if try socket.startConnecting(to: address) { return true }
        // A peer on this machine has accepted by now: checking is cheaper than waiting for a report.
        if faults == nil, !Task.isCancelled, try finishConnecting() { return true }
        if let error = faults?.nextWaitError() { throw error }
        try reactor.core.queue.add(socket.number, token: event.token, interest: .writing, standing: false)
        registration.withLock { $0.isAdded = true }
        return false
    }

    /// Returns whether the connection that was begun is established; false while the kernel continues to connect.
    ///
    /// - Throws: The error with which connecting failed.
    package func finishConnecting() throws(SystemError) -> Bool {
        guard socket.isWritable else { return false }
        try socket.finishConnecting()
        return true
    }

    /// Connects to `address`, suspending until the connection is established or has failed.
    package func connect(to address: SocketAddress, by deadline: Deadline? = nil) async throws(WaitError) {
        let event = WakeEvent(on: reactor)
        var isConnected = try result { () throws(SystemError) in try beginConnecting(to: address, reportingTo: event) }
        while !isConnected {
            try await event.wait(by: deadline)
            isConnected = try result { () throws(SystemError) in try finishConnecting() }
        }
    }

    private func result(_ body: () throws(SystemError) -> Bool) throws(WaitError) -> Bool {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .failed(error)
        }
    }
}
