@_spi(Lock) import Requests

/// Received bytes that have not been read yet, in memory that a connection uses again for every response.
final class ReceiveBuffer {
    /// Room for most heads together with a small body.
    private static let usualSize = 16 << 10
    /// What is received at once where a head is expected: of a larger body the rest goes straight to its destination.
    private static let firstSize = 4 << 10

    private var storage: UnsafeMutableRawBufferPointer
    /// The memory of the usual size, which is kept while wider memory is borrowed.
    private let usual = UnsafeMutableRawBufferPointer.allocate(byteCount: usualSize, alignment: 1)
    private var start = 0
    private var end = 0

    init() {
        storage = usual
    }

    deinit {
        giveBack()
        usual.deallocate()
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

    /// Room for a head and a little more; never empty.
    func spaceForHead() -> UnsafeMutableRawBufferPointer {
        let space = space()
        return isEmpty ? UnsafeMutableRawBufferPointer(rebasing: space.prefix(Self.firstSize)) : space
    }

    /// Takes note that `count` bytes were received into the space.
    func add(_ count: Int) {
        end = min(storage.count, end &+ count)
    }

    /// Makes room for several chunks at once.
    func widen() {
        if storage.count < WideMemory.size { move(to: WideMemory.take()) }
    }

    /// Gives back what an uncommonly long head, or chunks, needed; the buffer must be empty.
    func shrink() {
        guard storage.count > usual.count, isEmpty else { return }
        giveBack()
        (start, end) = (0, 0)
        storage = usual
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
        giveBack()
        storage = larger
        (start, end) = (0, end - start)
    }

    private func giveBack() {
        if storage.count == WideMemory.size {
            WideMemory.giveBack(storage)
        } else if storage.count > usual.count {
            storage.deallocate()
        }
    }
}

/// Wide memory that connections lend each other: few need it at a time, and one that asked for it with every response
/// would have the heap grow and shrink each time.
private enum WideMemory {
    static let size = 64 << 10
    private static let most = 8

    private struct Spare: @unchecked Sendable {  // nobody else has these pieces while they are here
        var pieces: [UnsafeMutableRawBufferPointer] = []
    }

    private static let spare = Lock(Spare())

    static func take() -> UnsafeMutableRawBufferPointer {
        let kept = spare.withLock { $0.pieces.popLast() }
        return kept ?? UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    }

    static func giveBack(_ piece: UnsafeMutableRawBufferPointer) {
        let isKept = spare.withLock { spare in
            guard spare.pieces.count < most else { return false }
            spare.pieces.append(piece)
            return true
        }
        if !isKept { piece.deallocate() }
    }
}
