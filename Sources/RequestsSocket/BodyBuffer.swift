import Requests
import RequestsPOSIX

/// Memory a body is received straight into, and that becomes its `Data` without being copied.
struct BodyBuffer: ~Copyable {
    /// Memory that is asked for at once; pages that no byte arrives for are never touched.
    private static let largestStep = 16 << 20
    private static let smallestStep = 16 << 10
    /// Below this a copy is cheaper than memory of which the `Data` has to be told how to free it.
    private static let copiedSize = 2 << 10

    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private let limit: Int
    /// Whether the memory is of ``LargeMemory``, which does not grow.
    private let isLarge: Bool
    private(set) var count = 0

    /// Room for `expected` bytes, in steps, so that a length that is a lie costs nothing; nil is unknown.
    ///
    /// It never grows beyond `limit`.
    init(expecting expected: Int?, limit: Int) {
        self.limit = limit
        capacity = min(expected ?? 0, Self.largestStep, limit)
        let large = capacity == limit ? LargeMemory.shared.take(capacity) : nil
        isLarge = large != nil
        start = large ?? HeapMemory.resize(nil, to: capacity)
    }

    deinit {
        isLarge ? LargeMemory.shared.giveBack(start, capacity) : HeapMemory.free(start)
    }

    /// Whether more needs more memory.
    var isFull: Bool { count == capacity }

    /// Room for more; empty only when `limit` is reached.
    mutating func space() -> UnsafeMutableRawBufferPointer {
        if isFull, count < limit { grow() }
        return UnsafeMutableRawBufferPointer(start: start + count, count: capacity - count)
    }

    /// Takes note that `received` bytes were put into the space.
    mutating func add(_ received: Int) {
        count = min(capacity, count &+ received)
    }

    /// Makes room for `few` bytes, and for as many as have come already and more.
    mutating func grow(for few: Int = 0) {
        let factor = capacity < 1 << 20 ? 4 : 2
        let (more, overflow) = capacity.multipliedReportingOverflow(by: factor)
        capacity = overflow ? limit : min(max(more, few, Self.smallestStep), limit)
        start = HeapMemory.resize(start, to: capacity)
    }

    /// The bytes received, the memory given away with them.
    consuming func take() -> Data {
        let (start, count, capacity, isLarge) = (start, count, capacity, isLarge)
        discard self
        guard count > Self.copiedSize else {
            defer { isLarge ? LargeMemory.shared.giveBack(start, capacity) : HeapMemory.free(start) }
            return Data(UnsafeRawBufferPointer(start: start, count: count))
        }
        if isLarge {
            LargeMemory.shared.cut(start, from: capacity, to: count)
            // What a `Data` says at its end is what is left of it by then.
            return Data(
                bytesNoCopy: start, count: count,
                deallocator: .custom { start, _ in LargeMemory.shared.giveBack(start, count) })
        }
        let memory = count < capacity ? HeapMemory.resize(start, to: count) : start
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }

    /// The bytes received, for who is done with them soon.
    ///
    /// Memory that is cut to size again and again leaves the heap in pieces, which grows then; room that was not needed
    /// stays with the bytes instead, unless that is most of it.
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
