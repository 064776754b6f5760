extension Channel {
    /// Connects, suspending until that is done.
    ///
    /// When it throws `.timedOut` the kernel goes on; ``continueConnecting(by:on:)`` waits for it once more.
    package func connect(
        to address: SocketAddress, by deadline: Deadline? = nil, on poll: ThreadPoll? = nil
    ) async throws(WaitError) {
        do throws(SystemError) {
            try faults?.admitConnecting()
            if try socket.startConnecting(to: address) { return }
            // To a peer on this machine it stands by now: a look is cheaper than to be told.
            if faults == nil, !Task.isCancelled, socket.isWritable { return try socket.finishConnecting() }
        } catch {
            throw .failed(error)
        }
        try await continueConnecting(by: deadline, on: poll)
    }

    /// Suspends until the connection that was begun stands or has failed.
    package func continueConnecting(by deadline: Deadline? = nil, on poll: ThreadPoll? = nil) async throws(WaitError) {
        try await waitUntilWritable(by: deadline, on: poll)
        do throws(SystemError) {
            try socket.finishConnecting()
        } catch {
            throw .failed(error)
        }
    }
}
