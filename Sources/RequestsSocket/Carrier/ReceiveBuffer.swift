/// A buffer for received bytes that have not been read yet; a connection reuses its memory for all responses.
///
/// It is a value inside its connection, because each access to an object would count a reference.
package struct ReceiveBuffer: ~Copyable {
    /// The initial size, kept until a response fills it: connections with small responses need little memory.
    private static let firstSize = 1 << 10
    /// The size for most heads together with a small body.
    private static let usualSize = 16 << 10
    /// The number of bytes received at once for a head; the remainder of a larger body is received at its destination.
    static let headSize = 4 << 10

    private var storage: UnsafeMutableRawBufferPointer
    /// The memory of the first or usual size; kept while larger memory is in use.
    private var kept = UnsafeMutableRawBufferPointer.allocate(byteCount: firstSize, alignment: 1)
    /// Whether a response has filled the memory of the first size.
    private var isTooSmall = false
    private var start = 0
    private var end = 0

    package init() {
        storage = kept
    }

    deinit {
        Self.release(storage, keeping: kept)
        kept.deallocate()
    }

    package var isEmpty: Bool { start == end }

    package var unread: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[start..<end]) }

    /// Discards the first `count` unread bytes, which the caller has read.
    package mutating func consume(_ count: Int) {
        start = min(end, start &+ count)
    }

    /// Returns the space to receive into, never empty.
    ///
    /// Moves unread bytes to the front, or grows, if there is none.
    package mutating func space() -> UnsafeMutableRawBufferPointer {
        if start == end {
            start = 0
            end = 0
        }
        if isTooSmall, storage.count == Self.firstSize {
            grow()
        } else if end == storage.count {
            start == 0 ? grow() : compact()
        }
        return UnsafeMutableRawBufferPointer(rebasing: storage[end...])
    }

    /// Returns the space for a head and a small body, never empty; the remainder is received at its destination.
    package mutating func spaceForHead() -> UnsafeMutableRawBufferPointer {
        let space = space()
        return isEmpty ? UnsafeMutableRawBufferPointer(rebasing: space.prefix(Self.headSize)) : space
    }

    /// Records that `count` bytes were received into the ``space()``.
    package mutating func add(_ count: Int) {
        end = min(storage.count, end &+ count)
        if end == Self.firstSize, storage.count == end { isTooSmall = true }
    }

    /// Makes space for several chunks at once.
    package mutating func widen() {
        if storage.count < WideMemory.size { move(to: WideMemory.take()) }
    }

    /// Releases the memory that a long head or chunks needed; the buffer must be empty.
    package mutating func shrink() {
        guard storage.count > kept.count, isEmpty else { return }
        Self.release(storage, keeping: kept)
        (start, end) = (0, 0)
        storage = kept
    }

    private mutating func compact() {
        storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        (start, end) = (0, end - start)
    }

    private mutating func grow() {
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(storage.count * 2, Self.usualSize), alignment: 1)
        let isFirst = storage.count == Self.firstSize
        move(to: larger)
        guard isFirst else { return }
        // The larger memory has its bytes now, and is kept in its place.
        kept.deallocate()
        kept = larger
        isTooSmall = false
    }

    private mutating func move(to larger: UnsafeMutableRawBufferPointer) {
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        Self.release(storage, keeping: kept)
        storage = larger
        (start, end) = (0, end - start)
    }

    /// Releases `storage`, unless it is `kept`.
    private static func release(_ storage: UnsafeMutableRawBufferPointer, keeping kept: UnsafeMutableRawBufferPointer) {
        if storage.count == WideMemory.size {
            WideMemory.recycle(storage)
        } else if storage.count > kept.count {
            storage.deallocate()
        }
    }
}
