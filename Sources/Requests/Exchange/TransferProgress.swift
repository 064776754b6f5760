/// The progress of an exchange: how many bytes of both bodies have been transferred.
public struct TransferProgress: Hashable, Sendable {
    /// The number of body bytes that have been passed to the connection.
    public var bytesSent: Int

    /// The length of the request body in bytes; nil if it is unknown.
    public var bytesExpectedToSend: Int?

    /// The number of body bytes that have been received.
    public var bytesReceived: Int

    /// The length of the response body in bytes; nil if it is unknown.
    public var bytesExpectedToReceive: Int?

    /// Creates a progress value from its counts.
    public init(
        bytesSent: Int = 0, bytesExpectedToSend: Int? = nil, bytesReceived: Int = 0, bytesExpectedToReceive: Int? = nil
    ) {
        self.bytesSent = bytesSent
        self.bytesExpectedToSend = bytesExpectedToSend
        self.bytesReceived = bytesReceived
        self.bytesExpectedToReceive = bytesExpectedToReceive
    }

    /// The part of the request body that has been sent, from 0 to 1; nil if its length is unknown.
    ///
    /// An empty body counts as sent.
    public var fractionSent: Double? { Self.fraction(bytesSent, of: bytesExpectedToSend) }

    /// The part of the response body that has been received, from 0 to 1; nil if its length is unknown.
    ///
    /// An empty body counts as received.
    public var fractionReceived: Double? { Self.fraction(bytesReceived, of: bytesExpectedToReceive) }

    private static func fraction(_ count: Int, of total: Int?) -> Double? {
        guard let total else { return nil }
        return total <= 0 ? 1 : min(1, max(0, Double(count) / Double(total)))
    }
}

/// A reporter of progress to an observer: at most every 64 KiB or 50 ms, and at the end.
///
/// Without an observer, a report costs one comparison.
package struct ProgressReporter: Sendable {
    private struct Observation: Sendable {
        let observer: @Sendable (TransferProgress) -> Void
        var progress = TransferProgress()
        /// The number of bytes when progress was last reported.
        var reportedBytes = 0
        /// The time of the last report; nil before the first.
        var lastReport: Deadline?
    }

    private var observation: Observation?

    /// Creates a reporter for `observer`; without an observer, it does nothing.
    ///
    /// - Parameters:
    ///   - observer: The function that receives the progress; nil for none.
    ///   - length: The length of the request body in bytes; nil if it is unknown.
    package init(_ observer: (@Sendable (TransferProgress) -> Void)?, sending length: Int? = nil) {
        observation = observer.map {
            Observation(observer: $0, progress: TransferProgress(bytesExpectedToSend: length))
        }
    }

    /// Records the length of the response body in bytes; nil if it is unknown.
    package mutating func expectToReceive(_ length: Int?) {
        observation?.progress.bytesExpectedToReceive = length
    }

    /// The current progress, which ``report(atEnd:)`` passes to the observer.
    ///
    /// It is not kept up to date without an observer.
    package var progress: TransferProgress {
        get { observation?.progress ?? TransferProgress() }
        set { observation?.progress = newValue }
    }

    /// Adds `count` bytes of the request body, and reports the progress if a report is due.
    package mutating func addSent(_ count: Int) {
        guard observation != nil else { return }
        progress.bytesSent &+= count
        report(atEnd: progress.bytesSent == progress.bytesExpectedToSend)
    }

    /// Adds `count` bytes of the response body, and reports the progress if a report is due.
    package mutating func addReceived(_ count: Int) {
        guard observation != nil else { return }
        progress.bytesReceived &+= count
        report()
    }

    /// Reports the progress if 64 KiB or 50 ms have passed since the last report, or if this is the end.
    package mutating func report(atEnd: Bool = false) {
        guard let observation else { return }
        let progress = observation.progress
        let bytes = progress.bytesSent &+ progress.bytesReceived
        let now = Deadline.now
        if !atEnd, bytes - observation.reportedBytes < 64 << 10, let lastReport = observation.lastReport,
            now.nanoseconds(since: lastReport) < 50_000_000
        {
            return
        }
        self.observation?.reportedBytes = bytes
        self.observation?.lastReport = now
        observation.observer(progress)
    }
}
