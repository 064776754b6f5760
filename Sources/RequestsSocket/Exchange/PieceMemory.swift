import Requests

/// Memory for the pieces of a file, one after the other.
final class PieceMemory: @unchecked Sendable {  // one exchange owns it
    private let memory: UnsafeMutableRawBufferPointer

    init(_ size: Int) {
        memory = .allocate(byteCount: size, alignment: 1)
    }

    deinit {
        memory.deallocate()
    }

    /// Returns the memory for a piece of at most `count` bytes.
    func prefix(_ count: Int64 = .max) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory.prefix(Int(clamping: count)))
    }

    /// Returns the first `count` bytes without a copy; they are valid until the next piece is written.
    func bytes(_ count: Int) -> Data {
        guard let start = memory.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: count, deallocator: .none)
    }
}
