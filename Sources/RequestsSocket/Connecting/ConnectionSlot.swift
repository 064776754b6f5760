/// The right to one connection, which other calls may be waiting for.
protocol ConnectionSlot: Sendable {
    /// Records that the call that establishes the connection was cancelled, which says nothing about the peer.
    func recordCancellation()
}
