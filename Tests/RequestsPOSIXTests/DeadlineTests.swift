import RequestsPOSIX
import Testing

@Suite("Deadline")
struct DeadlineTests {
    @Test("arithmetic saturates instead of trapping (R-75)")
    func saturates() {
        #expect(Deadline.now.advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(Deadline.now.advanced(by: .seconds(Int64.min)).hasPassed)
        #expect(Deadline.distantFuture.advanced(by: .nanoseconds(1)) == .distantFuture)
        #expect(Deadline(nanoseconds: .min).remaining == .zero)
    }

    @Test("a deadline made from an instant is never earlier than the instant")
    func fromInstant() {
        let instant = ContinuousClock.now.advanced(by: .seconds(10))
        let deadline = Deadline(instant)
        let early = Deadline.now.advanced(by: ContinuousClock.now.duration(to: instant))
        #expect(deadline >= early)
        #expect(deadline.remaining > .seconds(1))
        #expect(!deadline.hasPassed)
    }
}
