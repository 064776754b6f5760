import CRequestsPOSIX
import Requests
import RequestsPOSIX
import TestSupport
import Testing

@testable import RequestsSocket

@Suite("The acquisition of a connection as a state machine, without sockets", .timeLimit(.minutes(10)))
struct AcquisitionTests {
    // MARK: At once

    @Test("an idle connection is used again, without a wait", .rows("R-53"), arguments: [false, true])
    func idle(isIdempotent: Bool) throws {
        let steps = try AcquisitionSteps(isIdempotent: isIdempotent) { [.lease(.connection(try $0.idle()))] }
        try steps.expect("connected to 10.0.0.1:80")
        #expect(steps.connection?.isReused == true && steps.pool.log == ["request"])
        #expect(steps.network.log.isEmpty)
    }

    @Test("a slot is used for a new connection, whose use is recorded", .rows("R-52"))
    func new() throws {
        let steps = try AcquisitionSteps { [.lease(.slot(ScriptedSlot($0.network)))] }
        try steps.expect("connected to 10.0.0.2:80")
        #expect(steps.connection?.isReused == false)
        #expect(steps.pool.log == ["request", "connector", "record use"])
        #expect(steps.network.log == ["look up host.example:80", "connect 10.0.0.2:80", "options 10.0.0.2:80"])
    }

    @Test(
        "an idle connection to a peer that closes after responses is replaced, unless the call is idempotent",
        .rows("R-42"))
    func closingPeer() throws {
        let steps = try AcquisitionSteps(isIdempotent: false) { [.lease(.connection(try $0.idle()))] }
        steps.pool.closesAfterResponses = true
        try steps.expect("connected to 10.0.0.2:80")
        // The slot passes to the new connection.
        #expect(steps.network.log.filter { $0 == "vacate" || $0.hasPrefix("close") } == ["close 10.0.0.1:80"])
        #expect(steps.pool.log == ["request", "connector", "record use"])
        let idempotent = try AcquisitionSteps { [.lease(.connection(try $0.idle()))] }
        idempotent.pool.closesAfterResponses = true
        try idempotent.expect("connected to 10.0.0.1:80")
    }

    @Test("the pool receives whether the request continues a call", arguments: [false, true])
    func kinds(isContinuation: Bool) throws {
        let steps = try AcquisitionSteps(isContinuation: isContinuation) { [.lease(.slot(ScriptedSlot($0.network)))] }
        _ = try steps.advance()
        #expect(steps.pool.log == ["request" + (isContinuation ? " continuation" : ""), "connector", "record use"])
    }

    @Test("if the pool or its connector fails, the acquisition ends and begins no connection")
    func refused() throws {
        for reason in [RequestError.Reason.executorClosed, .connectionFailed] {
            let steps = try AcquisitionSteps { _ in [] }
            steps.pool.error = RequestError(reason)
            let error = try #require(throws: RequestError.self) { _ = try steps.advance() }
            #expect(error.reason == reason && !error.mayHaveReachedServer)
            #expect(steps.pool.log == ["request"] && steps.network.log.isEmpty)
        }
        let invalid = try AcquisitionSteps { [.lease(.slot(ScriptedSlot($0.network)))] }
        invalid.pool.connectorError = RequestError(.invalidRequest(.invalidLocalAddress))
        let error = try #require(throws: RequestError.self) { _ = try invalid.advance() }
        #expect(error.reason == .invalidRequest(.invalidLocalAddress) && !error.mayHaveReachedServer)
        #expect(invalid.network.log == ["vacate"])
    }

    // MARK: In the queue

    @Test("a call in the queue needs the signal of its grant until the connect limit", .rows("R-52"))
    func queued() throws {
        for isReused in [false, true] {
            let steps = try AcquisitionSteps { [.queued($0.waiter())] }
            for _ in 0..<2 { try steps.expect("grant, waiting until 10000 ms") }
            let pool = steps.pool
            pool.grant = isReused ? .connection(try pool.idle()) : .slot(ScriptedSlot(pool.network))
            try steps.expect("connected to 10.0.0.\(isReused ? 1 : 2):80")
            #expect(steps.connection?.isReused == isReused)
            let uses = isReused ? [] : ["connector", "record use"]
            #expect(steps.pool.log == ["request", "take up", "take up"] + uses)
        }
    }

    @Test("an idle connection that is granted to a call in the queue is replaced if its peer closes", .rows("R-42"))
    func queuedForClosingPeer() throws {
        let steps = try AcquisitionSteps(isIdempotent: false) { [.queued($0.waiter())] }
        _ = try steps.advance()
        steps.pool.closesAfterResponses = true
        steps.pool.grant = .connection(try steps.pool.idle())
        try steps.expect("connected to 10.0.0.2:80")
    }

    @Test(
        "a wait in the queue that fails withdraws the call with its error, and nothing was sent", .rows("R-48", "R-52"))
    func waits() throws {
        for (error, total, reason) in [
            (WaitError.timedOut, nil as Duration?, RequestError.Reason.timedOut(.waitingForConnection)),
            (.timedOut, .zero, .timedOut(.total)), (.cancelled, nil, .cancelled), (.closed, nil, .connectionLost),
            (.failed(SystemError("epoll_ctl", code: ENOSPC)), nil, .connectionFailed),
        ] {
            for occupiesTask in [false, true] {
                let steps = try AcquisitionSteps(connect: .zero, total: total) {
                    [.queued($0.waiter(occupiesTask: occupiesTask))]
                }
                _ = try steps.advance()
                let failure = try #require(throws: RequestError.self) { try steps.fail(error) }
                #expect(failure.reason == reason && !failure.mayHaveReachedServer, "\(error)")
                #expect(steps.pool.log.last == "withdraw" && steps.network.log.isEmpty)
            }
        }
    }

    @Test(
        "a call that blocks the thread of a task may exceed the limits after 250 ms, and then at each such interval",
        .rows("R-52"), arguments: [false, true])
    func exceeding(occupiesTask: Bool) throws {
        let steps = try AcquisitionSteps(connect: .seconds(3_600)) { [.queued($0.waiter(occupiesTask: occupiesTask))] }
        guard occupiesTask else { return try steps.expect("grant, waiting until 3600000 ms") }
        for round in 1...3 {
            #expect(try steps.advance().hasPrefix("grant, waiting until "))
            let limit = try #require(steps.limit)
            #expect(limit <= .after(.milliseconds(250)))
            try steps.fail(.timedOut)
            #expect(steps.pool.log.filter { $0 == "exceed limits" }.count == round)
        }
        steps.pool.grant = .slot(ScriptedSlot(steps.network))
        try steps.expect("connected to 10.0.0.2:80")
        // The time-outs before the connect limit did not end the acquisition.
        #expect(!steps.pool.log.contains("withdraw"))
    }

    @Test(
        "a call that waits to share a connection requests another one every 500 ms, until its own limit",
        .rows("H-40"))
    func hurrying() throws {
        let steps = try AcquisitionSteps(connect: .seconds(3_600)) { [.queued($0.waiter(mayShare: true))] }
        for round in 1...3 {
            let first = Deadline.after(.milliseconds(500))
            #expect(try steps.advance().hasPrefix("grant, waiting until "))
            let limit = try #require(steps.limit)
            #expect(first <= limit && limit <= .after(.milliseconds(500)))
            try steps.fail(.timedOut)
            #expect(steps.pool.log.filter { $0 == "hurry" }.count == round)
        }
        steps.pool.grant = .slot(ScriptedSlot(steps.network))
        try steps.expect("connected to 10.0.0.2:80")
        #expect(!steps.pool.log.contains("withdraw"))
        let late = try AcquisitionSteps(connect: .zero) { [.queued($0.waiter(mayShare: true))] }
        _ = try late.advance()
        let failure = try #require(throws: RequestError.self) { try late.fail(.timedOut) }
        #expect(failure.reason == .timedOut(.waitingForConnection) && late.pool.log.last == "withdraw")
    }

    @Test("a place on a shared connection is used although its peer closes after responses", .rows("H-30"))
    func sharedWithClosingPeer() throws {
        let steps = try AcquisitionSteps(isIdempotent: false) {
            let connection = try $0.idle()
            connection.isShared = true
            return [.lease(.connection(connection))]
        }
        steps.pool.closesAfterResponses = true
        try steps.expect("connected to 10.0.0.1:80")
    }

    // MARK: The new connection

    @Test("the acquisition passes on the needs and the errors of a new connection", .rows("R-48"))
    func establishing() throws {
        let steps = try AcquisitionSteps { [.lease(.slot(ScriptedSlot($0.network)))] }
        steps.network.lookups.insert(.pending, at: 0)
        try steps.expect("lookup, resolving until 10000 ms")
        let late = try #require(throws: RequestError.self) { try steps.fail(.timedOut) }
        #expect(late.reason == .timedOut(.resolving) && !late.mayHaveReachedServer)
        #expect(!steps.pool.log.contains("withdraw") && !steps.pool.log.contains("record use"))
        let cancelled = try AcquisitionSteps { [.lease(.slot(ScriptedSlot($0.network)))] }
        cancelled.network.lookups.insert(.pending, at: 0)
        _ = try cancelled.advance()
        #expect(try #require(throws: RequestError.self) { try cancelled.fail(.cancelled) }.isCancellation)
        #expect([cancelled, steps].map { $0.network.log.contains("record cancellation") } == [true, false])
        let failing = try AcquisitionSteps { [.lease(.slot(ScriptedSlot($0.network)))] }
        failing.network.lookups = [.pending, .failure(.hostNotFound("no such host"))]
        try failing.expect("lookup, resolving until 10000 ms")
        let error = try #require(throws: RequestError.self) { _ = try failing.advance() }
        #expect(error.reason == .hostNotFound && !error.mayHaveReachedServer)
        let network = failing.network
        failing.end()
        #expect(network.log == ["look up host.example:80", "vacate"])
    }
}

// MARK: A scripted pool

/// A pool with scripted responses; a test sets the lease that a call in the queue takes up.
private final class ScriptedPool: ConnectionSupply, @unchecked Sendable {  // one test uses it
    typealias Network = ScriptedNetwork

    let network: ScriptedNetwork
    let origin: Origin
    var responses: [PoolResponse<Lease, Waiter>] = []
    var grant: Lease?
    var error: RequestError?
    var connectorError: RequestError?
    var closesAfterResponses = false
    var log: [String] = []

    init(_ network: ScriptedNetwork, _ origin: Origin) {
        self.network = network
        self.origin = origin
    }

    /// Returns an idle connection to 10.0.0.1.
    func idle() throws -> ScriptedConnection {
        let address = try #require(SocketAddress(ipLiteral: "10.0.0.1", port: 80))
        return ScriptedConnection(ScriptedChannel(to: address, over: network), in: ScriptedSlot(network))
    }

    func waiter(occupiesTask: Bool = false, mayShare: Bool = false) -> Waiter {
        Waiter(for: origin, occupiesTask: occupiesTask, mayShare: mayShare, "grant")
    }

    func request(
        _ origin: Origin, _ timeLimits: SocketTimeLimits, isContinuation: Bool
    ) throws(RequestError) -> PoolResponse<Lease, Waiter> {
        log.append("request" + (isContinuation ? " continuation" : ""))
        if let error { throw error }
        return responses.removeFirst()
    }

    func takeUp(_ waiter: Waiter) -> Lease? {
        log.append("take up")
        return grant.take()
    }

    func awaitsFirstConnection(_ waiter: Waiter) -> Bool { waiter.mayShare }

    func withdraw(_ waiter: Waiter) {
        log.append("withdraw")
    }

    func exceedLimits(for waiter: Waiter) {
        log.append("exceed limits")
    }

    func hurry(_ waiter: Waiter) {
        log.append("hurry")
    }

    func closesAfterResponses(_ origin: Origin) -> Bool { closesAfterResponses }

    func connector(to origin: Origin, _ timeLimits: SocketTimeLimits) throws(RequestError) -> ScriptedNetwork {
        log.append("connector")
        if let connectorError { throw connectorError }
        return network
    }

    func recordUse(of connection: ScriptedConnection) {
        log.append("record use")
    }
}

/// An acquisition that is advanced step by step; a new connection is one to 10.0.0.2.
private final class AcquisitionSteps {
    let network: ScriptedNetwork
    let pool: ScriptedPool
    private var acquisition: Acquisition<ScriptedPool, ScriptedStream>?
    private var need: ConnectionNeed<ScriptedNetwork>?
    private(set) var connection: ScriptedConnection?

    init(
        isContinuation: Bool = false, isIdempotent: Bool = true,
        connect: Duration = .seconds(10), total: Duration? = nil,
        _ responses: (ScriptedPool) throws -> [PoolResponse<ScriptedPool.Lease, ScriptedPool.Waiter>]
    ) throws {
        var request = PreparedRequest(target: try TargetURI("http://host.example/"))
        request.timeouts.connect = connect
        if let total { request.limit = .after(total) }
        let timeLimits = SocketTimeLimits(request)
        let origin = try Origin(of: request, to: request.target, by: .url, through: nil)
        network = ScriptedNetwork(timeLimits)
        network.lookups = [.done([try #require(SocketAddress(ipLiteral: "10.0.0.2", port: 80))])]
        pool = ScriptedPool(network, origin)
        pool.responses = try responses(pool)
        acquisition = Acquisition(
            from: pool, to: origin, timeLimits, isContinuation: isContinuation, isIdempotent: isIdempotent)
    }

    /// The instant at which the wait for the last need ends.
    var limit: Deadline? {
        if case .signal(_, let limit, _)? = need { limit } else { nil }
    }

    /// Advances once, and returns the step as text.
    func advance() throws(RequestError) -> String {
        guard let step = try acquisition?.advance() else { return "ended" }
        switch step {
        case .needs(let next): need = next
        case .connected(let established): connection = established
        }
        return step.text(since: network.timeLimits.began)
    }

    /// Advances once, and expects the step to be `text`.
    func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws(RequestError) {
        let step = try advance()
        #expect(step == text, sourceLocation: sourceLocation)
    }

    /// Ends the last need with `error`.
    func fail(_ error: WaitError) throws(RequestError) {
        guard let need else {
            Issue.record("expected a need before a failed wait")
            return
        }
        try acquisition?.fail(error, need)
    }

    /// Releases the acquisition, as the call does at its end.
    func end() {
        acquisition = nil
        connection = nil
    }
}
