import TestCorpora
import Testing

@testable import RequestsMiddleware

@Suite("Shares of a limited quantity", .timeLimit(.minutes(10)))
struct ShareLedgerTests {
    /// A step, and what it returns.
    private enum Step {
        case enter(String, Int = 1, waits: Bool)
        case leave(String, Int = 1, granted: [UInt64])
        case cancel(UInt64, granted: [UInt64]?)
        case grow(String, own: Int, by: Int, Bool)
    }

    private func check(_ steps: [Step], total: Int, perOrigin: Int, used: Int, waiting: Int) {
        var ledger = ShareLedger(total: total, perOrigin: perOrigin)
        for (index, step) in steps.enumerated() {
            switch step {
            case .enter(let origin, let count, let waits):
                #expect((ledger.enter(origin, count) != nil) == waits, "step \(index)")
            case .leave(let origin, let count, let granted):
                #expect(ledger.leave(origin, count) == granted, "step \(index)")
            case .cancel(let call, let granted): #expect(ledger.cancel(call) == granted, "step \(index)")
            case .grow(let origin, let own, let count, let isGrown):
                #expect(ledger.grow(origin, own, by: count) == isGrown, "step \(index)")
            }
        }
        #expect(ledger.used == used && ledger.waitingCount == waiting)
    }

    @Test("permits: calls run in the order of their arrival, and origins without a permit do not delay others")
    func permits() {
        check(
            [
                .enter("a", waits: false), .enter("a", waits: true), .enter("b", waits: false),
                .enter("c", waits: true), .enter("b", waits: true),
                // 1 waits for a, 2 for c, 3 for b.
                .leave("b", granted: [2]), .leave("c", granted: [3]), .cancel(1, granted: []), .cancel(1, granted: nil),
                .enter("a", waits: true), .leave("a", granted: [4]), .leave("b", granted: []),
                .leave("a", granted: []), .leave("a", granted: []), .enter("a", waits: false),
            ], total: 2, perOrigin: 1, used: 1, waiting: 0)
    }

    @Test("bytes: an origin has half of them or one long body, and a long body is not overtaken without end")
    func bytes() {
        check(
            [
                .enter("slow", 30, waits: false), .enter("slow", 20, waits: false), .enter("slow", 1, waits: true),
                // Others have the second half.
                .enter("b", 40, waits: false), .enter("c", 20, waits: true), .enter("d", 5, waits: true),
                // Call 2 waits for what is left in all, so the smaller call 3 does not overtake it; only its origin
                // holds back call 1.
                .leave("b", 40, granted: [2, 3]), .cancel(1, granted: []), .leave("slow", 30, granted: []),
                .leave("slow", 20, granted: []), .enter("long", 75, waits: false), .enter("long", 1, waits: true),
                .leave("long", 75, granted: [4]), .leave("long", 1, granted: []),
            ], total: 100, perOrigin: 50, used: 25, waiting: 0)
        check(
            [
                .enter("a", 10, waits: false), .grow("a", own: 10, by: 60, true), .enter("b", 20, waits: false),
                // It is not the only one of its origin, or there is too little in all.
                .enter("b", 5, waits: false), .grow("b", own: 20, by: 26, false), .grow("b", own: 20, by: 5, true),
                .grow("a", own: 70, by: 1, false), .enter("c", 50, waits: true), .enter("d", 1, waits: true),
                .cancel(1, granted: []), .leave("b", 5, granted: [2]),
            ], total: 100, perOrigin: 50, used: 96, waiting: 0)
    }

    /// The same rules without any structure that makes them fast.
    private struct Model {
        let (total, perOrigin): (Int, Int)
        var running: [(origin: String, count: Int)] = []
        var waiting: [(call: UInt64, origin: String, count: Int)] = []
        var lastCall: UInt64 = 0

        var used: Int { running.reduce(0) { $0 + $1.count } }

        func mayUse(_ count: Int, _ origin: String) -> Bool {
            let own = running.filter { $0.origin == origin }.reduce(0) { $0 + $1.count }
            return own == 0 || own + count <= perOrigin
        }

        /// The index of the call to admit next: it has waited longest, is the first of its origin, and its origin may
        /// use more.
        var candidate: Int? {
            waiting.indices.first { index in
                let call = waiting[index]
                return !waiting[..<index].contains { $0.origin == call.origin } && mayUse(call.count, call.origin)
            }
        }

        mutating func enter(_ origin: String, _ count: Int) -> UInt64? {
            let isFirst = !waiting.contains { $0.origin == origin }
            if isFirst, mayUse(count, origin), candidate == nil, used + count <= total {
                running.append((origin, count))
                return nil
            }
            lastCall += 1
            waiting.append((lastCall, origin, count))
            return lastCall
        }

        mutating func grant() -> [UInt64] {
            var granted: [UInt64] = []
            while let index = candidate, used + waiting[index].count <= total {
                let next = waiting.remove(at: index)
                running.append((next.origin, next.count))
                granted.append(next.call)
            }
            return granted
        }

        mutating func leave(_ index: Int) -> [UInt64] {
            running.remove(at: index)
            return grant()
        }

        mutating func cancel(_ call: UInt64) -> [UInt64]? {
            guard let index = waiting.firstIndex(where: { $0.call == call }) else { return nil }
            waiting.remove(at: index)
            return grant()
        }
    }

    @Test("random steps give the same shares as the rules written without a heap", arguments: 0..<24)
    func sequences(number: Int) {
        var random = SplitMix64(state: UInt64(number))
        // Half of the runs are about permits.
        let largest = number.isMultiple(of: 2) ? 1 : 12
        let total = Int.random(in: 1...8, using: &random) * largest
        let perOrigin = Int.random(in: 1...max(1, total), using: &random)
        var ledger = ShareLedger(total: total, perOrigin: perOrigin)
        var model = Model(total: total, perOrigin: perOrigin)
        let names = (0..<Int.random(in: 1...12, using: &random)).map { "origin\($0)" }
        for _ in 0..<1_500 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let origin = names.randomElement(using: &random) ?? ""
                let count = Int.random(in: 1...min(largest, total), using: &random)
                #expect(ledger.enter(origin, count) == model.enter(origin, count))
            case 5..<8:
                guard let index = model.running.indices.randomElement(using: &random) else { continue }
                let (origin, count) = model.running[index]
                #expect(ledger.leave(origin, count) == model.leave(index))
            default:
                guard model.lastCall > 0 else { continue }
                let call = UInt64.random(in: 1...model.lastCall, using: &random)
                #expect(ledger.cancel(call) == model.cancel(call))
            }
            #expect(ledger.used == model.used && ledger.used <= total)
            #expect(ledger.waitingCount == model.waiting.count)
        }
    }

    @Test("of 1,000 origins without calls, 64 remain")
    func idleOrigins() {
        var ledger = ShareLedger(total: 1_000, perOrigin: 1)
        for number in 0..<1_000 { #expect(ledger.enter("\(number)") == nil) }
        #expect(ledger.originCount == 1_000)
        for number in 0..<1_000 { #expect(ledger.leave("\(number)").isEmpty) }
        #expect(ledger.originCount == 64 && ledger.used == 0)
    }

    @Test("100,000 origins whose calls wait are served one by one without a search among all of them")
    func manyOrigins() {
        var ledger = ShareLedger(total: 1, perOrigin: 1)
        let count = 100_000
        for number in 0...count { _ = ledger.enter("\(number)") }
        #expect(ledger.waitingCount == count)
        var served = 0
        for number in 0..<count { served += ledger.leave("\(number)") == [UInt64(number + 1)] ? 1 : 0 }
        #expect(served == count && ledger.waitingCount == 0)
    }
}

extension ShareLedger {
    fileprivate mutating func enter(_ origin: String, _ count: Int = 1) -> UInt64? {
        enter(TargetURI.OriginKey(origin), count)
    }

    fileprivate mutating func leave(_ origin: String, _ count: Int = 1) -> [UInt64] {
        leave(TargetURI.OriginKey(origin), count)
    }

    fileprivate mutating func grow(_ origin: String, _ own: Int, by count: Int) -> Bool {
        grow(TargetURI.OriginKey(origin), own, by: count)
    }
}
