/// Where a call leaves its value for the thread that waits for it; the value need not be `Sendable`.
///
/// It is put before the thread's lock tells that the call has ended, and taken after: the lock orders the two.
final class Handover<Value>: @unchecked Sendable {  // one side at a time, as said above
    private var value: Value?

    func put(_ value: sending Value) {
        self.value = value
    }

    func take() -> sending Value? {
        value.take()
    }
}
