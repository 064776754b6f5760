@_spi(Lock) internal import Requests

/// The fields of credentials, ready for requests as long as the credentials are valid and no refresh is active.
///
/// Nearly every request uses them. They are not generic, because generic code for credentials looks up metadata in each
/// step, which takes longer than the step.
final class ReadyFields: Sendable {
    /// The fields, and the values that identify them in a rejection.
    ///
    /// They share one reference, because every request receives them.
    final class Ready: Sendable {
        let fields: Header
        let generation: Int
        let endedRefreshes: Int
        /// The date at which the credentials must be checked again; nil if they do not expire.
        let end: Date?

        init(fields: Header, generation: Int, endedRefreshes: Int, end: Date?) {
            self.fields = fields
            self.generation = generation
            self.endedRefreshes = endedRefreshes
            self.end = end
        }
    }

    private struct State: Sendable {
        var ready: Ready?
        /// The number of changes of the credentials, and of beginnings and ends of refreshes.
        var version = 0
    }

    private let state: Lock<State>
    private let now: @Sendable () -> Date

    /// Creates fields that are not ready before ``keep(_:of:)``; `now` is called only if the credentials expire.
    init(now: @escaping @Sendable () -> Date) {
        state = Lock(State())
        self.now = now
    }

    /// Creates fields that never change; if `fields` is nil, they are never ready.
    init(_ fields: Header?) {
        state = Lock(State(ready: fields.map { Ready(fields: $0, generation: 0, endedRefreshes: 0, end: nil) }))
        now = { Date() }
    }

    var current: Ready? {
        guard let ready = state.withLock({ $0.ready }) else { return nil }
        if let end = ready.end, now() >= end { return nil }
        return ready
    }

    /// The number that changes with the credentials.
    var version: Int { state.withLock { $0.version } }

    /// Keeps the fields unless the credentials have changed since their number was `version`.
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

/// An authenticator that has fields ready for nearly every request, and that ignores the responses that it does not
/// handle.
protocol ReadyAuthenticator: Authenticator {
    var ready: ReadyFields { get }

    /// Returns the token that identifies the credentials of a request with these fields.
    func token(of ready: ReadyFields.Ready) -> Token
}
