/// The limits of one connection.
package struct HTTP2Limits: Sendable {
    /// The maximum size of a header list in bytes, with 32 for each field (RFC 9113 §6.5.2): 256 KiB.
    package var headBytes = 256 * 1024
    /// The maximum number of interim responses before the final one: 20.
    package var interimResponses = 20
    /// The receive window with which a stream begins, in bytes: 256 KiB.
    ///
    /// Values below 65,535 have no effect, because the peer may send as many bytes before it receives the limit.
    package var streamWindow = 256 * 1024 {
        didSet { streamWindow = max(streamWindow, WindowSize.initial) }
    }
    /// The receive window of the connection, in bytes; at least 65,535: 4 MiB.
    package var connectionWindow = 4 << 20
    /// The maximum number of streams that a client may have open, which only a server announces: 100.
    package var concurrentStreams = 100
    /// The number of streams that a server announces, if it accepts more; nil for ``concurrentStreams``.
    package var announcedStreams: Int?
    /// The stream window in bytes that a server announces, if it accepts more; nil for ``streamWindow``.
    package var announcedWindow: Int?
    /// The reset with which a client exceeds its limit, and the number of resets each second that do not count
    /// (CVE-2023-44487): 1,000 and 33.
    package var resets = (burst: 1_000, perSecond: 33)

    package init() {}

    /// The number of streams that the peer is presumed to allow until its SETTINGS arrive.
    static let presumedStreams = 100
    /// The maximum initial receive window of a collected body, in bytes, until a long round trip requires a larger one.
    static let collectingWindow = 1 << 20
    /// The maximum size to which the receive window of a stream grows.
    static let largestStreamWindow = 16 << 20
    /// The maximum size of the receive windows of all streams together, beyond which none grows.
    static let allStreamWindows = 64 << 20
    /// The maximum number of bytes of bodies that wait to be sent.
    static let queuedBody = 64 * 1024
    /// The part of ``queuedBody`` that a DATA frame takes, however few bytes it has.
    static let frameRoom = 1024
    /// The time for which room is reserved for streams that have their turn and do not write.
    static let grantTime = Duration.milliseconds(10)
    /// The number of streams that a client may cancel at once, and each second, before the connection accepts no more.
    static let cancellations = (burst: 500, perSecond: 30)
    /// The maximum number of acknowledgements that wait to be sent (CVE-2019-9512, CVE-2019-9515).
    static let acknowledgements = 1_000
    /// The maximum number of frames that carry nothing, without useful bytes between them (CVE-2019-9511,
    /// CVE-2019-9518).
    static let emptyFrames = 1_000
    /// The maximum number of frames that may still arrive for a stream that has ended: two heads, trailers and
    /// RST_STREAM.
    static let lateFrames = 4
    /// The maximum number of streams that may fail because of the peer, without complete messages between them.
    static let streamErrors = 100
}
