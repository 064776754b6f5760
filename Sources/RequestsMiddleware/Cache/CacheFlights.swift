@_spi(Lock) internal import Requests
internal import Synchronization

/// The requests in progress that identical requests wait for.
final class CacheFlights: Sendable {
    /// The end of a request that others wait for.
    enum Outcome: Sendable {
        /// The response was handled, and may be in the store.
        case ended
        /// The exchange failed in a way that concerns all identical requests.
        case failed(RequestError)
        /// The exchange ended for a reason that does not concern the other requests, one of which must take its place.
        case abandoned
    }

    /// The result of an attempt to begin.
    enum Start: Sendable {
        /// The request is sent, and ``CacheFlights/end(_:in:_:)`` must be called.
        case leading(Place)
        /// An identical request was in progress, and has ended.
        case joined(Outcome)
    }

    /// A request, which is equal to others with the same URI, the same fields except those of spans, the same userinfo,
    /// the same use of cookies and the same caller.
    struct Key: Hashable, Sendable {
        private let exchange: CacheExchange

        init(_ exchange: CacheExchange) {
            self.exchange = exchange
        }

        static func == (left: Self, right: Self) -> Bool {
            left.exchange === right.exchange || left.exchange.isIdentical(to: right.exchange)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(exchange.key)
            for field in exchange.request.header where !field.name.isTraceContext { hasher.combine(field) }
        }
    }

    /// A request in progress, for which identical requests wait.
    ///
    /// It does not refer to the exchange, which refers to it.
    struct Place: Sendable {
        fileprivate let number: Int
    }

    typealias Wait = WaitingCall<Start>

    private struct Flight: Sendable {
        let number: Int
        var waiters = [Int: Wait.Continuation]()
    }

    private struct State: Sendable {
        var flights: [Key: Flight] = [:]
        var nextNumber = 0
        var revalidations = 0

        mutating func lead(_ key: Key) -> Place {
            nextNumber += 1
            flights[key] = Flight(number: nextNumber)
            return Place(number: nextNumber)
        }
    }

    private let state = Lock(State())

    /// The number of requests that have ended, read without the lock.
    private let ended = Atomic(0)

    /// The maximum number of validations in the background.
    private static let revalidationLimit = 16

    /// The number of requests that have ended.
    ///
    /// While it does not change, a new request need not check again for the response of one that has just ended.
    var endings: Int { ended.load(ordering: .acquiring) }

    /// Waits for the end of a request, or begins an identical one if it has ended already.
    func join(_ key: Key, until deadline: Deadline) async -> Wait {
        let id = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        return await Wait.wait(until: deadline) { [self] continuation in
            state.withLock { state in
                // The handler has run already, or will find the waiter.
                if Task.isCancelled { return .cancelled }
                guard state.flights[key] != nil else {
                    state.flights[key] = Flight(number: id)
                    return .granted(.leading(Place(number: id)))
                }
                state.flights[key]?.waiters[id] = continuation
                return nil
            }
        } cancel: { [self] in
            state.withLock { $0.flights[key]?.waiters.removeValue(forKey: id) }
        }
    }

    /// Begins a request; returns nil if an identical one is in progress.
    func lead(_ key: Key) -> Place? {
        state.withLock { state in
            guard state.flights[key] == nil else { return nil }
            return state.lead(key)
        }
    }

    /// Ends a request, and resumes all that wait for it.
    func end(_ exchange: CacheExchange, in place: Place, _ outcome: Outcome) {
        let waiters = state.withLock { state -> [Wait.Continuation] in
            guard let index = state.flights.index(forKey: Key(exchange)),
                state.flights.values[index].number == place.number
            else { return [] }
            ended.add(1, ordering: .releasing)
            return Array(state.flights.remove(at: index).value.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: .granted(.joined(outcome))) }
    }
}

// MARK: Validation in the background

extension CacheFlights {
    /// Runs a validation in the background, unless an identical request is in progress or too many run.
    func startRevalidation(_ exchange: CacheExchange, _ validate: @escaping @Sendable () async -> Void) {
        let key = Key(exchange)
        let place: Place? = state.withLock { state in
            guard state.flights[key] == nil, state.revalidations < Self.revalidationLimit else { return nil }
            state.revalidations += 1
            return state.lead(key)
        }
        guard let place else { return }
        Task {
            await validate()
            state.withLock { $0.revalidations -= 1 }
            end(exchange, in: place, .ended)
        }
    }

    /// The number of validations in the background.
    var activeRevalidations: Int { state.withLock { $0.revalidations } }
}

extension CacheExchange {
    fileprivate func isIdentical(to other: CacheExchange) -> Bool {
        key == other.key && comparedHeader == other.comparedHeader
            && request.target.userinfo.hasSameBytes(as: other.request.target.userinfo)
            && request.declinesCookies == other.request.declinesCookies && caller == other.caller
    }

    private var comparedHeader: Header {
        var header = request.header
        header.removeAll(where: \.name.isTraceContext)
        return header
    }
}
