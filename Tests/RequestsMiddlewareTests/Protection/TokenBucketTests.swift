import TestCorpora
import Testing

@testable import RequestsMiddleware

@Suite("Token buckets", .timeLimit(.minutes(10)))
struct TokenBucketTests {
    /// What happens at a time in seconds: a request that waits at most `limit` seconds, or a pause of the server.
    enum Event {
        case take(limit: Int = 60, delay: Double?)
        case block(seconds: Int)
    }

    struct Row {
        let name: String
        var interval = 10
        var burst = 1
        let events: [(second: Int, event: Event)]
    }

    static let rows: [Row] = [
        Row(
            name: "one token in each interval",
            events: [
                (0, .take(delay: 0)), (0, .take(delay: 10)), (0, .take(delay: 20)), (5, .take(delay: 25)),
                (40, .take(delay: 0)), (45, .take(delay: 5)),
            ]),
        Row(
            name: "a burst at once, and again when the bucket is full", burst: 3,
            events: [
                (0, .take(delay: 0)), (0, .take(delay: 0)), (0, .take(delay: 0)), (0, .take(delay: 10)),
                (70, .take(delay: 0)), (70, .take(delay: 0)), (70, .take(delay: 0)), (70, .take(delay: 10)),
            ]),
        Row(
            name: "a token for each interval that has passed", burst: 3,
            events: [
                (0, .take(delay: 0)), (0, .take(delay: 0)), (0, .take(delay: 0)), (10, .take(delay: 0)),
                (10, .take(delay: 10)), (15, .take(delay: 15)),
            ]),
        Row(
            name: "a request that would wait too long takes no token",
            events: [
                (0, .take(delay: 0)), (0, .take(limit: 9, delay: nil)), (0, .take(limit: 9, delay: nil)),
                (0, .take(limit: 10, delay: 10)),
            ]),
        Row(
            name: "after a pause of the server, requests follow one by one", burst: 3,
            events: [
                (0, .block(seconds: 30)), (10, .take(delay: 20)), (10, .take(delay: 30)), (10, .take(delay: 40)),
            ]),
        Row(
            name: "a shorter pause does not end a longer one",
            events: [
                (0, .block(seconds: 30)), (0, .block(seconds: 5)), (10, .take(delay: 20)),
            ]),
        Row(
            name: "a pause that is over does not count", burst: 2,
            events: [
                (0, .block(seconds: 30)), (30, .take(delay: 0)), (30, .take(delay: 0)), (30, .take(delay: 10)),
            ]),
        Row(
            name: "a pause that is not positive does not count",
            events: [
                (0, .block(seconds: 0)), (0, .block(seconds: -5)), (0, .take(delay: 0)),
            ]),
        Row(
            name: "no limit without an interval", interval: 0,
            events: [
                (0, .take(delay: 0)), (0, .take(delay: 0)), (0, .take(limit: 0, delay: 0)),
            ]),
    ]

    @Test("tokens by a table of times", arguments: rows.indices)
    func table(index: Int) {
        let row = Self.rows[index]
        let start = ContinuousClock.now
        var bucket = TokenBucket(interval: .seconds(row.interval), burst: row.burst)
        for (number, (second, event)) in row.events.enumerated() {
            let now = start + .seconds(second)
            switch event {
            case .take(let limit, let delay):
                let taken = bucket.take(at: now, waitingAtMost: .seconds(limit))?.delay
                #expect(taken == delay.map { .seconds($0) }, "\(row.name), event \(number)")
            case .block(let seconds): bucket.block(for: .seconds(seconds), at: now)
            }
        }
    }

    @Test("a token that is given back is the next one, unless a later one was taken")
    func givenBack() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(interval: .seconds(2), burst: 1)
        let tokens = (0..<3).compactMap { _ in bucket.take(at: start, waitingAtMost: .seconds(9)) }
        #expect(tokens.map(\.delay) == [.zero, .seconds(2), .seconds(4)])
        bucket.giveBack(tokens[1])
        for _ in 0..<2 {
            let later = bucket.take(at: start, waitingAtMost: .seconds(9))
            #expect(later?.delay == .seconds(6))
            if let later { bucket.giveBack(later) }
        }
    }

    @Test("in any sequence, no window of time has more requests than its intervals and the burst", arguments: 0..<16)
    func bound(number: Int) {
        var random = SplitMix64(state: UInt64(number))
        let (interval, burst) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...6, using: &random))
        let start = ContinuousClock.now
        var bucket = TokenBucket(interval: .seconds(interval), burst: burst)
        var (second, sent) = (0, [Int]())
        for _ in 0..<300 {
            second += Int.random(in: 0...(interval + 3), using: &random)
            let delay = bucket.take(at: start + .seconds(second), waitingAtMost: .seconds(60))?.delay
            if let delay { sent.append(second + Int(delay.components.seconds)) }
        }
        #expect(sent == sent.sorted())
        for first in sent.indices {
            for last in first..<sent.count {
                let limit = (sent[last] - sent[first]) / interval + burst
                #expect(last - first + 1 <= limit)
            }
        }
    }
}
