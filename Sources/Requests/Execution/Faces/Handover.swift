/// Where a call leaves its value for the thread that waits for it; the value need not be `Sendable`.
final class Handover<Value>: @unchecked Sendable {  // put before the thread's lock tells the call's end, taken after
    private var value: Value?

    func put(_ value: sending Value) {
        self.value = value
    }

    func take() -> sending Value? {
        value.take()
    }
}
