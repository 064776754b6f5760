@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import TestSupport
import Testing

@Suite("Cancellation during a refresh", .tags(.concurrent), .timeLimit(.minutes(10)))
struct RefreshCancellationTests {
    /// The phase in which a request is cancelled.
    enum Phase: CaseIterable {
        /// Before the request is sent.
        case beforeSending
        /// While the request is sent with the old token.
        case sending
        /// While the request waits for the refresh that it has begun.
        case beginning
        /// While the request waits for the refresh that another request has begun.
        case waiting
        /// While the request is held, because it began during a refresh.
        case held
        /// While the request waits for the first token.
        case obtaining
        /// While the request is sent again with the new token.
        case repeating
    }

    /// A server that accepts only the new token, and the source of that token, both with gates.
    private final class Rejecting: Sendable {
        let phase: Phase
        /// The refresh waits at this gate.
        let refreshing = RefreshGate()
        /// The gate that opens when the request to cancel has reached its phase.
        let isOnItsWay = RefreshGate()
        let refreshes = Lock(0)

        init(_ phase: Phase) {
            self.phase = phase
        }

        var authenticator: RefreshableAuthenticator<String> {
            RefreshableAuthenticator(
                phase == .obtaining ? nil : "planted-old", holdsDuringRefresh: phase == .held,
                fields: { [Field(name: .authorization, value: "Bearer \($0)")] }
            ) { [self] _ in
                refreshes.withLock { $0 += 1 }
                await refreshing.wait()
                try Task.checkCancellation()
                return "planted-new"
            }
        }

        var executor: MockExecutor {
            MockExecutor { [self] request in
                let isNew = request.header[.authorization] == "Bearer planted-new"
                if request.target.path == "/cancelled", phase == (isNew ? .repeating : .sending) {
                    isOnItsWay.open()
                    // The delay is longer than any test, so that only the cancellation ends it.
                    try await CallingThread.sleep(until: .after(.seconds(3600)))
                }
                return isNew ? .ok("in") : .status(401)
            }
        }
    }

    @Test(
        "a request that is cancelled in any phase ends as cancelled, and its refresh continues for the others",
        .rows("R-38", "D-20"),
        arguments: Phase.allCases, [CallForm.awaited, .blocking])
    func phases(phase: Phase, form: CallForm) async {
        let server = Rejecting(phase)
        let authenticator = server.authenticator
        let served = server.executor
        let api = AnonymousRequestProvider("http://e.com")
        let executor = Client(api, executor: served).authenticating(with: authenticator).executor
        func start(_ path: String, isCancelled: Bool = false) -> Task<RequestError?, Never> {
            Task {
                if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
                // Two blocking calls could occupy every thread of the pool, and this test needs one.
                let form = path == "/cancelled" ? form : .awaited
                return await failure { () async throws(RequestError) in
                    try await form.response(for: api.get(.text, from: RequestPath(stringLiteral: path)), over: executor)
                }
            }
        }
        func sent(_ path: String) -> Int { served.recordedRequests.count { $0.target.path == path } }
        func hold(until condition: () -> Bool) async { while !condition() { await Task.yield() } }

        var other: Task<RequestError?, Never>?
        let cancelled: Task<RequestError?, Never>
        switch phase {
        case .beforeSending: cancelled = start("/cancelled", isCancelled: true)
        case .sending, .repeating:
            if phase == .repeating { server.refreshing.open() }
            cancelled = start("/cancelled")
            await server.isOnItsWay.wait()
        case .beginning, .obtaining:
            cancelled = start("/cancelled")
            await hold { server.refreshing.isWaited }
            other = start("/other")
            if phase == .beginning { await hold { sent("/other") == 1 } }
        case .waiting, .held:
            other = start("/other")
            await hold { server.refreshing.isWaited }
            cancelled = start("/cancelled")
            if phase == .waiting { await hold { sent("/cancelled") == 1 } }
        }
        cancelled.cancel()
        // The refresh has not ended: only the cancellation ends this request.
        let error = await cancelled.value
        #expect(error?.isCancellation == true, "\(String(describing: error))")
        let before = [Phase.beforeSending, .held, .obtaining].contains(phase)
        #expect(sent("/cancelled") == (before ? 0 : phase == .repeating ? 2 : 1))
        #expect(error?.mayHaveReachedServer == !before)

        if other == nil { other = start("/other") }
        server.refreshing.open()
        #expect(await other?.value == nil)
        #expect(await start("/later").value == nil)
        #expect(server.refreshes.withLock { $0 } == 1 && authenticator.credential == "planted-new")
        #expect(sent("/later") == 1)
    }

    @Test("requests that are cancelled at random times leave one refresh for the others", .rows("R-38"))
    func storm() async {
        let server = TokenServer()
        let seed = RandomSeed()
        let delays = Lock(seed.numbers())
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
            for _ in 0..<delays.withLock({ Int.random(in: 0..<20, using: &$0) }) { await Task.yield() }
            return server.renew()
        }
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: server.executor)
            .authenticating(with: authenticator)
        for round in 1...50 {
            server.state.withLock { $0.valid = "planted-other" }
            await withTaskGroup { group in
                for number in 0..<40 {
                    let call = Task {
                        await failure { () async throws(RequestError) in
                            try await client.perform { $0.get(.text, from: "/a") }
                        }
                    }
                    group.addTask {
                        guard number.isMultiple(of: 2) else {
                            #expect(await call.value == nil)
                            return
                        }
                        var numbers = seed.numbers(for: round * 40 + number)
                        for _ in 0..<Int.random(in: 0..<60, using: &numbers) { await Task.yield() }
                        call.cancel()
                        let error = await call.value
                        #expect(error == nil || error?.isCancellation == true)
                    }
                }
            }
            #expect(server.refreshes == round)
        }
    }
}
