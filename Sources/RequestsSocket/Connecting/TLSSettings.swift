@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsTLS

/// The TLS settings of an executor, which are loaded when the first connection needs them.
///
/// Trusted certificates and keys are read on a separate thread, once for all connections that wait for them.
final class TLSSettings: Sendable {
    private let makeContext: @Sendable (TLSConfiguration) -> TLSContext
    private let state: Lock<State>

    private struct State {
        var configuration: TLSConfiguration
        var context: TLSContext
        var isLoaded = false
        var work: ContextLoading?
        /// The number of the last replacement that has begun, and the number of the one in use.
        var begun = 0
        var inUse = 0
    }

    /// Creates settings; `makeContext` creates a context and loads nothing.
    init(_ configuration: TLSConfiguration, _ makeContext: @escaping @Sendable (TLSConfiguration) -> TLSContext) {
        self.makeContext = makeContext
        state = Lock(State(configuration: configuration, context: makeContext(configuration)))
    }

    /// Returns whether new connections would use `context`.
    func isCurrent(_ context: TLSContext) -> Bool {
        state.withLock { $0.context === context }
    }

    /// Returns the settings, or begins to load them.
    ///
    /// `loading` is the result of an earlier call; its event has been signalled since.
    ///
    /// - Throws: The error of loading, which is not stored: a file that was missing may exist the next time.
    func access(
        _ loading: Loading?, on reactor: Reactor
    ) throws(RequestError) -> WorkProgress<TLSContext, Loading> {
        guard let loading = loading ?? begin(on: reactor) else { return .done(state.withLock { $0.context }) }
        guard let result = loading.result else { return .pending(loading) }
        state.withLock { state in
            guard state.work === loading.work else { return }
            state.work = nil
            if case .success = result { state.isLoaded = true }
        }
        try Self.check(result)
        // A replacement may have ended meanwhile.
        return .done(state.withLock { $0.isLoaded ? $0.context : loading.work.context })
    }

    /// Returns the load in progress, starting one if needed; nil if the settings are loaded.
    private func begin(on reactor: Reactor) -> Loading? {
        let work = state.withLock { state -> ContextLoading? in
            if state.isLoaded { return nil }
            let current = state.work.flatMap { $0.hasFailed ? nil : $0 }
            let work = current ?? ContextLoading(of: state.context)
            state.work = work
            return work
        }
        return work.map { Loading($0, on: reactor) }
    }

    private static func check(_ result: Result<Void, TLSError>) throws(RequestError) {
        do throws(TLSError) {
            try result.get()
        } catch {
            throw RequestError(error, ifLost: .connectionFailed).beforeSending()
        }
    }

    /// Replaces the settings, once the new ones have been loaded; without new ones, files are read again.
    ///
    /// - Throws: The error of loading; the former settings remain in use.
    func replace(
        with configuration: TLSConfiguration?, _ timeLimits: SocketTimeLimits, on reactor: Reactor
    ) async throws(RequestError) {
        let (number, configuration) = state.withLock { state in
            state.begun += 1
            return (state.begun, configuration ?? state.configuration)
        }
        let loading = Loading(ContextLoading(of: makeContext(configuration)), on: reactor)
        try Self.check(try await loading.end(timeLimits))
        state.withLock { state in
            // A replacement that began later and has ended already remains in use.
            guard number > state.inUse else { return }
            state = State(
                configuration: configuration, context: loading.work.context, isLoaded: true, begun: state.begun,
                inUse: number)
        }
    }
}

extension TLSSettings {
    /// One call's wait while a context is loaded.
    final class Loading: Sendable {
        fileprivate let work: ContextLoading
        let event: WakeEvent

        fileprivate init(_ work: ContextLoading, on reactor: Reactor) {
            self.work = work
            event = WakeEvent(on: reactor)
            work.begin(signalling: event)
        }

        deinit {
            work.forget(event)
        }

        fileprivate var result: Result<Void, TLSError>? { work.result }

        fileprivate func end(_ timeLimits: SocketTimeLimits) async throws(RequestError) -> Result<Void, TLSError> {
            while true {
                if let result { return result }
                do throws(WaitError) {
                    try await event.wait(by: min(timeLimits.connecting, timeLimits.total))
                } catch {
                    throw timeLimits.error(error, until: timeLimits.connecting, in: .securing).beforeSending()
                }
            }
        }
    }
}

/// The loading of one context on its own thread.
///
/// Any number of calls can wait for it.
private final class ContextLoading: Sendable {
    let context: TLSContext
    private let state = Lock(State())

    private struct State {
        var isStarted = false
        var result: Result<Void, TLSError>?
        var events: [WakeEvent] = []
    }

    init(of context: TLSContext) {
        self.context = context
    }

    /// The result; nil while the load is in progress.
    var result: Result<Void, TLSError>? { state.withLock { $0.result } }

    var hasFailed: Bool {
        if case .failure? = result { true } else { false }
    }

    /// Signals `event` when the loading ends, unless it has ended already; the first call starts the thread.
    func begin(signalling event: WakeEvent) {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            state.events.append(event)
            return !state.isStarted
        }
        if isFirst { start() }
    }

    /// Removes `event`, which is then not signalled.
    func forget(_ event: WakeEvent) {
        state.withLock { $0.events.removeAll { $0 === event } }
    }

    private func start() {
        do throws(SystemError) {
            try DetachedThread.start(named: "requests-tls") { self.finish(Self.load(self.context)) }
        } catch {
            // If no thread can be started, the caller's thread blocks while the files are read.
            finish(Self.load(context))
        }
    }

    private static func load(_ context: TLSContext) -> Result<Void, TLSError> {
        Result { () throws(TLSError) in try context.prepare() }
    }

    private func finish(_ result: Result<Void, TLSError>) {
        let events = state.withLock { state in
            state.result = result
            return state.events
        }
        for event in events { event.signal() }
    }
}
