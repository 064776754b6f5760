@_spi(Lock) import Requests
import TestSupport
import Testing

@Suite("Locks", .tags(.concurrent), .timeLimit(.minutes(5)))
struct LockTests {
    @Test("critical sections of many tasks do not overlap")
    func exclusion() async {
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask { for _ in 0..<5_000 { counter.count.withLock { $0 += 1 } } }
            }
        }
        #expect(counter.count.withLock { $0 } == 80_000)
    }

    @Test("a lock that is in use is not available, and one is available again after an error")
    func availability() throws {
        let counter = Counter()
        counter.count.withLock { _ in
            #expect(counter.count.withLockIfAvailable { $0 } == nil)
        }
        #expect(throws: Failure.self) {
            try counter.count.withLock { (_: inout Int) throws(Failure) in throw Failure() }
        }
        #expect(counter.count.withLockIfAvailable { $0 } == 0)
    }

    @Test("the value of a lock is destroyed with it")
    func destruction() {
        weak var value: Counter?
        do {
            let lock = Lock(Counter())
            value = lock.withLock { $0 }
            #expect(value != nil)
        }
        #expect(value == nil)
    }
}

private struct Failure: Error {}

private final class Counter: Sendable {
    let count = Lock(0)
}
