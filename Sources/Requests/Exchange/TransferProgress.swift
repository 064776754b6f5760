/// How far an exchange has come, counted in bytes of the bodies.
public struct TransferProgress: Hashable, Sendable {
    /// Bytes of the request's body handed to the connection.
    public var sent: Int

    /// Bytes of the request's body in all, when known.
    public var totalToSend: Int?

    /// Bytes of the response's body received.
    public var received: Int

    /// Bytes of the response's body in all, when known.
    public var totalToReceive: Int?

    /// A progress of the counts given.
    public init(sent: Int = 0, totalToSend: Int? = nil, received: Int = 0, totalToReceive: Int? = nil) {
        self.sent = sent
        self.totalToSend = totalToSend
        self.received = received
        self.totalToReceive = totalToReceive
    }
}

/// Tells an observer about progress, at most every 64 KiB or 50 ms, and at the end.
///
/// Without an observer a report costs one comparison.
package struct ProgressReporter: Sendable {
    private let observer: (@Sendable (TransferProgress) -> Void)?
    private var reported = 0
    private var instant: ContinuousClock.Instant?

    /// Where the exchange stands; told to the observer by ``report(atEnd:)``.
    package var progress = TransferProgress()

    /// A reporter for `observer`; nil costs nothing.
    package init(_ observer: (@Sendable (TransferProgress) -> Void)?) {
        self.observer = observer
    }

    /// Tells the observer when enough has happened since it was last told, or when this is the end.
    package mutating func report(atEnd: Bool = false) {
        guard let observer else { return }
        let moved = progress.sent &+ progress.received
        let now = ContinuousClock.now
        if !atEnd, moved - reported < 64 << 10, let instant, now - instant < .milliseconds(50) { return }
        reported = moved
        instant = now
        observer(progress)
    }
}
