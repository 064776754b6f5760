import Requests

/// Memory a body is received straight into, and that becomes its `Data` without being copied.
struct BodyBuffer: ~Copyable {
    /// Memory that is asked for at once; pages that no byte arrives for are never touched.
    private static let largestStep = 16 << 20
    private static let smallestStep = 16 << 10

    private var storage: UnsafeMutableRawBufferPointer
    private let limit: Int
    private(set) var count = 0

    /// Room for `expected` bytes, in steps, so that a length that is a lie costs nothing; nil is unknown.
    ///
    /// It never grows beyond `limit`.
    init(expecting expected: Int?, limit: Int) {
        self.limit = limit
        let size = min(expected ?? Self.smallestStep, Self.largestStep, limit)
        storage = .allocate(byteCount: size, alignment: 1)
    }

    deinit {
        storage.deallocate()
    }

    /// Room for more; empty only when `limit` is reached.
    mutating func space() -> UnsafeMutableRawBufferPointer {
        if count == storage.count, count < limit { grow() }
        return UnsafeMutableRawBufferPointer(rebasing: storage[count...])
    }

    /// Takes note that `received` bytes were put into the space.
    mutating func add(_ received: Int) {
        count = min(storage.count, count &+ received)
    }

    private mutating func grow() {
        let (double, overflow) = max(storage.count, Self.smallestStep).multipliedReportingOverflow(by: 2)
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: overflow ? limit : min(double, limit), alignment: 1)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
        storage.deallocate()
        storage = larger
    }

    /// The bytes received, the memory given away with them.
    consuming func take() -> Data {
        let (storage, count) = (storage, count)
        discard self
        guard count > storage.count / 2, let start = storage.baseAddress else {
            defer { storage.deallocate() }
            return Data(UnsafeRawBufferPointer(rebasing: storage[..<count]))
        }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in start.deallocate() })
    }
}
