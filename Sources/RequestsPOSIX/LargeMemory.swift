import CRequestsPOSIX
@_spi(Lock) import Requests

/// A cache of large blocks of memory for response bodies; a returned block is used again with its pages (decision
/// 0014).
///
/// Providing and clearing new pages takes the kernel longer than receiving bytes into them. At most ``most`` bytes are
/// cached, and the kernel may reclaim their pages when it needs memory. Where huge pages exist, all but the first
/// ``unit`` bytes may consist of them; of the first unit, only pages that are touched occupy memory. So a length that a
/// peer declares costs nothing, and the bytes that it sends cost at most twice their size and a page.
package final class LargeMemory: Sendable {
    /// The cache of the process.
    package static let shared = LargeMemory()
    /// The size of a huge page, and the minimum size of a block, in bytes.
    package static let unit = 2 << 20
    /// The maximum size of a block, and of all cached blocks together, in bytes.
    package static let most = 16 << 20

    private struct Spare: @unchecked Sendable {  // the cache alone owns these blocks
        /// The cached blocks, oldest first.
        var pieces: [UnsafeMutableRawBufferPointer] = []
    }

    private let spare = Lock(Spare())

    package init() {}

    deinit {
        for piece in spare.withLock({ $0.pieces }) { munmap(piece.baseAddress, piece.count) }
    }

    /// Returns a block of at least `size` bytes; nil if there is no memory, or if `size` is not between ``unit`` and
    /// ``most``.
    package func take(_ size: Int) -> UnsafeMutableRawPointer? {
        guard (Self.unit...Self.most).contains(size) else { return nil }
        let size = Self.wholePages(size)
        let kept = spare.withLock { spare -> UnsafeMutableRawBufferPointer? in
            // Twice the size at most, because the part that is cut off is not available for the next body of the former
            // length.
            let index = spare.pieces.lastIndex { (size...2 * size).contains($0.count) }
            return index.map { spare.pieces.remove(at: $0) }
        }
        guard let kept, let start = kept.baseAddress else { return rp_pages(size, Self.unit) }
        cut(start, from: kept.count, to: size)
        return start
    }

    /// Returns the block at `start` to the cache; `size` is the size passed to ``take(_:)`` or ``cut(_:from:to:)``.
    package func recycle(_ start: UnsafeMutableRawPointer, _ size: Int) {
        let piece = UnsafeMutableRawBufferPointer(start: start, count: Self.wholePages(size))
        guard piece.count >= Self.unit else {
            munmap(start, piece.count)
            return
        }
        rp_leave_pages(start, piece.count)
        let superfluous = spare.withLock { spare -> ArraySlice<UnsafeMutableRawBufferPointer> in
            spare.pieces.append(piece)
            var (index, sum) = (spare.pieces.endIndex, 0)
            while index > 0, sum + spare.pieces[index - 1].count <= Self.most {
                index -= 1
                sum += spare.pieces[index].count
            }
            defer { spare.pieces.removeFirst(index) }
            return spare.pieces[..<index]
        }
        for piece in superfluous { munmap(piece.baseAddress, piece.count) }
    }

    /// Releases the part of the `old` bytes at `start` that follows the first `size` bytes, at least one.
    package func cut(_ start: UnsafeMutableRawPointer, from old: Int, to size: Int) {
        let (old, size) = (Self.wholePages(old), Self.wholePages(size))
        if size < old { munmap(start + size, old - size) }
    }

    /// Returns `size` rounded up to whole pages.
    private static func wholePages(_ size: Int) -> Int {
        let page = Int(rp_page_size())
        return (size + page - 1) / page * page
    }
}
