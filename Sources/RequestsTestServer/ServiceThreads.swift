import Dispatch
@_spi(Lock) import Requests
import RequestsPOSIX

/// The threads that serve the connections of a server (decision 0045).
///
/// One of them, the leader, waits for all connections without a request in progress, and serves the ones that become
/// readable, one after the other: with a thread for each connection, each request would need a thread switch. Before a
/// thread waits for anything else, such as a slow client or a handler that suspends, it passes the lead on; otherwise
/// its connection would delay all others. A handler can block without notice, so another thread watches the leader.
final class ServiceThreads: Sendable {
    /// A connection with the state that the threads share.
    private struct Entry {
        let connection: ServedConnection
        /// Whether a thread serves the connection or is about to serve it.
        var isServed = false
        /// Whether the leader receives reports of the connection.
        var isWatched = false
        /// The instant by which the connection must be served again.
        var deadline: Deadline
    }

    private struct State {
        var connections: [Int: Entry] = [:]
        /// The connections to be served; the last one is the next.
        var ready: [ServedConnection] = []
        /// The term of the leader; nil before the first one, and when the server stops.
        var term: LeaderTerm?
        /// The term that an idle thread was woken for.
        var openTerm: LeaderTerm?
        var idleThreads = 0
        var isStopping = false
        /// The instant of the next check for late connections; it stays when another thread takes over the lead.
        var nextCheck = Deadline.distantFuture
    }

    private let state = Lock(State())
    private let watched: ReadableSet
    private let stopSignal: StopSignal
    /// Signalled once for each idle thread that is to begin a term or to end.
    private let openTerms = DispatchSemaphore(value: 0)
    private let watch = LeaderWatch()
    /// The time between two checks for late connections; nil if there can be none.
    private let checkInterval: Duration?

    /// The number of threads without work that are kept.
    private static let maximumIdleThreads = 4

    init(_ limits: TestServer.Limits, _ stopSignal: StopSignal) throws(SystemError) {
        self.stopSignal = stopSignal
        // A quarter of the shortest limit, so that connections are closed in time, and threads rarely wake for this
        // check.
        let shortest = [limits.idleTime, limits.headTime].compactMap(\.self).min()
        checkInterval = shortest.map { max(.milliseconds(1), $0 / 4) }
        watched = try ReadableSet()
        try watched.add(stopSignal.wake)
    }

    /// Starts the first leader, and the thread that watches the leaders.
    func start(for server: ServerState) throws(SystemError) {
        let first = LeaderTerm()
        state.withLock { state in
            state.term = first
            if let checkInterval { state.nextCheck = .after(checkInterval) }
        }
        try server.startThread(named: "test-watch") {
            self.watch.run(until: { self.state.withLock { $0.term } }, onDelay: { self.passLead(of: $0, server) })
        }
        try startThread(leading: first, server)
    }

    /// Ends all threads by ending their waits, and closes the connections that none of them serves.
    ///
    /// - Returns: The number of connections that were closed, and the other ones.
    func stop() -> (closed: Int, served: [ServedConnection]) {
        let (idle, entries) = state.withLock { state in
            state.isStopping = true
            state.term = nil
            // No thread begins to serve these.
            for connection in state.ready { state.connections[connection.number]?.isServed = false }
            state.ready = []
            let entries = state.connections
            state.connections = entries.filter(\.value.isServed)
            return (state.idleThreads, entries.values)
        }
        stopSignal.wake.signal()
        watch.stop()
        for _ in 0..<idle { openTerms.signal() }
        return (entries.count { !$0.isServed }, entries.filter(\.isServed).map(\.connection))
    }
}

// MARK: Connections

extension ServiceThreads {
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Waits for the first bytes of a new connection; returns false if the server is stopping.
    func add(_ connection: ServedConnection) throws(SystemError) -> Bool {
        try state.withLock { state throws(SystemError) in
            guard !state.isStopping else { return false }
            // Before the leader can find it.
            state.connections[connection.number] = Entry(
                connection: connection, isWatched: true, deadline: connection.deadline)
            do throws(SystemError) {
                try watched.add(connection.socket, as: UInt64(connection.number))
            } catch {
                state.connections[connection.number] = nil
                throw error
            }
            return true
        }
    }

    /// Waits for the next bytes of a connection that was served; returns false if it is to be closed.
    private func expectBytes(from connection: ServedConnection) -> Bool {
        state.withLock { state in
            guard !state.isStopping, let index = state.connections.index(forKey: connection.number) else {
                return false
            }
            return expectBytes(from: connection, &state.connections.values[index])
        }
    }

    private func expectBytes(from connection: ServedConnection, _ entry: inout Entry) -> Bool {
        if !entry.isWatched {
            guard (try? watched.add(connection.socket, as: UInt64(connection.number))) != nil else { return false }
        }
        (entry.isWatched, entry.isServed, entry.deadline) = (true, false, connection.deadline)
        return true
    }

    /// Removes a connection, which is closed with the last reference to it.
    private func remove(_ connection: ServedConnection) {
        let removed = state.withLock { state in
            let removed = state.connections.removeValue(forKey: connection.number)
            if removed?.isWatched == true { watched.remove(connection.socket) }
            return removed
        }
        // Not inside the lock.
        _ = consume removed
    }
}

// MARK: Threads

extension ServiceThreads {
    private func startThread(leading term: LeaderTerm, _ server: ServerState) throws(SystemError) {
        try server.startThread(named: "test-serve") {
            let worker = Worker(self, server)
            worker.term = term
            repeat { self.work(worker) } while self.waitForTerm(worker)
        }
    }

    /// Passes the lead to another thread, if `term` belongs to the current leader.
    ///
    /// Returns false if no thread can be started.
    @discardableResult
    func passLead(of term: LeaderTerm, _ server: ServerState) -> Bool {
        let next = LeaderTerm()
        let isForIdle: Bool? = state.withLock { state in
            guard state.term === term else { return nil }
            state.term = next
            guard state.idleThreads > 0 else { return false }
            state.idleThreads -= 1
            state.openTerm = next
            return true
        }
        switch isForIdle {
        case nil: return true
        case true?: openTerms.signal()
        case false?:
            guard (try? startThread(leading: next, server)) == nil else { return true }
            return keepLead(term, insteadOf: next)
        }
        return true
    }

    /// Passes the term, for which no thread could be started, to a thread that has become idle meanwhile.
    ///
    /// Returns false if there is none; the leader then keeps the lead until its watch tries again.
    private func keepLead(_ term: LeaderTerm, insteadOf next: LeaderTerm) -> Bool {
        let isForIdle = state.withLock { state in
            guard state.term === next else { return false }
            guard state.idleThreads > 0 else {
                state.term = term
                return false
            }
            state.idleThreads -= 1
            state.openTerm = next
            return true
        }
        if isForIdle { openTerms.signal() }
        return isForIdle
    }

    /// Waits for a term; returns false if the thread is to end.
    private func waitForTerm(_ worker: Worker) -> Bool {
        let mayWait = state.withLock { state in
            guard !state.isStopping, state.idleThreads < Self.maximumIdleThreads else { return false }
            state.idleThreads += 1
            return true
        }
        guard mayWait else { return false }
        openTerms.wait()
        worker.term = state.withLock { $0.openTerm.take() }
        return worker.term != nil
    }

    private enum Step {
        case serve(ServedConnection)
        case wait
        case end
    }

    /// Serves connections until another thread leads and none is ready.
    private func work(_ worker: Worker) {
        let reports = ReadableSet.Reports()
        while true {
            let step: Step = state.withLock { state in
                if let connection = state.ready.popLast() { return .serve(connection) }
                return worker.term.map { $0 === state.term } == true ? .wait : .end
            }
            switch step {
            case .end: return
            case .serve(let connection): serve(consume connection, worker)
            case .wait:
                worker.term?.beginRound()
                var numbers: [Int] = []
                watched.wait(by: state.withLock { $0.nextCheck }, into: reports) { numbers.append(Int($0)) }
                receive(numbers)
            }
        }
    }

    /// Marks connections that can be read as ready; in a check, also connections that are late.
    private func receive(_ numbers: [Int]) {
        state.withLock { state in
            guard !state.isStopping else { return }
            for number in numbers.reversed() {
                // One lookup, and changes in place, because this is done for each request.
                guard let index = state.connections.index(forKey: number) else { continue }
                let connection = state.connections.values[index].connection
                if state.connections.values[index].isServed {
                    // Another thread reads it; otherwise it would be reported again and again.
                    watched.remove(connection.socket)
                    state.connections.values[index].isWatched = false
                } else {
                    state.connections.values[index].isServed = true
                    state.ready.append(connection)
                }
            }
            let now = Deadline.now
            guard state.nextCheck <= now, let checkInterval else { return }
            state.nextCheck = now.advanced(by: checkInterval)
            for (number, entry) in state.connections where !entry.isServed && entry.deadline <= now {
                state.connections[number]?.isServed = true
                state.ready.append(entry.connection)
            }
        }
    }

    private func serve(_ connection: consuming ServedConnection, _ worker: Worker) {
        worker.term?.beginService()
        watch.wake()
        let isOpen = connection.serve(on: worker) && expectBytes(from: connection)
        worker.term?.endService()
        guard !isOpen else { return }
        remove(connection)
        // Closes the connection before the record counts it as closed.
        _ = consume connection
        worker.server.change { $0.openConnections -= 1 }
    }
}
