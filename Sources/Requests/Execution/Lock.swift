public import Synchronization

/// A `Mutex` that the thread sanitizer can see.
///
/// The standard library takes and gives its lock where the sanitizer does not look, which then reports races that cannot
/// happen. One atomic load and one store, ordinary moves on x86, tell it what the lock has ordered.
///
/// Not for users, and yet not `package`: the compiler specialises no generic of that access in another module, so that
/// every use there would look up metadata, which costs 900 instructions (see Docs/Decisions/0008-locks-are-spi.md).
@_spi(Lock) public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    @usableFromInline let handover = Atomic(false)

    /// A lock that guards `value`.
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` while no other thread is in here; `body` must not come back for the same lock.
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

    /// Runs `body` unless another thread is in here; nil when one is.
    ///
    /// For a forked child, where a thread that held the lock no longer exists.
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
