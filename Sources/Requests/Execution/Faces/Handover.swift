/// Where one side leaves a value for another, which need not be `Sendable`: it is put here once and taken once.
final class Handover<Value>: Sendable {
    // Comes in as `sending` and goes out once, so that only one side has it; closures cannot say that of a capture.
    private struct Content: @unchecked Sendable {
        let value: Value
    }

    private let content = Lock<Content?>(nil)

    func put(_ value: sending Value) {
        let new = Content(value: value)
        content.withLock { $0 = new }
    }

    func take() -> sending Value? {
        content.withLock { $0.take() }?.value
    }
}
