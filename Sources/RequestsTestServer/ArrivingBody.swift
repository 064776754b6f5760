import RequestsPOSIX

/// The bytes of one body while it arrives.
///
/// A body of more than ``pageLimit`` bytes has separate memory outside the heap, which grows without a copy and is
/// released as soon as nothing refers to the body (decision 0026).
final class ArrivingBody {
    /// The number of bytes up to which a body is kept in the heap: whole pages would waste memory for short bodies.
    static var pageLimit: Int { 64 << 10 }

    /// The number of bytes that have been appended since the beginning, or since ``takeData()``.
    private(set) var count = 0
    private var short = Data()
    private var pages: UnsafeMutableRawPointer?
    private var capacity = 0

    deinit {
        if let pages { PageMemory.release(pages, capacity) }
    }

    /// Appends `bytes`; returns false if there is no memory for them.
    func append(_ bytes: Data) -> Bool {
        guard count + bytes.count > Self.pageLimit else {
            short.append(bytes)
            count += bytes.count
            return true
        }
        guard reserve(count + bytes.count), let pages else { return false }
        if !short.isEmpty {
            short.withUnsafeBytes { pages.copyMemory(from: $0) }
            short = Data()
        }
        bytes.withUnsafeBytes { (pages + count).copyMemory(from: $0) }
        count += bytes.count
        return true
    }

    /// Keeps the first `limit` bytes, and releases the memory of the others.
    func truncate(to limit: Int) {
        guard count > limit else { return }
        count = limit
        guard let pages else { return short.removeLast(short.count - limit) }
        PageMemory.cut(pages, from: capacity, to: limit)
        capacity = limit
    }

    /// Returns the bytes without a copy, and removes them.
    func takeData() -> Data {
        defer { (count, short, pages, capacity) = (0, Data(), nil, 0) }
        guard let pages else { return short }
        return Data(
            bytesNoCopy: pages, count: count,
            deallocator: .custom { [capacity] start, _ in PageMemory.release(start, capacity) })
    }

    /// Provides memory for `size` bytes; returns false if there is none.
    private func reserve(_ size: Int) -> Bool {
        guard size > capacity else { return true }
        // Pages that are not touched cost nothing, so doubling wastes no memory.
        let wanted = max(size, 2 * capacity)
        guard let grown = PageMemory.grow(pages, from: capacity, to: wanted) else { return false }
        (pages, capacity) = (grown, wanted)
        return true
    }
}

extension Data {
    /// Returns a copy of the first `count` bytes, so that the memory of the body can be released.
    func copiedPrefix(_ count: Int) -> Data {
        let copy = ArrivingBody()
        return copy.append(prefix(count)) ? copy.takeData() : Data()
    }
}

extension UnsafeMutableRawPointer {
    fileprivate func copyMemory(from bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        copyMemory(from: start, byteCount: bytes.count)
    }
}
