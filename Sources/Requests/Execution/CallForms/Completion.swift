import Dispatch

/// A ``Completion`` with any type of value, as a ``RequestTask`` uses it.
protocol PendingCompletion: Sendable {
    /// Sends the completion to its queue, where `task` decides the result.
    func announce(for task: RequestTask)
}

/// A completion handler, the queue it runs on, and the outcome it will receive.
///
/// One lock guards the function and the outcome, so an outcome that arrives after the completion handler has run does
/// not reach it. Both are released only on the completion queue.
final class Completion<Value>: PendingCompletion {
    typealias Outcome = Result<Value, RequestError>

    enum Function: Sendable {
        case onMainActor(@MainActor (Outcome) -> Void)
        case on(DispatchQueue, @Sendable (Outcome) -> Void)
    }

    private struct State: ~Copyable, Sendable {
        /// The completion handler; nil once the call has completed.
        var function: Function?
        /// The outcome, from its arrival until the completion.
        var outcome: Parcel<Outcome>?
    }

    private let state: Lock<State>
    private let place: Place

    private enum Place {
        case mainActor
        case queue(DispatchQueue)

        func run(_ body: @escaping @Sendable () -> Void) {
            switch self {
            case .mainActor: Task { @MainActor in body() }
            case .queue(let queue): queue.async(execute: body)
            }
        }
    }

    init(_ function: consuming Function) {
        switch function {
        case .onMainActor: place = .mainActor
        case .on(let queue, _): place = .queue(queue)
        }
        state = Lock(State(function: function))
    }

    deinit {
        // A call that was never started does not complete, but its function is still released on the completion queue.
        // The function is moved, never copied, because a copy could be released last, on this thread.
        let remainder = state.withLock { State(function: $0.function.take()) }
        guard remainder.function != nil else { return }
        release(DeferredRelease(remainder))
    }

    private func release(_ content: DeferredRelease<some ~Copyable & Sendable>) {
        place.run { content.release() }
    }

    /// Stores the outcome for the completion handler, or releases it if a cancelled call has already completed.
    func fulfil(_ outcome: consuming sending Outcome) {
        var parcel = Optional(Parcel(outcome))
        state.withLock { state in
            if state.function != nil { state.outcome = parcel.take() }
        }
        if let late = parcel.take() { release(DeferredRelease(late)) }
    }

    func announce(for task: RequestTask) {
        place.run { self.complete(task) }
    }

    private func complete(_ task: RequestTask) {
        let state = self.state.withLock { State(function: $0.function.take(), outcome: $0.outcome.take()) }
        guard let function = state.function else { return }
        // No outcome: the call was cancelled before its work ended.
        let found = state.outcome?.open()
        var error: RequestError?
        if case .failure(let failure) = found { error = failure }
        error = task.complete(with: error)
        let outcome = error.map { .failure($0) } ?? found ?? .failure(RequestError(.cancelled))
        switch function {
        // `place` is `.mainActor` for such a function, so this runs on the main actor.
        case .onMainActor(let function): MainActor.assumeIsolated { function(outcome) }
        case .on(_, let function): function(outcome)
        }
    }
}
