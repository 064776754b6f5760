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
    private struct Observed: Sendable {
        let observer: @Sendable (TransferProgress) -> Void
        var progress = TransferProgress()
        var reported = 0
        var moment: Moment?
    }

    private var observed: Observed?

    /// A reporter for `observer`; nil costs nothing.
    package init(_ observer: (@Sendable (TransferProgress) -> Void)?) {
        observed = observer.map { Observed(observer: $0) }
    }

    /// Where the exchange stands; told to the observer by ``report(atEnd:)``, and forgotten without one.
    package var progress: TransferProgress {
        get { observed?.progress ?? TransferProgress() }
        set { observed?.progress = newValue }
    }

    /// Takes note of `count` more bytes of the request's body, and tells the observer when it is time to.
    package mutating func addSent(_ count: Int) {
        guard observed != nil else { return }
        progress.sent &+= count
        report(atEnd: progress.sent == progress.totalToSend)
    }

    /// Takes note of `count` more bytes of the response's body, and tells the observer when it is time to.
    package mutating func addReceived(_ count: Int) {
        guard observed != nil else { return }
        progress.received &+= count
        report()
    }

    /// Tells the observer when enough has happened since it was last told, or when this is the end.
    package mutating func report(atEnd: Bool = false) {
        guard let observed else { return }
        let progress = observed.progress
        let moved = progress.sent &+ progress.received
        let now = Moment.now
        if !atEnd, moved - observed.reported < 64 << 10, let moment = observed.moment, now - moment < .milliseconds(50)
        {
            return
        }
        self.observed?.reported = moved
        self.observed?.moment = now
        observed.observer(progress)
    }
}
