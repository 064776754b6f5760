/// A checksum that detects damaged files and, because it depends on the folder's secret, foreign files too.
enum CacheChecksum {
    /// Returns the checksum of `bytes` in four lanes of words, each multiplied and mixed.
    static func of(_ bytes: UnsafeRawBufferPointer, _ secret: [UInt8]) -> UInt64 {
        let seed = secret.reduce(UInt64(0x9E37_79B9_7F4A_7C15)) { mixed($0, UInt64($1)) }
        var (a, b, c, d) = (seed, seed &+ 1, seed &+ 2, seed &+ 3)
        var position = 0
        while bytes.count - position >= 32 {
            a = mixed(a, word(bytes, position))
            b = mixed(b, word(bytes, position + 8))
            c = mixed(c, word(bytes, position + 16))
            d = mixed(d, word(bytes, position + 24))
            position += 32
        }
        while position < bytes.count {
            a = mixed(a, UInt64(bytes[position]))
            position += 1
        }
        return mixed(mixed(mixed(mixed(a, b), c), d), UInt64(bytes.count))
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private static func mixed(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let product = (sum ^ word) &* 0xFF51_AFD7_ED55_8CCD
        return product ^ (product >> 32)
    }
}
