import CRequestsPOSIX

/// Part of a file in this process's address space, for system calls to read from, and for nobody else.
///
/// Where the file has become shorter since, a system call fails with EFAULT, but a load would be a signal: so the bytes
/// are never looked at. Between its end and the end of that page there are zeros: what comes of a window tells nothing
/// about the file's size.
package struct FileWindow: ~Copyable {
    private let start: UnsafeMutableRawPointer
    private let size: Int
    /// Where the first byte of the mapping lies in the file: at or before the first byte of the window.
    private let origin: Int64
    /// What of the file can be sent from here.
    package let range: Range<Int64>

    /// Nil when this kind of file, or this platform, does not allow it.
    package init?(_ file: borrowing FileReader, _ range: Range<Int64>) {
        let origin = range.lowerBound - range.lowerBound % Int64(rp_page_size())
        let size = Int(range.upperBound - origin)
        guard size > 0, let start = rp_map(file.descriptor.number, off_t(origin), size) else { return nil }
        self.start = start
        self.size = size
        self.origin = origin
        self.range = range
    }

    deinit {
        munmap(start, size)
    }

    /// At most `count` bytes from `position` on, for a system call; none when `position` is outside.
    func bytes(from position: Int64, count: Int) -> UnsafeRawBufferPointer {
        guard range.contains(position) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let count = min(count, Int(range.upperBound - position))
        return UnsafeRawBufferPointer(start: start + Int(position - origin), count: count)
    }
}
