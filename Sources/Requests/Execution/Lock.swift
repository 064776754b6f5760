package import Synchronization

/// A `Mutex` that the thread sanitizer can see.
///
/// The standard library takes and gives its lock where the sanitizer does not look, which then reports races that cannot
/// happen. One atomic load and one store, ordinary moves on x86, tell it what the lock has ordered.
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    // Seen by other modules, so that a lock there is specialised and costs no metadata.
    @usableFromInline let mutex: Mutex<Value>
    @usableFromInline let handover = Atomic(false)

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` while no other thread is in here; `body` must not come back for the same lock.
    @inlinable
    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
