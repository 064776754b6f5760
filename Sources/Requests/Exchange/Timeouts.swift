/// How long the stages of an exchange may wait.
///
/// Each limit is a wait, not a pace: a slow consumer of a streamed response never runs into one. A limit that is zero or
/// negative has passed at once; nil is no limit. Limits are kept in whole nanoseconds, those beyond 292 years as that.
public struct Timeouts: Hashable, Sendable {
    // Numbers, so that a warm exchange divides no 128-bit durations.
    package private(set) var connectLimit: Limit
    package private(set) var firstByteLimit: Limit
    package private(set) var betweenBytesLimit: Limit
    private var totalLimit: Limit

    /// From the start until the connection stands: lookup, waiting for a free connection, TCP and TLS; 10 s.
    public var connect: Duration? {
        get { connectLimit.duration }
        set { connectLimit = Limit(newValue) }
    }

    /// From the request's last byte until the first byte of the response; 60 s.
    public var firstByte: Duration? {
        get { firstByteLimit.duration }
        set { firstByteLimit = Limit(newValue) }
    }

    /// Each wait for the next byte to read or to write; 60 s.
    public var betweenBytes: Duration? {
        get { betweenBytesLimit.duration }
        set { betweenBytesLimit = Limit(newValue) }
    }

    /// The whole call, redirects, pauses and collected bodies included; no limit unless set.
    public var total: Duration? {
        get { totalLimit.duration }
        set { totalLimit = Limit(newValue) }
    }

    /// Timeouts of the limits given.
    public init(
        connect: Duration? = .seconds(10), firstByte: Duration? = .seconds(60),
        betweenBytes: Duration? = .seconds(60), total: Duration? = nil
    ) {
        connectLimit = Limit(connect)
        firstByteLimit = Limit(firstByte)
        betweenBytesLimit = Limit(betweenBytes)
        totalLimit = Limit(total)
    }

    /// 10 s to connect, 60 s for the first byte, 60 s between bytes, no limit for the whole.
    public static var standard: Timeouts {
        Timeouts(connect: Limit(seconds: 10), firstByte: Limit(seconds: 60), betweenBytes: Limit(seconds: 60))
    }

    private init(connect: Limit, firstByte: Limit, betweenBytes: Limit) {
        connectLimit = connect
        firstByteLimit = firstByte
        betweenBytesLimit = betweenBytes
        totalLimit = Limit(nil)
    }
}

extension Timeouts {
    /// A limit in nanoseconds; the largest number is none.
    package struct Limit: Hashable, Sendable {
        package let nanoseconds: Int64

        fileprivate init(_ duration: Duration?) {
            guard let duration else {
                nanoseconds = .max
                return
            }
            let (seconds, attoseconds) = duration.components
            let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
            nanoseconds = overflow || carry ? (seconds < 0 ? .min : .max - 1) : min(sum, .max - 1)
        }

        fileprivate init(seconds: Int64) {
            nanoseconds = seconds * 1_000_000_000
        }

        fileprivate var duration: Duration? { nanoseconds == .max ? nil : .nanoseconds(nanoseconds) }
    }
}
