@_spi(Lock) import Requests

/// A buffer of received bytes that have not been read yet, whose memory a connection reuses for all responses.
final class ReceiveBuffer {
    /// The size for most heads together with a small body.
    private static let defaultSize = 16 << 10
    /// The number of bytes received at once for a head; the remainder of a larger body is received at its destination.
    private static let headSize = 4 << 10

    private var storage: UnsafeMutableRawBufferPointer
    /// The memory of the default size, which is kept while wider memory is in use.
    private let defaultStorage = UnsafeMutableRawBufferPointer.allocate(byteCount: defaultSize, alignment: 1)
    private var start = 0
    private var end = 0

    init() {
        storage = defaultStorage
    }

    deinit {
        releaseStorage()
        defaultStorage.deallocate()
    }

    var isEmpty: Bool { start == end }

    var unread: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[start..<end]) }

    /// Discards the first `count` unread bytes, which the caller has read.
    func consume(_ count: Int) {
        start = min(end, start &+ count)
    }

    /// Returns the space to receive into, never empty; moves unread bytes to the front, or grows if they fill the
    /// memory.
    func space() -> UnsafeMutableRawBufferPointer {
        if start == end {
            start = 0
            end = 0
        } else if end == storage.count {
            start == 0 ? resize(to: storage.count * 2) : compact()
        }
        return UnsafeMutableRawBufferPointer(rebasing: storage[end...])
    }

    /// Returns the space for a head and a little more; never empty.
    func spaceForHead() -> UnsafeMutableRawBufferPointer {
        let space = space()
        return isEmpty ? UnsafeMutableRawBufferPointer(rebasing: space.prefix(Self.headSize)) : space
    }

    /// Records that `count` bytes were received into the space.
    func add(_ count: Int) {
        end = min(storage.count, end &+ count)
    }

    /// Makes space for several chunks at once.
    func widen() {
        if storage.count < WideMemory.size { move(to: WideMemory.take()) }
    }

    /// Returns the memory that a long head or chunks needed; the buffer must be empty.
    func shrink() {
        guard storage.count > defaultStorage.count, isEmpty else { return }
        releaseStorage()
        (start, end) = (0, 0)
        storage = defaultStorage
    }

    private func compact() {
        storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        (start, end) = (0, end - start)
    }

    private func resize(to size: Int) {
        move(to: UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1))
    }

    private func move(to larger: UnsafeMutableRawBufferPointer) {
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        releaseStorage()
        storage = larger
        (start, end) = (0, end - start)
    }

    private func releaseStorage() {
        if storage.count == WideMemory.size {
            WideMemory.recycle(storage)
        } else if storage.count > defaultStorage.count {
            storage.deallocate()
        }
    }
}

/// Wide memory that connections share: few need it at a time, and if each allocated it for each response, the heap
/// would grow and shrink every time.
private enum WideMemory {
    static let size = 64 << 10
    private static let maximumCount = 8

    private struct Spare: @unchecked Sendable {  // the cache alone owns these blocks
        var pieces: [UnsafeMutableRawBufferPointer] = []
    }

    private static let spare = Lock(Spare())

    static func take() -> UnsafeMutableRawBufferPointer {
        let kept = spare.withLock { $0.pieces.popLast() }
        return kept ?? UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    }

    static func recycle(_ piece: UnsafeMutableRawBufferPointer) {
        let isKept = spare.withLock { spare in
            guard spare.pieces.count < maximumCount else { return false }
            spare.pieces.append(piece)
            return true
        }
        if !isKept { piece.deallocate() }
    }
}
