@_spi(Lock) import Requests

/// Why a name gave no addresses.
package enum ResolverError: Error, Hashable, Sendable {
    /// The name has no address, in the system's words. Asking again soon will not help.
    case hostNotFound(String)
    /// Nobody could answer just now, in the system's words.
    case temporaryFailure(String)
    case failed(String)
    case timedOut
    case cancelled
    /// No descriptor, no thread, or a forked child.
    case system(SystemError)
}

/// Finds the addresses of names on threads of its own.
///
/// At most four lookups run at once, and one per name: whoever asks for a name that is being looked up shares the
/// answer. Cancellation and deadlines abandon the wait; the lookup itself cannot be stopped and goes on. What was found
/// is kept for a few seconds; what was not found is asked for again.
package final class Resolver: Sendable {
    /// Finds the addresses of a name in the order they should be tried; runs on a thread that it may block.
    package typealias Lookup = @Sendable (_ host: String) throws(ResolverError) -> [SocketAddress]

    package static let shared = Resolver()

    private let lookup: Lookup
    private let limit: Int
    private let clock: @Sendable () -> Deadline
    private let state: Lock<State>

    /// A resolver that keeps the addresses of at most `capacity` names, each for `lifetime` by `clock`.
    package init(
        threads limit: Int = 4, keeping capacity: Int = 256, for lifetime: Duration = .seconds(5),
        lookup: @escaping Lookup = Resolver.system, clock: @escaping @Sendable () -> Deadline = { .now }
    ) {
        self.lookup = lookup
        self.limit = max(1, limit)
        self.clock = clock
        state = Lock(State(cache: AddressCache(lifetime: lifetime, capacity: capacity)))
    }

    private typealias Answer = Result<[SocketAddress], ResolverError>

    private final class Waiter: Sendable {
        let event: WakeEvent
        let answer = Lock<Answer?>(nil)

        init(on reactor: Reactor) {
            event = WakeEvent(on: reactor)
        }

        func finish(_ result: Answer) {
            answer.withLock { $0 = result }
            event.signal()
        }
    }

    private struct State {
        var cache: AddressCache
        /// Who waits for which name; a name is here from the first question until its answer.
        var waiters: [String: [Waiter]] = [:]
        /// Names no thread has begun with, in the order of asking.
        var queue: [String] = []
        var threads = 0
    }
}

extension Resolver {
    /// The addresses of a host, all with `port`, in the system's order.
    ///
    /// An IP literal, an IPv6 one with or without brackets, is answered at once and meets no thread; so is `localhost`
    /// with every name below it, which never leaves the machine (RFC 6761 §6.3).
    package func addresses(
        of host: String, port: UInt16, by deadline: Deadline? = nil, on reactor: Reactor
    ) async throws(ResolverError) -> [SocketAddress] {
        let isBracketed = host.hasBytePrefix("[") && host.hasByteSuffix("]")
        let literal = isBracketed ? host.droppingFirstBytes(1).droppingLastBytes(1) : host[...]
        if let address = SocketAddress(ipLiteral: literal, port: port) { return [address] }
        guard !isBracketed, !host.isEmpty, host.utf8.count <= 255, !host.utf8.contains(0) else {
            throw .hostNotFound("not a host name")
        }
        let name = ASCIIFolding.folded(host)
        if Self.isLocal(name) { return [.loopbackIPv6(port: port), .loopback(port: port)] }
        let now = clock()
        if let known = state.withLock({ $0.cache.addresses(of: name, at: now) }) {
            return known.map { $0.with(port: port) }
        }
        let waiter = Waiter(on: reactor)
        ask(for: name, waiter)
        do {
            try await waiter.event.wait(by: deadline)
        } catch {
            withdraw(waiter, from: name)
            throw ResolverError(error)
        }
        guard let answer = waiter.answer.withLock({ $0 }) else { throw .failed("no answer") }
        return try answer.get().map { $0.with(port: port) }
    }

    private static func isLocal(_ name: String) -> Bool {
        let label = name.hasByteSuffix(".") ? name.droppingLastBytes(1) : name[...]
        return label.hasSameBytes(as: "localhost") || label.hasByteSuffix(".localhost")
    }

    /// Asks anew the next time: none of the addresses of `host` led anywhere.
    package func forget(_ host: String) {
        let name = ASCIIFolding.folded(host)
        state.withLock { $0.cache.forget(name) }
    }

    /// Names being looked up or queued; for tests.
    package var pendingLookups: Int { state.withLock { $0.waiters.count } }

    private func ask(for name: String, _ waiter: Waiter) {
        let needsThread = state.withLock { state in
            let isNew = state.waiters[name] == nil
            state.waiters[name, default: []].append(waiter)
            guard isNew else { return false }
            state.queue.append(name)
            guard state.threads < limit else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        do {
            try DetachedThread.start(named: "Requests.lookup") { self.work() }
        } catch {
            threadDidNotStart(error)
        }
    }

    /// A lookup nobody waits for any more is not begun; one that has begun goes on and finds nobody.
    private func withdraw(_ waiter: Waiter, from name: String) {
        state.withLock { state in
            state.waiters[name]?.removeAll { $0 === waiter }
            guard state.waiters[name]?.isEmpty == true, let place = state.queue.firstIndex(of: name) else { return }
            state.queue.remove(at: place)
            state.waiters[name] = nil
        }
    }

    private func work() {
        while let name = nextName() {
            let answer: Answer
            do {
                answer = .success(try lookup(name))
            } catch {
                answer = .failure(error)
            }
            let now = clock()
            let waiters = state.withLock { state in
                if case .success(let addresses) = answer { state.cache.keep(addresses, of: name, at: now) }
                return state.waiters.removeValue(forKey: name) ?? []
            }
            for waiter in waiters { waiter.finish(answer) }
        }
    }

    /// The next name to look up; `nil` ends the thread.
    private func nextName() -> String? {
        state.withLock { state in
            guard !state.queue.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.queue.removeFirst()
        }
    }

    /// Without a single thread nobody would ever answer what is queued.
    private func threadDidNotStart(_ error: SystemError) {
        let stranded = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [Waiter]() }
            let names = state.queue
            state.queue = []
            return names.flatMap { state.waiters.removeValue(forKey: $0) ?? [] }
        }
        for waiter in stranded { waiter.finish(.failure(.system(error))) }
    }
}

extension ResolverError {
    fileprivate init(_ error: WaitError) {
        switch error {
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .closed: self = .failed("no answer")
        case .failed(let error): self = .system(error)
        }
    }
}
