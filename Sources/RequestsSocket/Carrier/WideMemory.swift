@_spi(Lock) import Requests

/// Spare blocks of memory for received bytes, which all connections share.
///
/// Few connections need a block at once. If each allocated one for each response, the heap would grow and shrink every
/// time.
enum WideMemory {
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
