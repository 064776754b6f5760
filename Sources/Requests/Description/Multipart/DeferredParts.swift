/// Parts that are made once, when somebody first needs them; everybody gets the same.
final class DeferredParts: Sendable {
    private enum State {
        case idle
        case making([Int: CheckedContinuation<[MultipartPart], any Error>])
        case made([MultipartPart])
    }

    private let make: @Sendable () async throws -> [MultipartPart]
    private let state = Lock((state: State.idle, nextWaiter: 0))

    init(_ make: @escaping @Sendable () async throws -> [MultipartPart]) {
        self.make = make
    }

    /// The parts, made now if nobody has yet.
    ///
    /// - Throws: What making them throws, to all who wait; or `CancellationError`, which leaves the making alone.
    func parts() async throws -> [MultipartPart] {
        let waiter = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(waiter, continuation)
                if Task.isCancelled { leave(waiter) }
            }
        } onCancel: {
            leave(waiter)
        }
    }

    private func enter(_ waiter: Int, _ continuation: CheckedContinuation<[MultipartPart], any Error>) {
        let (parts, begins) = state.withLock { state -> ([MultipartPart]?, Bool) in
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
        guard begins else { return }
        Task {
            do {
                finish(.success(try await make()))
            } catch {
                finish(.failure(error))
            }
        }
    }

    private func leave(_ waiter: Int) {
        let continuation = state.withLock { state -> CheckedContinuation<[MultipartPart], any Error>? in
            guard case .making(var waiting) = state.state else { return nil }
            defer { state.state = .making(waiting) }
            return waiting.removeValue(forKey: waiter)
        }
        continuation?.resume(throwing: CancellationError())
    }

    private func finish(_ result: Result<[MultipartPart], any Error>) {
        let waiting = state.withLock { state -> [Int: CheckedContinuation<[MultipartPart], any Error>] in
            guard case .making(let waiting) = state.state else { return [:] }
            state.state =
                switch result {
                case .success(let parts): .made(parts)
                case .failure: .idle
                }
            return waiting
        }
        for continuation in waiting.values { continuation.resume(with: result) }
    }
}
