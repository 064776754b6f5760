/// The time limits of an exchange.
///
/// Except for ``total``, each limit applies to one wait and not to the speed of a transfer: a slow consumer of a
/// streamed response does not exceed it. A limit of zero or less is exceeded immediately; nil is no limit. Limits are
/// stored in whole nanoseconds and are at most 292 years.
public struct Timeouts: Hashable, Sendable {
    // Integers, because an exchange would otherwise divide durations of 128 bits.
    package private(set) var connectLimit: Limit
    package private(set) var firstByteLimit: Limit
    package private(set) var betweenBytesLimit: Limit
    private var totalLimit: Limit

    /// The limit from the start until the connection is established; the default is 10 s.
    ///
    /// It includes name lookup, waiting for a free connection, TCP and TLS.
    public var connect: Duration? {
        get { connectLimit.duration }
        set { connectLimit = Limit(newValue) }
    }

    /// The limit from the last byte of the request to the first byte of the response; the default is 60 s.
    public var firstByte: Duration? {
        get { firstByteLimit.duration }
        set { firstByteLimit = Limit(newValue) }
    }

    /// The limit for each wait for the next byte to read or write; the default is 60 s.
    public var betweenBytes: Duration? {
        get { betweenBytesLimit.duration }
        set { betweenBytesLimit = Limit(newValue) }
    }

    /// The limit for the whole call, including redirects, pauses and collected bodies; the default is no limit.
    ///
    /// A call turns it into the ``PreparedRequest/deadline`` of its requests when it begins. One exchange with
    /// ``RequestExecutor/execute(_:)`` is not a call: it does not apply this limit, and ends at the deadline of its
    /// request.
    public var total: Duration? {
        get { totalLimit.duration }
        set { totalLimit = Limit(newValue) }
    }

    /// Creates time limits; nil is no limit.
    public init(
        connect: Duration? = .seconds(10), firstByte: Duration? = .seconds(60),
        betweenBytes: Duration? = .seconds(60), total: Duration? = nil
    ) {
        connectLimit = Limit(connect)
        firstByteLimit = Limit(firstByte)
        betweenBytesLimit = Limit(betweenBytes)
        totalLimit = Limit(total)
    }

    /// The default limits: 10 s to connect, 60 s to the first byte, 60 s between bytes, and none for the whole call.
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
    /// The longer of the limits for the first byte and between bytes, in seconds; infinite if either is nil.
    var interval: Double {
        guard let firstByte, let betweenBytes else { return .infinity }
        return max(firstByte, betweenBytes) / .seconds(1)
    }

    /// Returns these limits with `seconds` for the first byte and between bytes.
    ///
    /// Infinity, NaN and magnitudes of 1e15 or more mean no limit.
    func with(interval seconds: Double) -> Timeouts {
        var copy = self
        let limit: Duration? = seconds.isFinite && abs(seconds) < 1e15 ? .seconds(seconds) : nil
        copy.firstByte = limit
        copy.betweenBytes = limit
        return copy
    }
}

extension Timeouts {
    /// A limit in nanoseconds; the largest number means no limit.
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
            // Longer durations are limited to the largest number that is a limit.
            nanoseconds = overflow || carry ? (seconds < 0 ? .min : .max - 1) : min(sum, .max - 1)
        }

        fileprivate init(seconds: Int64) {
            nanoseconds = seconds * 1_000_000_000
        }

        fileprivate var duration: Duration? { nanoseconds == .max ? nil : .nanoseconds(nanoseconds) }
    }
}
