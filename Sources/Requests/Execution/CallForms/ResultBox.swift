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
final class ResultBox<Value>: Sendable {
    private let parcel = Lock<Parcel<Value>?>(nil)

    func put(_ value: consuming sending Value) {
        var new = Optional(Parcel(value))
        parcel.withLock { $0 = new.take() }
    }

    func take() -> sending Value? {
        parcel.withLock { $0.take() }?.open()
    }
}

/// The only owner of content that must be released on a certain queue.
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
