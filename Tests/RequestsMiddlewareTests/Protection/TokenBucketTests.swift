import TestCorpora
import TestSupport
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
        let start = Deadline.now
        var bucket = TokenBucket(interval: .seconds(row.interval), burst: row.burst)
        for (number, (second, event)) in row.events.enumerated() {
            let now = start.advanced(by: .seconds(second))
            switch event {
            case .take(let limit, let delay):
                let taken = bucket.take(at: now, waitingAtMost: .seconds(limit))?.delay
                #expect(taken == delay.map { .seconds($0) }, "\(row.name), event \(number)")
            case .block(let seconds): bucket.block(for: .seconds(seconds), at: now)
            }
        }
    }

    @Test("tokens that are returned are the next ones, in their order")
    func givenBack() {
        let start = Deadline.now
        var bucket = TokenBucket(interval: .seconds(2), burst: 1)
        func delays(_ count: Int, at second: Int = 0) -> [Duration?] {
            (0..<count).map { _ in
                bucket.take(at: start.advanced(by: .seconds(second)), waitingAtMost: .seconds(99))?.delay
            }
        }
        let tokens = (0..<6).compactMap { _ in bucket.take(at: start, waitingAtMost: .seconds(99)) }
        #expect(tokens.map(\.delay) == [0, 2, 4, 6, 8, 10].map { .seconds($0) })
        bucket.restore(tokens[3])
        bucket.restore(tokens[1])
        #expect(bucket.take(at: start, waitingAtMost: .seconds(1)) == nil)
        #expect(delays(3) == [.seconds(2), .seconds(6), .seconds(12)])
        // All that wait are cancelled, in any order: the next request waits as if they had not been.
        for token in [tokens[3], tokens[5], tokens[4], tokens[1], tokens[2]] { bucket.restore(token) }
        #expect(delays(1) == [.seconds(2)])
        #expect(delays(1, at: 7) == [.seconds(1)])
    }

    @Test("a token of the past, and one within a pause of the server, are not used")
    func expired() {
        let start = Deadline.now
        var bucket = TokenBucket(interval: .seconds(2), burst: 3)
        let tokens = (0..<6).compactMap { _ in bucket.take(at: start, waitingAtMost: .seconds(99)) }
        #expect(tokens.map(\.delay) == [0, 0, 0, 2, 4, 6].map { .seconds($0) })
        bucket.restore(tokens[3])
        // It was due at 6 s.
        #expect(bucket.take(at: start.advanced(by: .seconds(7)), waitingAtMost: .seconds(99))?.delay == .seconds(1))
        bucket.restore(tokens[4])
        bucket.block(for: .seconds(10), at: start)
        #expect(bucket.take(at: start.advanced(by: .seconds(7)), waitingAtMost: .seconds(99))?.delay == .seconds(3))
    }

    @Test(
        "requests at the rate do not wait, whatever fraction of a nanosecond the interval has",
        arguments: [3, 7, 9, 10, 11])
    func rate(count: Int) {
        let start = Deadline.now
        var bucket = TokenBucket(interval: .seconds(1) / count, burst: count)
        for second in 0..<100 {
            let now = start.advanced(by: .seconds(second))
            let taken = (0...count).map { _ in bucket.take(at: now, waitingAtMost: .zero) != nil }
            #expect(taken == Array(repeating: true, count: count) + [false])
        }
    }

    @Test("a pause of the server has an effect with the longest interval and the largest burst")
    func longestTolerance() {
        let start = Deadline.now
        var bucket = TokenBucket(interval: .seconds(86_400), burst: 1_000_000_000)
        let first = bucket.take(at: start, waitingAtMost: .zero)
        #expect(first != nil)
        bucket.block(for: .seconds(3_600), at: start)
        #expect(bucket.take(at: start, waitingAtMost: .seconds(60)) == nil)
        #expect(bucket.take(at: start, waitingAtMost: .seconds(3_600))?.delay == .seconds(3_600))
    }

    @Test("the time to cancel waiting requests, and to let others take their place, grows with their number only")
    func growth() async throws {
        let start = Deadline.now
        let ratio = try await Growth.ratio(size: 500) { size in
            {
                var bucket = TokenBucket(interval: .seconds(1), burst: 1)
                let tokens = (0..<size).compactMap { _ in bucket.take(at: start, waitingAtMost: .seconds(1 << 20)) }
                // The last one remains, so that those before it are kept.
                for token in tokens.dropLast() { bucket.restore(token) }
                for token in tokens.dropLast() {
                    #expect(bucket.take(at: start, waitingAtMost: .seconds(1 << 20))?.delay == token.delay)
                }
            }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test(
        "in any sequence, with tokens returned, no period has more requests than its intervals and the burst",
        arguments: 0..<16)
    func bound(number: Int) {
        var random = SplitMix64(state: UInt64(number))
        let (interval, burst) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...6, using: &random))
        let start = Deadline.now
        var bucket = TokenBucket(interval: .seconds(interval), burst: burst)
        // The same requests, without giving tokens back.
        var keeping = bucket
        var (second, isEarlier) = (0, false)
        var taken: [(token: TokenBucket.Token, sent: Int)] = []
        for _ in 0..<600 {
            second += Int.random(in: 0...(interval / 2 + 1), using: &random)
            let now = start.advanced(by: .seconds(second))
            let waiting = taken.indices.filter { taken[$0].sent > second }
            if let place = waiting.randomElement(using: &random), Bool.random(using: &random) {
                bucket.restore(taken.remove(at: place).token)
                continue
            }
            guard let token = bucket.take(at: now, waitingAtMost: .seconds(1_000_000)),
                let kept = keeping.take(at: now, waitingAtMost: .seconds(1_000_000))
            else {
                Issue.record("no token")
                continue
            }
            #expect(token.delay <= kept.delay)
            if token.delay < kept.delay { isEarlier = true }
            taken.append((token, second + Int(token.delay.components.seconds)))
        }
        #expect(isEarlier)
        let sent = taken.map(\.sent).sorted()
        for first in sent.indices {
            for last in first..<sent.count {
                let limit = (sent[last] - sent[first]) / interval + burst
                #expect(last - first + 1 <= limit)
            }
        }
    }
}
