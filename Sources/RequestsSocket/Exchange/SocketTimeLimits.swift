import Requests
import RequestsPOSIX

/// The deadlines for the stages of one call.
struct SocketTimeLimits: Sendable {
    let began: Deadline
    private(set) var connecting: Deadline
    let total: Deadline
    private let timeouts: Timeouts

    init(_ request: PreparedRequest) {
        began = .now
        timeouts = request.timeouts
        connecting = began.advanced(by: timeouts.connectLimit)
        total = request.limit
    }

    /// Creates limits for work that belongs to no call, such as reading files.
    init(connectingWithin timeout: Duration?) {
        began = .now
        timeouts = Timeouts()
        connecting = timeout.map { .after($0) } ?? .distantFuture
        total = .distantFuture
    }

    /// Lets the connect limit start now, for another transmission.
    mutating func renewConnecting() {
        connecting = Deadline.now.advanced(by: timeouts.connectLimit)
    }

    /// Returns the deadline for the first byte of the response, for a wait that begins at `now`.
    func firstByte(from now: Deadline) -> Deadline { now.advanced(by: timeouts.firstByteLimit) }

    /// Returns the deadline for the next byte, for a wait that begins at `now`.
    func betweenBytes(from now: Deadline) -> Deadline { now.advanced(by: timeouts.betweenBytesLimit) }

    /// Returns the time from the beginning of the call to `now`.
    func stamp(at now: Deadline = .now) -> RawResponse.Metrics.Stamp {
        RawResponse.Metrics.Stamp(nanoseconds: now.nanoseconds &- began.nanoseconds)
    }

    /// Throws if the call was cancelled or its total limit has passed.
    ///
    /// Work that never waits calls it between its steps.
    func check() throws(RequestError) { try total.check() }

    /// Returns the error for a wait that failed with `error`; its deadline was `limit` or the total limit, whichever is
    /// earlier.
    func error(_ error: WaitError, until limit: Deadline, in phase: RequestError.Phase) -> RequestError {
        switch error {
        case .timedOut: RequestError(.timedOut(total <= limit ? .total : phase))
        case .cancelled: RequestError(.cancelled)
        case .closed: RequestError(.connectionLost, detail: "the connection was closed")
        case .failed(let error): RequestError(.connectionFailed, detail: error.description, underlying: error)
        }
    }
}

extension Deadline {
    fileprivate func advanced(by limit: Timeouts.Limit) -> Deadline {
        advanced(byNanoseconds: limit.nanoseconds)
    }
}
