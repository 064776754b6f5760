import CRequestsPOSIX

/// Memory of whole pages outside the heap, which returns to the system as soon as it is released.
///
/// The heap keeps a few MiB of freed blocks in each of its arenas, so a program with many threads would occupy many
/// times the memory that it uses (decision 0026).
package enum PageMemory {
    /// Returns at least `size` bytes, at least one page, that begin with the bytes at `old`; nil if there is no memory.
    ///
    /// Pages occupy memory only when they are touched, so a large `size` costs nothing.
    ///
    /// - Parameters:
    ///   - old: Memory that an earlier call returned, which becomes invalid unless the result is nil; nil for new
    ///     memory.
    ///   - oldSize: The size passed to that call.
    ///   - size: The wanted size in bytes.
    /// - Returns: The memory.
    package static func grow(
        _ old: UnsafeMutableRawPointer?, from oldSize: Int, to size: Int
    ) -> UnsafeMutableRawPointer? {
        rp_grow_pages(old, wholePages(oldSize), wholePages(max(1, size)))
    }

    /// Shrinks the `old` bytes at `start` to `size`, but at least to one page, and releases the remaining pages.
    package static func cut(_ start: UnsafeMutableRawPointer, from old: Int, to size: Int) {
        let (old, size) = (wholePages(max(1, old)), wholePages(max(1, size)))
        if size < old { munmap(start + size, old - size) }
    }

    /// Releases memory that ``grow(_:from:to:)`` returned for `size`, or ``cut(_:from:to:)`` has reduced to `size`.
    package static func release(_ start: UnsafeMutableRawPointer, _ size: Int) {
        munmap(start, wholePages(max(1, size)))
    }

    /// Returns `size` rounded up to whole pages.
    private static func wholePages(_ size: Int) -> Int {
        let page = Int(rp_page_size())
        return (size + page - 1) / page * page
    }
}
