import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

/// Random scripts of a client against a server, each the other's test.
@Suite("HTTP/2: random scripts")
struct ScriptTests {
    /// The number of scripts; REQUESTS_HTTP2_SCRIPTS sets it.
    private static let scripts =
        ProcessInfo.processInfo.environment["REQUESTS_HTTP2_SCRIPTS"].flatMap(Int.init) ?? 300

    private static func limits(_ random: inout SplitMix64) -> HTTP2Limits {
        var limits = HTTP2Limits()
        limits.streamWindow = [65_535, 70_000, 262_144].randomElement(using: &random) ?? 65_535
        limits.connectionWindow = [65_535, 100_000, 4 << 20].randomElement(using: &random) ?? 65_535
        limits.concurrentStreams = [1, 3, 100].randomElement(using: &random) ?? 1
        limits.resets = (burst: 1_000_000, perSecond: 33)
        return limits
    }

    @Test("no script of two sides causes an error, a stall, a wrong byte or a lost window", .rows("H-16", "H-24"))
    func scripts() {
        print("HTTP/2 scripts: \(Self.scripts) from seed \(Mutator.seed)")
        for number in 0..<UInt64(Self.scripts) {
            let seed = Mutator.seed &* 1_000_003 &+ number
            var random = SplitMix64(state: seed)
            var pair = ConnectionPair(seed: seed, client: Self.limits(&random), server: Self.limits(&random))
            for _ in 0..<Int.random(in: 1...200, using: &random) { pair.step() }
            pair.finish()
            pair.checkEnd()
            let problems = pair.problems
            #expect(problems == [], "seed \(seed)")
            if !problems.isEmpty { return }
        }
    }
}
