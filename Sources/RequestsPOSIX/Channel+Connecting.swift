package import Requests

extension Channel {
    /// Connects to `address`, suspending until the connection is established or has failed.
    ///
    /// After `.timedOut` the kernel continues to connect; ``continueConnecting(by:on:)`` waits again.
    package func connect(
        to address: SocketAddress, by deadline: Deadline? = nil, on poll: ThreadPoll? = nil
    ) async throws(WaitError) {
        do throws(SystemError) {
            try faults?.admitConnecting()
            if try socket.startConnecting(to: address) { return }
            // A peer on this machine has accepted by now: checking is cheaper than waiting for a report.
            if faults == nil, !Task.isCancelled, socket.isWritable { return try socket.finishConnecting() }
        } catch {
            throw .failed(error)
        }
        try await continueConnecting(by: deadline, on: poll)
    }

    /// Suspends until the connection attempt that has begun succeeds or fails.
    package func continueConnecting(by deadline: Deadline? = nil, on poll: ThreadPoll? = nil) async throws(WaitError) {
        try await waitUntilWritable(by: deadline, on: poll)
        do throws(SystemError) {
            try socket.finishConnecting()
        } catch {
            throw .failed(error)
        }
    }
}
