public import Synchronization

/// A `Mutex` that the thread sanitizer can observe.
///
/// The standard library locks and unlocks in code that the sanitizer does not see, so the sanitizer reports races that
/// cannot happen. One atomic load and one atomic store, ordinary moves on x86, show it the order that the lock
/// establishes.
///
/// This type is not for users, but it is not `package` either: the compiler does not specialize generic code of that
/// access level in another module, so every use there would look up metadata, which costs 900 instructions (decision
/// 0008).
@_spi(Lock) public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    /// A flag that is written at the end and read at the beginning of each critical section, so that the sanitizer sees
    /// their order.
    @usableFromInline let handover = Atomic(false)

    /// Creates a lock that guards `value`.
    @inlinable  // a call would look up the metadata of `Mutex<Value>`
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` with exclusive access to the value, and returns its result.
    ///
    /// `body` must not use the same lock again.
    @inlinable
    @inline(__always)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }

    /// Runs `body` with exclusive access to the value; returns nil without running it when another thread has the lock.
    ///
    /// It is for a forked child, where the thread that had the lock no longer exists (decision 0019).
    @inlinable
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try mutex.withLockIfAvailable { value throws(Failure) in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
