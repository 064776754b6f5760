import Dispatch
import Requests
import Synchronization
import TestCorpora
import TestSupport
import Testing

/// Values of up to 1,024 words, cancelled while they move from the decoder to the caller.
///
/// A value of one word moves in one step, which would hide that it is stored and taken at the same time.
@Suite("Wide values and cancellation", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct WideValueTests {
    /// The time for testing each width in each call style.
    private static let duration =
        ProcessInfo.processInfo.environment["REQUESTS_STRESS_SECONDS"].flatMap { Double($0) }
        .map { .milliseconds(Int64($0 * 1_000 / 8)) } ?? Duration.milliseconds(150)

    private static let seed = RandomSeed()

    private static let widths: [any WideValue.Type] = [
        Objects<1>.self, Objects<8>.self, Objects<256>.self, Objects<1_024>.self,
        Existentials<1>.self, Existentials<8>.self, Existentials<52>.self, Existentials<205>.self,
    ]

    @Test(
        "a value decoded while its call is cancelled is delivered whole or not at all", .rows("PM-81", "PM-86", "R-68"),
        arguments: widths, CallStyle.allCases)
    fileprivate func cancelled(_ width: any WideValue.Type, in style: CallStyle) async {
        await Self.run(width, in: style)
    }

    private static func run<Value: WideValue>(_ width: Value.Type, in style: CallStyle) async {
        let census = Census()
        let queue = DispatchQueue(label: "test.completion")
        queue.setSpecific(key: completionKey, value: .queue)
        DispatchQueue.main.setSpecific(key: completionKey, value: .mainActor)
        await withCheckedContinuation { continuation in
            // `Round` blocks its thread, which must therefore not belong to the cooperative pool.
            DispatchQueue(label: "test.steps").async {
                let end = ContinuousClock.now + duration
                var numbers = seed.numbers()
                // On a busy machine the thread that cancels may be too late for a while.
                while ContinuousClock.now < end || (style.isCallback && census.late == 0 && census.calls < 200_000) {
                    Round<Value>(census, queue, &numbers).run(style)
                }
                continuation.resume()
            }
        }
        await census.waitUntilEmpty()
        #expect(census.damaged == 0)
        #expect(census.completions == census.calls)
        if style.isCallback {
            #expect(census.releases(outside: style) == 0, "released on another queue than the completion queue")
            #expect(census.late > 0, "every value was delivered, so the test proves nothing")
        }
    }

    enum CallStyle: CaseIterable {
        case queue, mainActor, blocking, awaited

        var isCallback: Bool { self == .queue || self == .mainActor }
    }
}

private let completionKey = DispatchSpecificKey<WideValueTests.CallStyle>()

/// Counts a test's calls and the parts of its values that have not been released.
private final class Census: Sendable {
    private struct Counts {
        var calls = 0
        var completions = 0
        var damaged = 0
        var living = 0
        var made = 0
        var delivered = 0
        /// The number of releases on the queue of each call style; the key nil counts releases on other queues.
        var releases: [WideValueTests.CallStyle?: Int] = [:]
        var atEnd: CheckedContinuation<Void, Never>?
    }

    private let counts = Mutex(Counts())

    var damaged: Int { counts.withLock { $0.damaged } }
    var completions: Int { counts.withLock { $0.completions } }
    var calls: Int { counts.withLock { $0.calls } }

    /// The number of decoded values that no caller has received.
    var late: Int { counts.withLock { $0.made - $0.delivered } }

    /// Returns the number of releases on other queues than the queue of `style`.
    func releases(outside style: WideValueTests.CallStyle) -> Int {
        counts.withLock { $0.releases.reduce(0) { $1.key == style ? $0 : $0 + $1.value } }
    }

    func begin() { counts.withLock { $0.calls += 1 } }

    func make() { counts.withLock { $0.made += 1 } }

    func complete(_ value: (any WideValue)?) {
        let isDamaged = value.map { !$0.isIntact }
        counts.withLock { counts in
            counts.completions += 1
            if isDamaged != nil { counts.delivered += 1 }
            if isDamaged == true { counts.damaged += 1 }
        }
    }

    func add() { counts.withLock { $0.living += 1 } }

    func remove() {
        let style = DispatchQueue.getSpecific(key: completionKey)
        let waiter = counts.withLock { counts in
            counts.living -= 1
            counts.releases[style, default: 0] += 1
            return counts.living == 0 ? counts.atEnd.take() : nil
        }
        waiter?.resume()
    }

    /// Returns when every part has been released; the suite's time limit ends a test that leaks one.
    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = counts.withLock { counts in
                if counts.living > 0 { counts.atEnd = continuation }
                return counts.living == 0
            }
            if isEmpty { continuation.resume() }
        }
    }
}

/// A part that detects damage and counts its release.
private final class Part: Sendable, Carried {
    private static let seal: UInt64 = 0x5EA1_5EA1_5EA1_5EA1
    private let seal = Part.seal
    private let census: Census

    init(_ census: Census) {
        self.census = census
        census.add()
    }

    deinit { census.remove() }

    var isIntact: Bool { seal == Self.seal }
}

private protocol Carried: Sendable {
    var isIntact: Bool { get }
}

private protocol WideValue: SendableMetatype {
    init(_ census: Census)
    var isIntact: Bool { get }
}

/// A value of `count` words, each a reference.
private struct Objects<let count: Int>: WideValue {
    let parts: InlineArray<count, Part>

    init(_ census: Census) {
        // Each element has its own part, so that a second release is noticed.
        parts = InlineArray { _ in Part(census) }
    }

    var isIntact: Bool { parts.indices.allSatisfy { parts[$0].isIntact } }
}

/// A value of `count` existentials of five words each.
private struct Existentials<let count: Int>: WideValue {
    let parts: InlineArray<count, any Carried>

    init(_ census: Census) {
        parts = InlineArray { _ in Part(census) }
    }

    var isIntact: Bool { parts.indices.allSatisfy { parts[$0].isIntact } }
}

/// One call, cancelled at about the time its decoder returns.
private final class Round<Value: WideValue>: Sendable {
    private let census: Census
    private let queue: DispatchQueue
    private let decoding = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)
    private let decodingTime: Duration
    private let cancellationDelay: Duration

    init(_ census: Census, _ queue: DispatchQueue, _ numbers: inout SplitMix64) {
        self.census = census
        self.queue = queue
        // About as long as it takes to wake the thread that cancels.
        decodingTime = .nanoseconds(Int64.random(in: 0...60_000, using: &numbers))
        cancellationDelay = .nanoseconds(Int64.random(in: 0...50_000, using: &numbers))
    }

    func run(_ style: WideValueTests.CallStyle) {
        census.begin()
        let request = AnonymousRequestProvider.example.get(
            ResponseDecoder<Value> { [self] _, _ in
                let value = Value(census)
                census.make()
                decoding.signal()
                Self.spin(for: decodingTime)
                return value
            }, from: "/x")
        switch style {
        case .queue:
            let task = StubExecutor().perform(request, on: queue) { [self] result in finish(try? result.get().value) }
            cancelSoon { task.cancel() }
        case .mainActor:
            let task = StubExecutor().perform(request) { [self] result in finish(try? result.get().value) }
            cancelSoon { task.cancel() }
        case .blocking:
            let task = Task { [self] in finish(Self.valueInPlace(request)) }
            cancelSoon { task.cancel() }
        case .awaited:
            let task = Task { [self] in finish(try? await StubExecutor().perform(request)) }
            cancelSoon { task.cancel() }
        }
    }

    private static func valueInPlace(_ request: Request<AnonymousRequestProvider, Value>) -> Value? {
        try? StubExecutor().performAndWait(request)
    }

    private static func spin(for time: Duration) {
        let moment = ContinuousClock.now + time
        while ContinuousClock.now < moment {}
    }

    private func finish(_ value: Value?) {
        census.complete(value)
        end.signal()
    }

    private func cancelSoon(_ cancel: () -> Void) {
        decoding.wait()
        Self.spin(for: cancellationDelay)
        cancel()
        end.wait()
    }
}
