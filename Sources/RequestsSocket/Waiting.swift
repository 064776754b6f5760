import Requests
import RequestsPOSIX

/// When the stages of one call must have ended.
struct Patience: Sendable {
    let began: Deadline
    private(set) var connecting: Deadline
    let total: Deadline
    let firstByte: Duration?
    let betweenBytes: Duration?

    init(_ request: PreparedRequest) {
        began = .now
        connecting = request.timeouts.connect.map(began.advanced) ?? .distantFuture
        total = request.deadline.map(Deadline.init) ?? .distantFuture
        firstByte = request.timeouts.firstByte
        betweenBytes = request.timeouts.betweenBytes
    }

    /// Begins the connect limit anew, for a connection that replaces one that had stood.
    mutating func renewConnecting(_ limit: Duration?) {
        connecting = limit.map(Deadline.after) ?? .distantFuture
    }

    /// The time since the call began.
    var elapsed: Duration { .nanoseconds(Deadline.now.nanoseconds &- began.nanoseconds) }

    /// Throws when the call was cancelled or its time is over: for stretches of work without a wait.
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

/// What a connection is waited for.
enum Readiness {
    case reading
    case writing
    /// Room to write, or bytes to read: what an upload waits for, since the answer may come before its end.
    case writingOrReading
}

extension Connection {
    /// Waits until the kernel can go on, `limit` has passed, or the call must end.
    ///
    /// The only place where an exchange suspends for its connection.
    func wait(
        for readiness: Readiness, until limit: Deadline, in phase: RequestError.Phase, _ patience: Patience
    ) async throws(RequestError) {
        let deadline = min(limit, patience.total)
        let poll = ThreadPoll.current
        do throws(WaitError) {
            switch readiness {
            case .reading: try await channel.waitUntilReadable(by: deadline, on: poll)
            case .writing: try await channel.waitUntilWritable(by: deadline, on: poll)
            case .writingOrReading: try await channel.waitUntilWritableOrReadable(by: deadline, on: poll)
            }
        } catch {
            throw patience.error(error, until: limit, in: phase)
        }
    }
}
