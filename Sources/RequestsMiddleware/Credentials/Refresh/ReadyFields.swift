@_spi(Lock) internal import Requests

/// The fields of refreshable credentials, ready for requests as long as the credentials are valid and no refresh is
/// active.
///
/// Nearly every request uses them. They are not generic: code for credentials of any type looks up metadata in each
/// step, which costs more than the step.
final class ReadyFields: Sendable {
    /// The fields, and the values that identify them in a rejection.
    struct Ready: Sendable {
        let fields: Header
        let generation: Int
        let endedRefreshes: Int
        /// When the credentials must be checked again; nil if they do not expire.
        let end: Date?
    }

    private struct State: Sendable {
        var ready: Ready?
        /// The number of changes of the credentials, and of refreshes that began or ended.
        var version = 0
    }

    private let state = Lock(State())

    /// The fields if they are ready; `now` is called only if the credentials expire.
    func current(_ now: () -> Date) -> Ready? {
        guard let ready = state.withLock({ $0.ready }) else { return nil }
        if let end = ready.end, now() >= end { return nil }
        return ready
    }

    /// The number that changes with the credentials.
    var version: Int { state.withLock { $0.version } }

    /// Keeps the fields unless the credentials have changed since they had the number `version`.
    func keep(_ ready: Ready, of version: Int) {
        state.withLock { state in
            if state.version == version { state.ready = ready }
        }
    }

    /// Discards the fields, because the credentials change, or a refresh begins or ends.
    func invalidate() {
        state.withLock { state in
            state.ready = nil
            state.version &+= 1
        }
    }
}
