/// Received bytes that have not been read yet, in memory that a connection uses again for every response.
final class ReceiveBuffer {
    /// Room for most heads together with a small body; what does not fit is received straight to its destination.
    private static let usualSize = 16 << 10
    private static let wideSize = 64 << 10

    private var storage = UnsafeMutableRawBufferPointer.allocate(byteCount: usualSize, alignment: 1)
    private var start = 0
    private var end = 0

    deinit {
        storage.deallocate()
    }

    var isEmpty: Bool { start == end }

    var unread: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[start..<end]) }

    /// Forgets the first `count` unread bytes, which the caller has read.
    func consume(_ count: Int) {
        start = min(end, start &+ count)
    }

    /// Room to receive into, never empty; moves the unread bytes, and grows when they fill everything.
    func space() -> UnsafeMutableRawBufferPointer {
        if start == end {
            start = 0
            end = 0
        } else if end == storage.count {
            start == 0 ? resize(to: storage.count * 2) : compact()
        }
        return UnsafeMutableRawBufferPointer(rebasing: storage[end...])
    }

    /// Takes note that `count` bytes were received into the space.
    func add(_ count: Int) {
        end = min(storage.count, end &+ count)
    }

    /// Makes room for several chunks at once.
    func widen() {
        if storage.count < Self.wideSize { resize(to: Self.wideSize) }
    }

    /// Gives back what an uncommonly long head, or chunks, needed; the buffer must be empty.
    func shrink() {
        guard storage.count > Self.usualSize, isEmpty else { return }
        (start, end) = (0, 0)
        resize(to: Self.usualSize)
    }

    private func compact() {
        storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        (start, end) = (0, end - start)
    }

    private func resize(to size: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        storage.deallocate()
        storage = larger
        (start, end) = (0, end - start)
    }
}
