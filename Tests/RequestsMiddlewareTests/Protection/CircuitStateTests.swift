import Testing

@testable import RequestsMiddleware

@Suite("States of circuits", .timeLimit(.minutes(10)))
struct CircuitStateTests {
    /// What happens at a time in seconds, to requests that are named by letters.
    enum Event {
        /// The request is sent.
        case sent(Character)
        /// The request is rejected, for this number of seconds.
        case rejected(seconds: Int)
        case end(Character, CircuitState.Outcome)
    }

    struct Row {
        let name: String
        var failures = 2
        var probes = 1
        let events: [(second: Int, event: Event)]
    }

    @Test("after an opening, a table does not count the results of earlier requests")
    func earlierResults() {
        var table = OriginTable<CircuitState>()
        let (start, origin) = (Deadline.now, TargetURI.OriginKey("https://example.com"))
        let policy = CircuitBreaker.Policy(failures: 2, pause: .seconds(10))
        func change<Result>(_ body: (inout CircuitState) -> Result) -> Result {
            table.change(origin, new: CircuitState(policy), body)
        }
        let earlier = (0..<4).map { _ in change { $0.admit(at: start) } }
        #expect(earlier == Array(repeating: .admitted(0), count: 4))
        for _ in 0..<2 { change { $0.record(.failure, admittedAs: 0, at: start) } }
        let later = start.advanced(by: .seconds(10))
        guard case .admitted(let probe) = change({ $0.admit(at: later) }) else {
            Issue.record("the probe is rejected")
            return
        }
        change { $0.record(.success, admittedAs: probe, at: later) }
        // The circuit is closed; what failed before it opened does not open it again.
        for _ in 0..<2 { change { $0.record(.failure, admittedAs: 0, at: later) } }
        #expect(change { $0.isClosed })
    }

    @Test("a probe succeeds once with the head of a stream, and the end of its body counts in the closed circuit")
    func heads() {
        let start = Deadline.now
        var state = CircuitState(.init(failures: 2, pause: .seconds(10), probes: 2))
        func admit(at second: Int) -> UInt64? {
            if case .admitted(let number) = state.admit(at: start.advanced(by: .seconds(second))) {
                number
            } else {
                nil
            }
        }
        // In a closed circuit, a head is neither a success nor a failure.
        for _ in 0..<2 {
            state.record(.failure, admittedAs: 0, at: start)
            #expect(state.recordHead(admittedAs: 0, at: start) == 0 || !state.isClosed)
        }
        guard !state.isClosed, let first = admit(at: 10), let second = admit(at: 10) else {
            Issue.record("no probes")
            return
        }
        #expect(state.recordHead(admittedAs: first, at: start) == nil && !state.isClosed)
        #expect(admit(at: 10) == nil)
        let closed = state.recordHead(admittedAs: second, at: start)
        #expect(state.isClosed && closed != second && closed == admit(at: 10))
        for _ in 0..<2 { state.record(.failure, admittedAs: closed ?? 0, at: start.advanced(by: .seconds(10))) }
        #expect(!state.isClosed)
    }

    static let rows: [Row] = [
        Row(
            name: "consecutive failures open the circuit; it closes when a probe succeeds",
            events: [
                (0, .sent("a")), (0, .end("a", .failure)), (0, .sent("b")), (0, .end("b", .failure)),
                (3, .rejected(seconds: 7)), (10, .sent("c")), (10, .rejected(seconds: 0)), (11, .end("c", .success)),
                (11, .sent("d")), (11, .end("d", .failure)), (11, .sent("e")),
            ]),
        Row(
            name: "a success between failures ends the row, and a neutral result does not",
            events: [
                (0, .sent("a")), (0, .end("a", .failure)), (0, .sent("b")), (0, .end("b", .success)),
                (0, .sent("c")), (0, .end("c", .failure)), (0, .sent("d")), (0, .end("d", .neutral)),
                (0, .sent("e")), (0, .end("e", .failure)), (0, .rejected(seconds: 10)),
            ]),
        Row(
            name: "the pause doubles up to the longest, and is the first one again after a success", failures: 1,
            events: [
                (0, .sent("a")), (0, .end("a", .failure)), (0, .rejected(seconds: 10)),
                (10, .sent("b")), (10, .end("b", .failure)), (10, .rejected(seconds: 20)),
                (30, .sent("c")), (30, .end("c", .failure)), (30, .rejected(seconds: 30)),
                (60, .sent("d")), (60, .end("d", .failure)), (60, .rejected(seconds: 30)),
                (90, .sent("e")), (90, .end("e", .success)), (90, .sent("f")), (90, .end("f", .failure)),
                (90, .rejected(seconds: 10)),
            ]),
        Row(
            name: "a result from before the circuit opened does not count", failures: 1,
            events: [
                (0, .sent("a")), (0, .sent("b")), (0, .sent("c")), (0, .end("a", .failure)), (0, .end("b", .success)),
                (1, .rejected(seconds: 9)), (10, .sent("d")), (10, .end("c", .failure)), (11, .end("d", .success)),
                (11, .sent("e")),
            ]),
        Row(
            name: "all probes must succeed, and no more of them are sent", failures: 1, probes: 2,
            events: [
                (0, .sent("a")), (0, .end("a", .failure)), (10, .sent("b")), (10, .sent("c")),
                (10, .rejected(seconds: 0)),
                (10, .end("b", .success)), (10, .rejected(seconds: 0)), (10, .end("c", .success)), (10, .sent("d")),
                (10, .sent("e")), (10, .sent("f")),
            ]),
        Row(
            name: "one of several probes that fails opens the circuit, whatever the others do", failures: 1, probes: 2,
            events: [
                (0, .sent("a")), (0, .end("a", .failure)), (10, .sent("b")), (10, .sent("c")),
                (10, .end("b", .failure)),
                (10, .end("c", .success)), (10, .rejected(seconds: 20)),
            ]),
        Row(
            name: "a cancelled probe makes way for another one", failures: 1,
            events: [
                (0, .sent("a")), (0, .end("a", .failure)), (10, .sent("b")), (10, .rejected(seconds: 0)),
                (10, .end("b", .neutral)), (10, .sent("c")), (10, .end("c", .success)), (10, .sent("d")),
                (10, .sent("e")),
            ]),
    ]

    @Test("states by a table of times", arguments: rows.indices)
    func table(index: Int) {
        let row = Self.rows[index]
        let start = Deadline.now
        var state = CircuitState(
            .init(failures: row.failures, pause: .seconds(10), longestPause: .seconds(30), probes: row.probes))
        var numbers: [Character: UInt64] = [:]
        for (number, (second, event)) in row.events.enumerated() {
            let now = start.advanced(by: .seconds(second))
            switch event {
            case .sent(let name):
                guard case .admitted(let admitted) = state.admit(at: now) else {
                    Issue.record("\(row.name), event \(number): rejected")
                    continue
                }
                numbers[name] = admitted
            case .rejected(let seconds):
                #expect(state.admit(at: now) == .rejected(.seconds(seconds)), "\(row.name), event \(number)")
            case .end(let name, let outcome):
                state.record(outcome, admittedAs: numbers[name] ?? .max, at: now)
            }
        }
    }
}
