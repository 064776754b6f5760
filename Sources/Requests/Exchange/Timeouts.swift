/// How long the stages of an exchange may wait.
///
/// Each limit is a wait, not a pace: a slow consumer of a streamed response never runs into one. A limit that is zero or
/// negative has passed at once; nil is no limit.
public struct Timeouts: Hashable, Sendable {
    /// From the start until the connection stands: lookup, waiting for a free connection, TCP and TLS; 10 s.
    public var connect: Duration?

    /// From the request's last byte until the first byte of the response; 60 s.
    public var firstByte: Duration?

    /// Each wait for the next byte to read or to write; 60 s.
    public var betweenBytes: Duration?

    /// The whole call, redirects, pauses and collected bodies included; no limit unless set.
    public var total: Duration?

    /// Timeouts of the limits given.
    public init(
        connect: Duration? = .seconds(10), firstByte: Duration? = .seconds(60),
        betweenBytes: Duration? = .seconds(60), total: Duration? = nil
    ) {
        self.connect = connect
        self.firstByte = firstByte
        self.betweenBytes = betweenBytes
        self.total = total
    }

    /// 10 s to connect, 60 s for the first byte, 60 s between bytes, no limit for the whole.
    public static let standard = Timeouts()
}
