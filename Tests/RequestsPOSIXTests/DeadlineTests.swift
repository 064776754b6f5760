import Requests
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Deadline")
struct DeadlineTests {
    @Test("arithmetic saturates instead of trapping", .rows("R-75"))
    func saturates() {
        #expect(Deadline.now.advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(Deadline.now.advanced(by: .seconds(Int64.min)).hasPassed)
        #expect(Deadline.distantFuture.advanced(by: .nanoseconds(1)) == .distantFuture)
        #expect(Deadline(nanoseconds: .min).remaining == .zero)
    }

    @Test("a deadline made from an instant is that instant, and is not reached before it")
    func fromInstant() {
        let instant = ContinuousClock.now.advanced(by: .seconds(1_000))
        let deadline = Deadline(instant)
        #expect(deadline.instant == instant)
        #expect(deadline.remaining > .seconds(1))
        #expect(!deadline.hasPassed)
        #expect(Deadline(.now - .seconds(1)).hasPassed)
    }
}
