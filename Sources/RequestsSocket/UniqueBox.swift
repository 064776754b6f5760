import RequestsPOSIX

/// A value in separate memory, with one owner, so that moving it moves a pointer.
///
/// The variables of a suspending function are in a heap frame, which holds a copy for each move. The box keeps these
/// frames small (decision 0012).
struct UniqueBox<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {  // no other code has the pointer
    private let pointer: UnsafeMutablePointer<Value>

    /// Creates a box; the type of `value` must not need more than malloc's alignment.
    init(_ value: consuming Value) {
        // Allocation with an explicit alignment is slower.
        pointer = HeapMemory.resize(nil, to: MemoryLayout<Value>.size).bindMemory(to: Value.self, capacity: 1)
        pointer.initialize(to: value)
    }

    deinit {
        Self.free(pointer)
    }

    /// Returns the value, and releases its memory.
    consuming func take() -> Value {
        let pointer = pointer
        discard self
        defer { HeapMemory.free(pointer) }
        return pointer.move()
    }

    private static func free(_ pointer: UnsafeMutablePointer<Value>) {
        pointer.deinitialize(count: 1)
        HeapMemory.free(pointer)
    }

    var value: Value {
        _read { yield pointer.pointee }
        _modify { yield &pointer.pointee }
    }
}
