@_spi(Lock) internal import Requests

/// A call that waits until another call resumes it, its deadline passes, or it is cancelled.
enum WaitingCall<Value: Sendable>: Sendable {
    /// The call continues with a value of the other call.
    case granted(Value)
    case timedOut
    case cancelled

    /// The end of a wait: its result, or that the deadline has passed.
    private enum Event: Sendable {
        case result(WaitingCall)
        case timer(isOver: Bool)
    }

    typealias Continuation = UnsafeContinuation<WaitingCall<Value>, Never>

    /// Waits for one of the events.
    ///
    /// - Parameters:
    ///   - deadline: The instant at which to stop waiting.
    ///   - begin: Stores the continuation, or returns the result without storing it. The task may have been cancelled
    ///     before it is called.
    ///   - cancel: Removes the stored continuation and returns it; nil if it was not stored, or was resumed.
    /// - Returns: The event. If `cancel` has not removed the continuation, it is `granted`.
    static func wait(
        until deadline: Deadline, begin: @escaping @Sendable (Continuation) -> WaitingCall?,
        cancel: @escaping @Sendable () -> Continuation?
    ) async -> WaitingCall {
        guard deadline != .distantFuture else { return await wait(begin, cancel) }
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { .result(await wait(begin, cancel)) }
            group.addTask {
                // A timer of the pool does not run while all of the pool's threads are blocked.
                .timer(isOver: (try? await CallingThread.sleep(until: deadline)) != nil)
            }
            var isOver = false
            for await event in group {
                switch event {
                case .timer(let isFired): isOver = isFired
                case .result(.cancelled) where isOver: return .timedOut
                case .result(let result):
                    group.cancelAll()
                    return result
                }
                // This ends the wait, which is granted already or is cancelled.
                group.cancelAll()
            }
            return .cancelled
        }
    }

    private static func wait(
        _ begin: @escaping @Sendable (Continuation) -> WaitingCall?, _ cancel: @escaping @Sendable () -> Continuation?
    ) async -> WaitingCall {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if let result = begin(continuation) { continuation.resume(returning: result) }
            }
        } onCancel: {
            cancel()?.resume(returning: .cancelled)
        }
    }
}

extension WaitingCall {
    /// Returns the value.
    ///
    /// - Throws: `RequestError` for a deadline or a cancellation, before anything was sent.
    func value(for request: PreparedRequest) throws(RequestError) -> Value {
        switch self {
        case .granted(let value): return value
        case .timedOut: throw RequestError(.timedOut(.total)).adding(request: request).beforeSending()
        case .cancelled: throw RequestError(.cancelled).adding(request: request).beforeSending()
        }
    }
}
