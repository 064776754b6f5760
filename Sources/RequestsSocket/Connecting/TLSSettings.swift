@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsTLS

/// The TLS settings of an executor, which are loaded when the first connection needs them.
///
/// Trusted certificates and keys are read on a thread of their own, once for all connections that wait for them.
final class TLSSettings: Sendable {
    private let makeContext: @Sendable (TLSConfiguration) -> TLSContext
    private let state: Lock<State>

    private struct State {
        var configuration: TLSConfiguration
        var context: TLSContext
        /// The context in use has been loaded.
        var isLoaded = false
        var loading: Loading?
        /// The number of replacements that have begun, and that of the one in use.
        var begun = 0
        var inUse = 0
    }

    /// Creates settings; `makeContext` returns the context of a configuration, without loading anything.
    init(_ configuration: TLSConfiguration, _ makeContext: @escaping @Sendable (TLSConfiguration) -> TLSContext) {
        self.makeContext = makeContext
        state = Lock(State(configuration: configuration, context: makeContext(configuration)))
    }

    /// Whether new connections would have the settings of `context`.
    func isCurrent(_ context: TLSContext) -> Bool {
        state.withLock { $0.context === context }
    }

    /// Returns the settings, and loads them if they have not been.
    func loaded(_ timeLimits: SocketTimeLimits, on reactor: Reactor) async throws(RequestError) -> TLSContext {
        let (context, loading) = state.withLock { state -> (TLSContext, Loading?) in
            if state.isLoaded { return (state.context, nil) }
            let current = state.loading.flatMap { $0.hasFailed ? nil : $0 }
            let loading = current ?? Loading(of: state.context)
            state.loading = loading
            return (state.context, loading)
        }
        guard let loading else { return context }
        let result = try await loading.result(timeLimits, on: reactor)
        state.withLock { state in
            guard state.loading === loading else { return }
            state.loading = nil
            if case .success = result { state.isLoaded = true }
        }
        do throws(TLSError) {
            try result.get()
        } catch {
            // A failure is not remembered: a file that was missing may exist the next time.
            throw RequestError(error, ifLost: .connectionFailed).beforeSending()
        }
        // A replacement may have ended meanwhile.
        return state.withLock { $0.isLoaded ? $0.context : loading.context }
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
        let loading = Loading(of: makeContext(configuration))
        let result = try await loading.result(timeLimits, on: reactor)
        do throws(TLSError) {
            try result.get()
        } catch {
            throw RequestError(error, ifLost: .connectionFailed).beforeSending()
        }
        state.withLock { state in
            // One that began later, and ended before, stays in use.
            guard number > state.inUse else { return }
            state = State(
                configuration: configuration, context: loading.context, isLoaded: true, begun: state.begun,
                inUse: number)
        }
    }
}

/// The loading of one context, for which any number of tasks wait.
private final class Loading: Sendable {
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

    /// Whether it has ended with an error.
    var hasFailed: Bool {
        state.withLock { if case .failure? = $0.result { true } else { false } }
    }

    /// Returns the result; the first call starts the thread.
    func result(
        _ timeLimits: SocketTimeLimits, on reactor: Reactor
    ) async throws(RequestError) -> Result<Void, TLSError> {
        let event = WakeEvent(on: reactor)
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            state.events.append(event)
            return !state.isStarted
        }
        if isFirst { start() }
        defer { state.withLock { $0.events.removeAll { $0 === event } } }
        while true {
            if let result = state.withLock({ $0.result }) { return result }
            do throws(WaitError) {
                try await event.wait(by: min(timeLimits.connecting, timeLimits.total))
            } catch {
                throw timeLimits.error(error, until: timeLimits.connecting, in: .securing).beforeSending()
            }
        }
    }

    private func start() {
        do throws(SystemError) {
            try DetachedThread.start(named: "requests-tls") { self.finish(Self.load(self.context)) }
        } catch {
            // Without a thread, the caller's blocks while the files are read.
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
