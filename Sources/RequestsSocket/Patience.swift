import Requests
import RequestsPOSIX

/// When the stages of one call must have ended.
struct Patience: Sendable {
    let began: Deadline
    private(set) var connecting: Deadline
    let total: Deadline
    private let timeouts: Timeouts

    init(_ request: PreparedRequest) {
        began = .now
        timeouts = request.timeouts
        connecting = began.advanced(by: timeouts.connectLimit)
        total = request.hasDeadline ? request.deadline.map(Deadline.init) ?? .distantFuture : .distantFuture
    }

    /// Begins the connect limit anew, for a connection that replaces one that had stood.
    mutating func renewConnecting() {
        connecting = Deadline.now.advanced(by: timeouts.connectLimit)
    }

    /// When a wait for the response that begins now must have ended.
    var firstByte: Deadline { Deadline.now.advanced(by: timeouts.firstByteLimit) }

    /// When a wait for the next byte that begins now must have ended.
    var betweenBytes: Deadline { Deadline.now.advanced(by: timeouts.betweenBytesLimit) }

    /// The time from when the call began until `now`.
    func elapsed(at now: Deadline = .now) -> Duration { .nanoseconds(now.nanoseconds &- began.nanoseconds) }

    /// Throws when the call was cancelled or its time is over: for stretches of work without a wait.
    @inline(never)  // what it throws is no part of the frame of who suspends
    func check() throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        if total != .distantFuture, total.hasPassed { throw RequestError(.timedOut(.total)) }
    }

    /// The error of a wait that was to end at `limit`, or with the call.
    func error(_ error: WaitError, until limit: Deadline, in phase: RequestError.Phase) -> RequestError {
        switch error {
        case .timedOut: RequestError(.timedOut(total <= limit ? .total : phase))
        case .cancelled: RequestError(.cancelled)
        case .closed: RequestError(.connectionLost, detail: "the connection was given up")
        case .failed(let error): RequestError(.connectionFailed, detail: error.description, underlying: error)
        }
    }
}

extension Deadline {
    fileprivate func advanced(by limit: Timeouts.Limit) -> Deadline {
        advanced(byNanoseconds: limit.nanoseconds)
    }
}
