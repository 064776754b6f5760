import Requests
import RequestsPOSIX

/// Memory into which a body is received, and which becomes its `Data` without a copy.
struct BodyBuffer: ~Copyable, @unchecked Sendable {  // one exchange owns the memory
    /// The maximum size of the first allocation; pages that receive no bytes are never touched.
    private static let largestStep = 16 << 20
    private static let smallestStep = 16 << 10
    /// The size up to which a copy is cheaper than a `Data` with its own deallocator.
    private static let copiedSize = 2 << 10

    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private let limit: Int
    /// Whether the memory is a block of ``LargeMemory``, which does not grow.
    private let isLarge: Bool
    private(set) var count = 0

    /// Creates a buffer for `expected` bytes, nil if unknown, that never grows beyond `limit`.
    ///
    /// Memory is allocated in steps, so that a false length costs nothing.
    init(expecting expected: Int?, limit: Int) {
        self.limit = limit
        capacity = min(expected ?? 0, Self.largestStep, limit)
        let large = capacity == limit ? LargeMemory.shared.take(capacity) : nil
        isLarge = large != nil
        start = large ?? HeapMemory.resize(nil, to: capacity)
    }

    deinit {
        isLarge ? LargeMemory.shared.recycle(start, capacity) : HeapMemory.free(start)
    }

    /// Whether more memory is needed for more bytes.
    var isFull: Bool { count == capacity }

    /// Returns the space for more bytes; empty only if `limit` is reached.
    mutating func space() -> UnsafeMutableRawBufferPointer {
        if isFull, count < limit { grow() }
        return UnsafeMutableRawBufferPointer(start: start + count, count: capacity - count)
    }

    /// Records that `received` bytes were written into the space.
    mutating func add(_ received: Int) {
        count = min(capacity, count &+ received)
    }

    /// Makes space for at least `few` bytes, and for at least as many as were received before.
    mutating func grow(for few: Int = 0) {
        let factor = capacity < 1 << 20 ? 4 : 2
        let (more, overflow) = capacity.multipliedReportingOverflow(by: factor)
        capacity = overflow ? limit : min(max(more, few, Self.smallestStep), limit)
        start = HeapMemory.resize(start, to: capacity)
    }

    /// Returns the bytes received, together with their memory.
    consuming func take() -> Data {
        let (start, count, capacity, isLarge) = (start, count, capacity, isLarge)
        discard self
        guard count > Self.copiedSize else {
            defer { isLarge ? LargeMemory.shared.recycle(start, capacity) : HeapMemory.free(start) }
            return Data(UnsafeRawBufferPointer(start: start, count: count))
        }
        if isLarge {
            LargeMemory.shared.cut(start, from: capacity, to: count)
            // The deallocator runs after the block was cut: it returns what remains.
            return Data(
                bytesNoCopy: start, count: count,
                deallocator: .custom { start, _ in LargeMemory.shared.recycle(start, count) })
        }
        let memory = count < capacity ? HeapMemory.resize(start, to: count) : start
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }

    /// Returns the bytes received, for a caller that releases them soon.
    ///
    /// Cutting memory to size again and again would fragment and grow the heap. So unused space stays with the bytes,
    /// unless it is most of the memory.
    consuming func takePiece() -> Data {
        let (start, count, capacity) = (start, count, capacity)
        discard self
        guard count > capacity / 4 else {
            defer { HeapMemory.free(start) }
            return Data(UnsafeRawBufferPointer(start: start, count: count))
        }
        return Data(bytesNoCopy: start, count: count, deallocator: .free)
    }
}
