import CRequestsPOSIX

/// Memory of the C heap, which can grow and shrink where it lies.
package enum HeapMemory {
    /// Memory of `size` bytes, at least one, that begins with the bytes of `old`, which is gone.
    ///
    /// Traps when there is none left, as every allocation of the language does.
    package static func resize(_ old: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer {
        guard let memory = realloc(old, max(1, size)) else { preconditionFailure("out of memory") }
        return memory
    }

    package static func free(_ memory: UnsafeMutableRawPointer) {
        CRequestsPOSIX.free(memory)
    }
}
