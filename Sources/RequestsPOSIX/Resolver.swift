@_spi(Lock) package import Requests

package enum ResolverError: Error, Hashable, Sendable {
    /// The name has no address, with the system's message; an immediate retry does not help.
    case hostNotFound(String)
    /// No name server responded, with the system's message; a later try may succeed.
    case temporaryFailure(String)
    /// The lookup failed for another reason, with a message.
    case failed(String)
    /// There is no descriptor or thread left, or this is a forked child.
    case system(SystemError)
}

/// A resolver of host names with separate threads.
///
/// At most four lookups run at once, and one per name: callers that need a name whose lookup is running share its
/// result. A call can end its wait, but the lookup itself cannot be stopped and continues. Addresses are cached for a
/// few seconds; failures are not cached.
package final class Resolver: Sendable {
    /// A function that returns the addresses of a host in the order to try them; it may block its thread.
    ///
    /// An address may have a port, so that a test can map a name to a server with any port.
    package typealias Lookup = @Sendable (_ host: String) throws(ResolverError) -> [SocketAddress]

    package static let shared = Resolver()

    private let lookup: Lookup
    private let limit: Int
    private let clock: @Sendable () -> Deadline
    private let state: Lock<State>

    /// Creates a resolver that runs at most `limit` lookups at once.
    ///
    /// It caches the addresses of at most `capacity` names, each for `lifetime` as measured by `clock`.
    package init(
        threads limit: Int = 4, keeping capacity: Int = 256, for lifetime: Duration = .seconds(5),
        lookup: @escaping Lookup = Resolver.system, clock: @escaping @Sendable () -> Deadline = { .now }
    ) {
        self.lookup = lookup
        self.limit = max(1, limit)
        self.clock = clock
        state = Lock(State(cache: AddressCache(lifetime: lifetime, capacity: capacity)))
    }

    fileprivate typealias LookupResult = Result<[SocketAddress], ResolverError>

    /// A call that waits for the result of a lookup.
    fileprivate final class Waiter: Sendable {
        let event: WakeEvent
        let result = Lock<LookupResult?>(nil)

        init(on reactor: Reactor) {
            event = WakeEvent(on: reactor)
        }

        func finish(_ newResult: LookupResult) {
            result.withLock { $0 = newResult }
            event.signal()
        }
    }

    private struct State {
        var cache: AddressCache
        /// The calls that wait, by name; an entry exists from the first request for a name until its result.
        var waiters: [String: [Waiter]] = [:]
        /// The names whose lookup has not started, in the order of the requests.
        var queue: [String] = []
        /// The number of threads that run lookups.
        var threads = 0
    }
}

extension Resolver {
    /// The response to a request for the addresses of a host.
    package enum Response: Sendable {
        case addresses([SocketAddress])
        /// A lookup that another thread performs.
        case pending(PendingLookup)
    }

    /// Requests the addresses of `host`, in the system's order, with `port` unless the lookup has set one.
    ///
    /// The addresses of an IP literal (IPv6 with or without brackets) are known at once, without a thread; so are the
    /// addresses of `localhost` and all names below it, which are never sent to a name server (RFC 6761 §6.3).
    ///
    /// - Throws: `.hostNotFound` if `host` is not a name that can be looked up.
    package func request(
        _ host: String, port: UInt16, on reactor: Reactor
    ) throws(ResolverError) -> Response {
        let isBracketed = host.hasBytePrefix("[") && host.hasByteSuffix("]")
        let literal = isBracketed ? host.droppingFirstBytes(1).droppingLastBytes(1) : host[...]
        if let address = SocketAddress(ipLiteral: literal, port: port) { return .addresses([address]) }
        // A name has at most 255 bytes (RFC 1035 §2.3.4), and getaddrinfo would read a name up to its first NUL.
        guard !isBracketed, !host.isEmpty, host.utf8.count <= 255, !host.utf8.contains(0) else {
            throw .hostNotFound("invalid host name")
        }
        let name = ASCIIFolding.folded(host)
        if Self.isLocal(name) { return .addresses([.loopbackIPv6(port: port), .loopback(port: port)]) }
        let now = clock()
        if let known = state.withLock({ $0.cache.addresses(of: name, at: now) }) {
            return .addresses(known.map { $0.withPort(orElse: port) })
        }
        let waiter = Waiter(on: reactor)
        enqueue(waiter, for: name)
        return .pending(PendingLookup(waiter, of: name, port, by: self))
    }

    /// Returns whether `name`, in lower case, is `localhost` or below it.
    private static func isLocal(_ name: String) -> Bool {
        let label = name.hasByteSuffix(".") ? name.droppingLastBytes(1) : name[...]
        return label.hasSameBytes(as: "localhost") || label.hasByteSuffix(".localhost")
    }

    /// Removes the cached addresses of `host`, because connecting to all of them failed; the next call looks it up
    /// again.
    package func forget(_ host: String) {
        let name = ASCIIFolding.folded(host)
        state.withLock { $0.cache.forget(name) }
    }

    /// The number of names whose lookup is running or queued; for tests.
    package var pendingLookups: Int { state.withLock { $0.waiters.count } }

    /// Adds `waiter` for `name`, and starts a thread if the name is new and the limit allows another one.
    private func enqueue(_ waiter: Waiter, for name: String) {
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
            try DetachedThread.start(named: "Requests.lookup") { self.runLookups() }
        } catch {
            threadDidNotStart(error)
        }
    }

    /// Removes `waiter`.
    ///
    /// If it was the last one for the name, the lookup is removed too, unless it is running.
    fileprivate func withdraw(_ waiter: Waiter, from name: String) {
        state.withLock { state in
            state.waiters[name]?.removeAll { $0 === waiter }
            // A lookup that is running cannot be stopped. Its entry stays, so that later calls share the result.
            guard state.waiters[name]?.isEmpty == true, let place = state.queue.firstIndex(of: name) else { return }
            state.queue.remove(at: place)
            state.waiters[name] = nil
        }
    }

    /// Runs lookups until the queue is empty; a thread runs this function.
    private func runLookups() {
        while let name = nextName() {
            let result: LookupResult
            do {
                result = .success(try lookup(name))
            } catch {
                result = .failure(error)
            }
            // After the lookup, which can take seconds, so that the lifetime starts with the result.
            let now = clock()
            let waiters = state.withLock { state in
                if case .success(let addresses) = result { state.cache.keep(addresses, of: name, at: now) }
                return state.waiters.removeValue(forKey: name) ?? []
            }
            for waiter in waiters { waiter.finish(result) }
        }
    }

    /// Returns the next name to look up, or nil to end the thread.
    private func nextName() -> String? {
        state.withLock { state in
            // Checked and counted under one lock: a name that is added later starts a new thread.
            guard !state.queue.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.queue.removeFirst()
        }
    }

    /// Fails all queued lookups if no thread is left that could run them.
    private func threadDidNotStart(_ error: SystemError) {
        let stranded = state.withLock { state in
            state.threads -= 1
            // Another running thread takes all queued names, including the name for which this thread should have
            // started.
            guard state.threads == 0 else { return [Waiter]() }
            let names = state.queue
            state.queue = []
            return names.flatMap { state.waiters.removeValue(forKey: $0) ?? [] }
        }
        for waiter in stranded { waiter.finish(.failure(.system(error))) }
    }
}

/// A lookup that a thread of the resolver performs for one call.
///
/// When it is released, the call no longer waits; a lookup that has started continues.
package final class PendingLookup: Sendable {
    private let waiter: Resolver.Waiter
    private let name: String
    private let port: UInt16
    private let resolver: Resolver

    fileprivate init(_ waiter: Resolver.Waiter, of name: String, _ port: UInt16, by resolver: Resolver) {
        self.waiter = waiter
        self.name = name
        self.port = port
        self.resolver = resolver
    }

    deinit {
        if waiter.result.withLock({ $0 == nil }) { resolver.withdraw(waiter, from: name) }
    }

    /// The event that is signalled when the lookup has ended.
    package var event: WakeEvent { waiter.event }

    /// Returns the addresses; nil while the lookup is in progress.
    package func addresses() throws(ResolverError) -> [SocketAddress]? {
        try waiter.result.withLock { $0 }?.get().map { $0.withPort(orElse: port) }
    }
}
