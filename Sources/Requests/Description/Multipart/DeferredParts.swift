/// Parts that are created once, when they are first needed, for all callers.
final class DeferredParts: Sendable {
    private enum State {
        case idle
        case making([Int: CheckedContinuation<[MultipartForm.Part], any Error>])
        case made([MultipartForm.Part])
    }

    private let make: @Sendable () async throws -> [MultipartForm.Part]
    private let state = Lock((state: State.idle, nextWaiter: 0))

    init(_ make: @escaping @Sendable () async throws -> [MultipartForm.Part]) {
        self.make = make
    }

    /// Returns the parts, and creates them first if necessary.
    ///
    /// - Throws: The error of creating them, for all callers that wait; or `CancellationError` for a cancelled caller,
    ///   which does not cancel the creation.
    func parts() async throws -> [MultipartForm.Part] {
        let waiter = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(waiter, continuation)
                // The cancellation handler may have run before the waiter was added.
                if Task.isCancelled { cancel(waiter) }
            }
        } onCancel: {
            cancel(waiter)
        }
    }

    /// Resumes `continuation` with the parts, or adds it to the waiters; the first waiter starts the creation.
    private func add(_ waiter: Int, _ continuation: CheckedContinuation<[MultipartForm.Part], any Error>) {
        let (parts, isFirst) = state.withLock { state -> ([MultipartForm.Part]?, Bool) in
            switch state.state {
            case .made(let parts): return (parts, false)
            case .making(var waiting):
                waiting[waiter] = continuation
                state.state = .making(waiting)
                return (nil, false)
            case .idle:
                state.state = .making([waiter: continuation])
                return (nil, true)
            }
        }
        if let parts { continuation.resume(returning: parts) }
        guard isFirst else { return }
        // An unstructured task: if one caller is cancelled, the work continues for the others.
        Task {
            do {
                finish(.success(try await make()))
            } catch {
                finish(.failure(error))
            }
        }
    }

    /// Resumes the waiter with `CancellationError`, unless it has been resumed already.
    private func cancel(_ waiter: Int) {
        let continuation = state.withLock { state -> CheckedContinuation<[MultipartForm.Part], any Error>? in
            guard case .making(var waiting) = state.state else { return nil }
            defer { state.state = .making(waiting) }
            return waiting.removeValue(forKey: waiter)
        }
        continuation?.resume(throwing: CancellationError())
    }

    /// Resumes all waiters with `result`.
    private func finish(_ result: Result<[MultipartForm.Part], any Error>) {
        let waiting = state.withLock { state -> [Int: CheckedContinuation<[MultipartForm.Part], any Error>] in
            guard case .making(let waiting) = state.state else { return [:] }
            state.state =
                switch result {
                case .success(let parts): .made(parts)
                // The next caller tries again.
                case .failure: .idle
                }
            return waiting
        }
        for continuation in waiting.values { continuation.resume(with: result) }
    }
}
