import CRequestsPOSIX
@_spi(Lock) import Requests

/// Memory of some MiB for one body after another: what is given back is lent again, with its pages.
///
/// To have the kernel find and clear every page of it takes longer than to receive what goes there. At most ``most``
/// bytes wait to be lent, and the kernel may take their pages whenever it needs memory. Where there are huge pages, all
/// but the first ``unit`` of bytes may consist of them; of that one only the pages that are touched are there. So what a
/// peer announces costs nothing, and what it sends at most twice as much and a page.
package final class LargeMemory: Sendable {
    package static let shared = LargeMemory()
    /// What a huge page has, and the least that is worth it.
    package static let unit = 2 << 20
    /// The most that is lent at once, and that waits to be lent.
    package static let most = 16 << 20

    private struct Spare: @unchecked Sendable {  // nobody else has these pieces while they are here
        /// The oldest comes first.
        var pieces: [UnsafeMutableRawBufferPointer] = []
    }

    private let spare = Lock(Spare())

    package init() {}

    deinit {
        for piece in spare.withLock({ $0.pieces }) { munmap(piece.baseAddress, piece.count) }
    }

    /// Memory of `size` bytes; nil when there is no room, or `size` is not between ``unit`` and ``most``.
    package func take(_ size: Int) -> UnsafeMutableRawPointer? {
        guard (Self.unit...Self.most).contains(size) else { return nil }
        let size = Self.wholePages(size)
        let kept = spare.withLock { spare -> UnsafeMutableRawBufferPointer? in
            // What is cut off is gone for the next body that is as long as the last.
            let index = spare.pieces.lastIndex { (size...2 * size).contains($0.count) }
            return index.map { spare.pieces.remove(at: $0) }
        }
        guard let kept, let start = kept.baseAddress else { return rp_pages(size, Self.unit) }
        cut(start, from: kept.count, to: size)
        return start
    }

    /// Takes back the memory at `start`, of which `size` bytes were asked for, or left by ``cut(_:from:to:)``.
    package func giveBack(_ start: UnsafeMutableRawPointer, _ size: Int) {
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

    /// Lets go of all but the first `size` bytes, one at least, of the `old` at `start`.
    package func cut(_ start: UnsafeMutableRawPointer, from old: Int, to size: Int) {
        let (old, size) = (Self.wholePages(old), Self.wholePages(size))
        if size < old { munmap(start + size, old - size) }
    }

    private static func wholePages(_ size: Int) -> Int {
        let page = Int(rp_page_size())
        return (size + page - 1) / page * page
    }
}
