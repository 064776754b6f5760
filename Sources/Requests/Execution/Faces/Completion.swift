import Dispatch

/// A completion that has not run yet.
protocol PendingCompletion: Sendable {
    /// Sends it to its queue, where it finds out what to say.
    func announce(for task: RequestTask)
}

/// A completion, where it runs, and what it will be given.
///
/// The function and the value leave it on the completion queue only, so that what they hold is released there.
final class Completion<Value>: PendingCompletion {
    typealias Outcome = Result<Value, RequestError>

    enum Function: Sendable {
        case onMainActor(@MainActor (Outcome) -> Void)
        case on(DispatchQueue, @Sendable (Outcome) -> Void)
    }

    private let function: Lock<Function?>
    private let outcome = Handover<Outcome>()
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
        self.function = Lock(function)
    }

    deinit {
        // A call that was never started does not complete; its function is still released where it would have run.
        // Nothing here may still hold it then, or the last release would be this thread's.
        let leaving = Leaving(function.withLock { $0.take() })
        guard !leaving.isEmpty else { return }
        place.run { leaving.release() }
    }

    /// Carries the function to the queue, and is all that holds it on the way.
    private final class Leaving: Sendable {
        private let function: Lock<Function?>

        init(_ function: consuming Function?) {
            self.function = Lock(function)
        }

        var isEmpty: Bool { function.withLock { $0 == nil } }

        func release() { function.withLock { $0 = nil } }
    }

    func fulfil(_ new: sending Outcome) {
        outcome.put(new)
    }

    func announce(for task: RequestTask) {
        place.run { self.complete(task) }
    }

    private func complete(_ task: RequestTask) {
        guard let function = function.withLock({ $0.take() }) else { return }
        // There is none when the call was cancelled before its work had ended.
        let found = outcome.take()
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
