@_spi(Lock) internal import Requests
internal import RequestsPOSIX
internal import Synchronization

/// One refresh.
///
/// It marks the tasks that are part of it.
///
/// A task that a refresh creates can continue after its end, and is then no longer part of it.
final class RefreshMark: Sendable {
    private let renewal: ObjectIdentifier
    private let hasEnded = Atomic(false)

    @TaskLocal static var current: [RefreshMark] = []

    init(of renewal: AnyObject) {
        self.renewal = ObjectIdentifier(renewal)
    }

    func end() { hasEnded.store(true, ordering: .releasing) }

    var isActive: Bool { !hasEnded.load(ordering: .acquiring) }

    /// Returns whether the refresh is active and belongs to `renewal`.
    func marks(_ renewal: AnyObject) -> Bool { self.renewal == ObjectIdentifier(renewal) && isActive }
}

/// Refreshable credentials and their refreshes, for whose results requests can wait.
///
/// A refresh runs on a separate thread. It is not a child of the request that began it, so cancelling that request does
/// not cancel it, and it continues even if blocking calls occupy every thread of the cooperative pool.
final class CredentialRenewal<Credential: Sendable>: Sendable {
    typealias Refresh = @Sendable (Credential?) async throws -> Credential?
    typealias Outcome = RefreshState<Credential>.Outcome

    private struct State: Sendable {
        var rules: RefreshState<Credential>
        var task: Task<Result<Credential?, any Error>, Never>?
        var isAbandoned = false
    }

    private let state: Lock<State>
    /// The active refresh, by its number.
    private let refreshes = SingleFlight<Int, Outcome>()
    private let refresh: Refresh
    private let ready: ReadyFields
    private let isExpired: @Sendable (Credential) -> Bool

    /// Creates the credentials; their changes discard the fields that are ready.
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

    /// Applies a rule to the state, and starts the refresh that it begins.
    func step<Step: Sendable>(_ body: (inout RefreshState<Credential>) -> Step) -> Step {
        let (step, begins) = state.withLock { state in
            let changes = state.rules.changes
            let step = body(&state.rules)
            guard state.rules.changes != changes else { return (step, false) }
            ready.invalidate()
            return (step, state.rules.isRefreshing && refreshes.lead(state.rules.endedRefreshes))
        }
        if begins { start() }
        return step
    }
}

// MARK: Refreshing

extension CredentialRenewal {
    /// Starts the thread of a refresh.
    private func start() {
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
        let (number, outcome) = state.withLock { state in
            state.task = nil
            let number = state.rules.endedRefreshes
            let outcome = state.rules.end(result, isExpired: isExpired)
            ready.invalidate()
            return (number, outcome)
        }
        refreshes.end(number, with: outcome)
    }

    /// Cancels the active refresh, because nothing can use its result.
    func abandon() {
        state.withLock { state in
            state.isAbandoned = true
            return state.task
        }?.cancel()
    }
}

// MARK: Waiting

extension CredentialRenewal {
    /// Returns the outcome of the refresh with this number, waiting until `deadline` at the latest.
    ///
    /// - Throws: `RequestError` with `cancelled`, or `timedOut` for the deadline; the refresh continues.
    func outcome(ofRefresh number: Int, until deadline: Deadline) async throws(RequestError) -> Outcome {
        switch await refreshes.outcome(of: number, until: deadline) {
        // Without an outcome, the refresh had ended before the wait began.
        case .granted(let outcome): return outcome ?? step(\.lastOutcome)
        case .cancelled: throw RequestError(.cancelled)
        case .timedOut: throw RequestError(.timedOut(.total), detail: "waiting for new credentials")
        }
    }
}
