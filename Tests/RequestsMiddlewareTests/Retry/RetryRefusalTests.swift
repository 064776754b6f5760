@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// The reasons why a failed request is not sent again.
@Suite("Refusals of retries", .timeLimit(.minutes(10)))
struct RetryRefusalTests {
    private typealias Step = ResponseScript.Step

    /// A failing call, and the reason why its retries end.
    struct Row: Sendable, CustomTestStringConvertible {
        var steps: [ResponseScript.Step]
        var method: HTTPMethod = .get
        var body: BodyProvider = .none
        /// The tokens of the budget; nil for no limit.
        var tokens: Int?
        var timeout: Duration?
        let count: Int
        let refusal: RawResponse.Metrics.Retry.Refusal
        /// The end of the description; nil if it does not mention the refusal.
        let note: String?

        var testDescription: String { "\(method): \(refusal)" }
    }

    private struct NoChunks: RequestBody.Source {
        mutating func next() async throws -> Data? { nil }
    }

    static let rows: [Row] = [
        Row(
            steps: [.status(503)], count: 3, refusal: .retriesExhausted,
            note: "not repeated after 3 attempts: the retry policy permits no more retries"),
        Row(
            steps: [.failure(RequestError(.connectionFailed))], count: 3, refusal: .retriesExhausted,
            note: "not repeated after 3 attempts: the retry policy permits no more retries"),
        Row(
            steps: [.json("[1,")], count: 3, refusal: .retriesExhausted,
            note: "not repeated after 3 attempts: the retry policy permits no more retries"),
        Row(
            steps: [.status(503)], tokens: 1, count: 2, refusal: .budgetExhausted,
            note: "not repeated after 2 attempts: the retry budget is exhausted"),
        Row(
            steps: [.json("[1,")], tokens: 0, count: 1, refusal: .budgetExhausted,
            note: "not repeated: the retry budget is exhausted"),
        Row(
            steps: [.status(429)], method: .post, count: 1, refusal: .notIdempotent,
            note: "not repeated: the request is not idempotent; see Request.isIdempotent"),
        Row(
            steps: [.failure(RequestError(.connectionLost))], method: "LOCK", count: 1, refusal: .notIdempotent,
            note: "not repeated: the request is not idempotent; see Request.isIdempotent"),
        Row(
            steps: [.json("[1,")], method: .post, count: 1, refusal: .notIdempotent,
            note: "not repeated: the request is not idempotent; see Request.isIdempotent"),
        Row(
            steps: [.status(503)], method: .put, body: BodyProvider { _ in .oneShot(length: 0, NoChunks()) },
            count: 1, refusal: .bodyNotReplayable, note: "not repeated: the body can be sent only once"),
        Row(
            steps: [.status(503, retryAfter: "30")], timeout: .seconds(20), count: 1, refusal: .deadlineTooClose,
            note: "not repeated: the delay would exceed Timeouts.total"),
        Row(steps: [.status(404)], method: .post, count: 1, refusal: .failureNotIncluded, note: nil),
        Row(steps: [.failure(RequestError(.cancelled))], count: 1, refusal: .callEnded, note: nil),
    ]

    @Test(
        "an error, its response and the log say why a failed request is not repeated", .rows("R-66", "PM-100"),
        arguments: rows, CallForm.allCases)
    func reasons(row: Row, form: CallForm) async throws {
        let (script, entries) = (ResponseScript(row.steps), Collected<RequestLogging.Entry>())
        let clock = ManualClock()
        let budget = row.tokens.map { RetryBudget(initial: $0, ratio: 0) } ?? .unlimited
        let executor = script.executor.retrying(budget: budget, clock: clock.clock())
            .observing(.calls, by: RequestLogging { entries.add($0) })
        let api = AnonymousRequestProvider("http://e.com")
        var request = api.request(to: "/x", using: row.method).sending(row.body).receiving(.json([Int].self))
        if let timeout = row.timeout { request.timeouts.total = timeout }
        let error = try #require(
            await failure { () async throws(RequestError) in try await form.response(for: request, over: executor) })
        #expect(error.retryRefusal == row.refusal && script.count == row.count)
        #expect(error.attempts == row.count && error.retries.count == row.count - 1)
        #expect(error.description.contains("not repeated") == (row.note != nil))
        if let note = row.note { #expect(error.description.hasSuffix(": \(note)"), "\(error)") }

        // The response of a validator that accepts everything has the same reason.
        let accepting = request.validating(.none).receiving(.data)
        if error.reason == .unacceptableStatus, row.tokens == nil {
            let response = try await executor.response(for: accepting)
            #expect(response.metrics.retryRefusal == row.refusal)
        }
        // The log does not see the decoder.
        guard error.reason != .decodingFailed else { return }
        let lines = entries.elements.flatMap(\.lines)
        #expect(lines.count { $0.contains("not repeated") } == (row.note == nil ? 0 : entries.elements.count / 2))
        if let note = row.note { #expect(lines.contains { $0.contains(note) }, "\(lines)") }
    }

    @Test("a request that is not repeated, because it succeeded, has no refusal", .rows("R-66"))
    func none() async throws {
        let script = ResponseScript(.status(503), .json("[1]"))
        let api = AnonymousRequestProvider("http://e.com")
        let request = api.get(.json([Int].self), from: "/x")
        let response = try await script.executor.retrying(clock: ManualClock().clock()).response(for: request)
        #expect(response.metrics.retries.count == 1 && response.metrics.retryRefusal == nil)
        let failing = ResponseScript(.status(503))
        let error = await failure { () async throws(RequestError) in try await failing.executor.perform(request) }
        #expect(error?.retryRefusal == nil && error?.description.contains("repeated") == false)
    }

    @Test(
        "the trace of a call has a line with the reason, also for a streamed response", .rows("R-66"),
        arguments: Transport.allCases, [false, true])
    func trace(transport: Transport, isStreamed: Bool) async throws {
        let entries = Collected<RequestLogging.Entry>()
        try await transport.run(serving: ResponseScript(.status(503)).executor) { api, executor in
            let traced = executor.retrying(clock: ManualClock().clock())
                .observing(.calls, by: RequestLogging.trace { entries.add($0) })
            var request = try api.get(.data, from: "/x").prepared()
            if isStreamed { request.delivery = .streamed }
            let response = try await traced.execute(request)
            if case .stream(let stream) = response.body { _ = try await stream.collect(limit: 1 << 10) }
        }
        let lines = entries.elements.flatMap(\.lines)
        for attempt in 1...2 {
            let line = "* attempt \(attempt): 503 Service Unavailable, repeated after"
            #expect(lines.count { $0.contains(line) } == 1, "\(lines)")
        }
        #expect(lines.contains("* not repeated after 3 attempts: the retry policy permits no more retries"), "\(lines)")
    }
}
