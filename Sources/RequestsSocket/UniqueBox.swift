import RequestsPOSIX

/// A value that lies in memory of its own, with one owner: to give it away is to give away a pointer.
///
/// What suspends keeps its variables in frames on the heap, a copy for each that moves it: this makes them small.
struct UniqueBox<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {  // nobody else has the pointer
    private let pointer: UnsafeMutablePointer<Value>

    /// A box of `value`, which must be content with the alignment of any memory.
    init(_ value: consuming Value) {
        // Memory of a stated alignment is asked for in a slower way.
        pointer = HeapMemory.resize(nil, to: MemoryLayout<Value>.size).bindMemory(to: Value.self, capacity: 1)
        pointer.initialize(to: value)
    }

    deinit {
        Self.free(pointer)
    }

    @inline(never)
    private static func free(_ pointer: UnsafeMutablePointer<Value>) {
        pointer.deinitialize(count: 1)
        HeapMemory.free(pointer)
    }

    var value: Value {
        _read { yield pointer.pointee }
        _modify { yield &pointer.pointee }
    }
}
