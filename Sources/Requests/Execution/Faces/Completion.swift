import Dispatch

/// A completion that has not run yet.
protocol PendingCompletion: Sendable {
    /// Sends it to its queue, where it finds out what to say.
    func announce(for task: RequestTask)
}

/// A completion, the queue it runs on, and the outcome it will receive.
///
/// Whether the call has completed, the function and the outcome change under one lock: an outcome that arrives after the
/// completion has run is never seen by it. Function and outcome are released on the completion queue only.
final class Completion<Value>: PendingCompletion {
    typealias Outcome = Result<Value, RequestError>

    enum Function: Sendable {
        case onMainActor(@MainActor (Outcome) -> Void)
        case on(DispatchQueue, @Sendable (Outcome) -> Void)
    }

    private struct State: ~Copyable, Sendable {
        /// Nil once the call has completed.
        var function: Function?
        /// The outcome between its arrival and the completion.
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
        // A call that was never started does not complete; its function is still released where it would have run.
        // Nothing here may still hold it then, or the last release would be this thread's: so it is never copied.
        let remainder = state.withLock { State(function: $0.function.take()) }
        guard remainder.function != nil else { return }
        release(DeferredRelease(remainder))
    }

    private func release(_ content: DeferredRelease<some ~Copyable & Sendable>) {
        place.run { content.release() }
    }

    /// Keeps the outcome for the completion; one that comes after it, since the call was cancelled, is released.
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
        // There is none when the call was cancelled before its work had ended.
        let found = state.outcome?.open()
        var error: RequestError?
        if case .failure(let failure) = found { error = failure }
        error = task.complete(with: error)
        let outcome = error.map { .failure($0) } ?? found ?? .failure(RequestError(.cancelled))
        switch function {
        case .onMainActor(let function): MainActor.assumeIsolated { function(outcome) }
        case .on(_, let function): function(outcome)
        }
    }
}
