@_spi(Lock) internal import Requests
internal import RequestsPOSIX
internal import Synchronization

/// One refresh, which marks the tasks that are part of it.
///
/// A task that a refresh creates can continue after its end, and is then no longer part of it.
final class RefreshMark: Sendable {
    private let flight: ObjectIdentifier
    private let hasEnded = Atomic(false)

    /// The marks of the current task.
    @TaskLocal static var current: [RefreshMark] = []

    init(of flight: AnyObject) {
        self.flight = ObjectIdentifier(flight)
    }

    func end() { hasEnded.store(true, ordering: .releasing) }

    var isActive: Bool { !hasEnded.load(ordering: .acquiring) }

    /// Whether the refresh is active and belongs to `flight`.
    func marks(_ flight: AnyObject) -> Bool { self.flight == ObjectIdentifier(flight) && isActive }
}

/// Refreshable credentials, the active refresh, and the requests that wait for it.
///
/// A refresh runs on a separate thread. It is not a child of the request that began it, so cancelling that request does
/// not cancel it, and it continues even if blocking calls occupy every thread of the cooperative pool.
final class RefreshFlight<Credential: Sendable>: Sendable {
    typealias Refresh = @Sendable (Credential?) async throws -> Credential?
    typealias Outcome = RefreshState<Credential>.Outcome
    typealias Wait = WaitingCall<Outcome>

    private struct State: Sendable {
        var rules: RefreshState<Credential>
        var waiters: [Int: Wait.Continuation] = [:]
        var nextWaiter = 0
        var task: Task<Result<Credential?, any Error>, Never>?
        var isAbandoned = false
    }

    private let state: Lock<State>
    private let refresh: Refresh
    private let ready: ReadyFields
    private let isExpired: @Sendable (Credential) -> Bool

    /// Creates the credentials, whose changes discard the fields that are ready.
    init(
        _ credential: Credential?, _ ready: ReadyFields, isExpired: @escaping @Sendable (Credential) -> Bool,
        refresh: @escaping Refresh
    ) {
        self.ready = ready
        self.isExpired = isExpired
        state = Lock(State(rules: RefreshState(credential)))
        self.refresh = refresh
    }

    /// Whether the current task is part of a refresh of these credentials.
    var isRefreshingHere: Bool {
        let marks = RefreshMark.current
        return !marks.isEmpty && marks.contains { $0.marks(self) }
    }

    /// Applies a rule to the state.
    func step<Step: Sendable>(_ body: (inout RefreshState<Credential>) -> Step) -> Step {
        state.withLock { state in
            let changes = state.rules.changes
            defer { if state.rules.changes != changes { ready.invalidate() } }
            return body(&state.rules)
        }
    }
}

// MARK: Refreshing

extension RefreshFlight {
    /// Starts the thread of a refresh that the state has begun.
    func start() {
        let mark = RefreshMark(of: self)
        // The thread has no task, so the marks of the one that begins the refresh are passed on.
        let marks = RefreshMark.current.filter(\.isActive) + [mark]
        let suppressed = SuppressedAuthentication.authenticators
        let run: @Sendable () async -> Void = { [self] in
            await RefreshMark.$current.withValue(marks) {
                await SuppressedAuthentication.$authenticators.withValue(suppressed) { await renew(mark) }
            }
        }
        do {
            try DetachedThread.start(named: "refresh") { _ = CallingThread.run(limits: nil) { await run() } }
        } catch {
            // The system allows no more threads, so the refresh runs on one of the pool.
            Task { await run() }
        }
    }

    private func renew(_ mark: RefreshMark) async {
        let credential = step(\.credential)
        let task = Task(executorPreference: CallingThread.current) { [refresh] () -> Result<Credential?, any Error> in
            do {
                return .success(try await refresh(credential))
            } catch {
                return .failure(error)
            }
        }
        let isAbandoned = state.withLock { state in
            state.task = task
            return state.isAbandoned
        }
        if isAbandoned { task.cancel() }
        let result = await task.value
        // Outside the lock, because the function belongs to the app.
        let isExpired = if case .success(let new?) = result { self.isExpired(new) } else { false }
        mark.end()
        let (outcome, waiters) = state.withLock { state in
            state.task = nil
            let outcome = state.rules.end(result, isExpired: isExpired)
            ready.invalidate()
            defer { state.waiters = [:] }
            return (outcome, Array(state.waiters.values))
        }
        for waiter in waiters { waiter.resume(returning: .granted(outcome)) }
    }

    /// Cancels the active refresh, because no one can use its result.
    func abandon() {
        state.withLock { state in
            state.isAbandoned = true
            return state.task
        }?.cancel()
    }
}

// MARK: Waiting

extension RefreshFlight {
    /// Waits for the end of the refresh with this number.
    ///
    /// - Parameters:
    ///   - number: The number of the refresh.
    ///   - deadline: The instant at which to stop waiting; ``Deadline/distantFuture`` to wait as long as the refresh
    ///     takes.
    /// - Returns: The outcome, or the reason why waiting ended before it.
    func wait(for number: Int, until deadline: Deadline) async -> Wait {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await Wait.wait(until: deadline) { [self] continuation in
            state.withLock { state in
                if state.rules.endedRefreshes > number { return .granted(state.rules.lastOutcome) }
                // The handler has run already, or will find the waiter.
                if Task.isCancelled { return .cancelled }
                state.waiters[id] = continuation
                return nil
            }
        } cancel: { [self] in
            state.withLock { $0.waiters.removeValue(forKey: id) }
        }
    }
}
