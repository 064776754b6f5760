import CRequestsPOSIX

/// A decoder of Zstandard (RFC 8878) that uses the system's library.
///
/// Consecutive frames are one body, and windows have at most 8 MiB (RFC 9659 §3).
final class ZstdDecoder: CodingDecoder, @unchecked Sendable {  // one chain at a time owns it
    static let library: rp_zstd? = {
        var library = rp_zstd()
        return rp_zstd_load(&library) == 1 ? library : nil
    }()

    private let library: rp_zstd
    private let context: UnsafeMutableRawPointer
    private(set) var isAtEnd = false

    init?() {
        guard let library = Self.library, let context = rp_zstd_make(library) else { return nil }
        self.library = library
        self.context = context
    }

    deinit {
        rp_zstd_destroy(library, context)
    }

    func decode(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (read: Int, written: Int) {
        if isAtEnd, input.isEmpty { return (0, 0) }
        // The library's header declares this type as mutable, but the memory is only read.
        var source = rp_zstd_buffer(
            bytes: UnsafeMutableRawPointer(mutating: input.baseAddress), size: input.count, position: 0)
        var room = rp_zstd_buffer(bytes: output.baseAddress, size: output.count, position: 0)
        let result = rp_zstd_decode(library, context, &room, &source)
        if let problem = rp_zstd_describe(library, result) {
            throw CodingFault(read: source.position, problem: String(cString: problem))
        }
        // Any other value is a hint of how much input to provide next.
        isAtEnd = result == 0
        return (source.position, room.position)
    }
}
