/// A value that one task sends to another, and that need not be `Sendable`.
///
/// A parcel cannot be copied, so only its owner can reach the value, and sending the parcel sends the value with it.
struct Parcel<Value>: ~Copyable, @unchecked Sendable {  // the one owner of a value that was sent into it
    private let value: Value

    init(_ value: consuming sending Value) {
        self.value = value
    }

    consuming func open() -> sending Value {
        value
    }
}

/// A box in which a call stores its result for the thread that waits for it.
///
/// It has no lock, because destroying a generic lock looks up metadata, which takes longer than starting a call.
final class ResultBox<Value>: @unchecked Sendable {  // a lock of the thread orders `put` before `take`
    private var value: Value?

    func put(_ value: consuming sending Value) {
        self.value = value
    }

    func take() -> sending Value? {
        nonisolated(unsafe) let value = value.take()  // `put` received it as sent, and the box no longer has it
        return value
    }
}

/// Content with only one owner, because it must be released on a certain queue.
final class DeferredRelease<Content: ~Copyable & Sendable>: Sendable {
    private let content: Lock<Content?>

    init(_ content: consuming sending Content?) {
        self.content = Lock(content)
    }

    /// Releases the content on the calling thread.
    func release() {
        let content = content.withLock { $0.take() }
        _ = consume content
    }
}
