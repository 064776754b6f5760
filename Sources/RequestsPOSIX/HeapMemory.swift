import CRequestsPOSIX

/// Memory of the C heap, which can grow and shrink in place.
package enum HeapMemory {
    /// Resizes `old`, which becomes invalid, and returns memory of at least `size` bytes that begins with its bytes.
    ///
    /// Traps if there is no memory left, as all allocations in Swift do.
    package static func resize(_ old: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer {
        guard let memory = realloc(old, max(1, size)) else { preconditionFailure("out of memory") }
        return memory
    }

    /// Frees memory that ``resize(_:to:)`` returned.
    package static func free(_ memory: UnsafeMutableRawPointer) {
        CRequestsPOSIX.free(memory)
    }
}
