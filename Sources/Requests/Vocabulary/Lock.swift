public import CRequestsClock

/// A value that one thread at a time can access.
///
/// The mutex is the one of the C library. `Synchronization.Mutex` hands the lock to the thread that has waited longest:
/// once a thread has lost its core while it had the lock, all threads that use it often queue for it from then on, and
/// 512 blocked threads took 1.7 times the processor time (decision 0081).
///
/// This type is not for users, but it is not `package` either: the compiler does not specialize generic code of that
/// access level in another module, so every use there would look up metadata, which costs 900 instructions (decision
/// 0008).
@_spi(Lock) public struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {  // the mutex guards the value
    /// The mutex, whose address must not change, with the value that it guards.
    @usableFromInline
    struct Storage: ~Copyable {
        @usableFromInline var mutex = pthread_mutex_t()
        @usableFromInline var value: Value

        @inlinable  // a part of the initializer of `Lock`
        init(_ value: consuming Value) { self.value = value }
    }

    @usableFromInline let storage: UnsafeMutablePointer<Storage>

    /// Creates a lock that guards `value`.
    @inlinable  // a call would look up the metadata of `Storage`
    public init(_ value: consuming sending Value) {
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(value))
        pthread_mutex_init(&storage.pointee.mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(&storage.pointee.mutex)
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Runs `body` with exclusive access to the value, and returns its result.
    ///
    /// `body` must not use the same lock again.
    @inlinable  // a call from another module would look up metadata, 900 instructions each time (decision 0008)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(&storage.pointee.mutex)
        defer { pthread_mutex_unlock(&storage.pointee.mutex) }
        return try body(&storage.pointee.value)
    }

    /// Runs `body` with exclusive access to the value; returns nil without running it when another thread has the lock.
    ///
    /// It is for a forked child, where the thread that had the lock no longer exists (decision 0019).
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(&storage.pointee.mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(&storage.pointee.mutex) }
        return try body(&storage.pointee.value)
    }
}
